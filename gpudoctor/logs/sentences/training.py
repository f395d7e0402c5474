"""What people say of a training and its model.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row
from gpudoctor.logs.sentences.words import CARDS, parts

_NO = r"(?:\b(?:not|no|never|without|isn.t|don.t|doesn.t|didn.t)\b|n't\b)"
_LATER = (
    r"\b(?:others?|following|subsequent\w{0,2}|afterwards?|after that|later|next|second|rest|remaining|then"
    r"|each other)\b"
)
_CALL = r"(?:step|epoch|batch|iteration|call|run|image|inference|prediction|execution|time|frame|request|training)s?"
_MUCH = (
    r"(?:(?<![\w.])\d{1,5}(?:\.\d{1,3})? ?(?:min\w{0,5}|hours?|h|s|secs?|seconds)\b|\bmuch (?:slower|longer|higher|high"
    r"|more time)|\b(?:very|extremely|really|so|too) (?:slow|long)|\btakes? (?:a )?(?:long|forever|ages))"
)
_LOGGING = r"(?:summar\w{1,5}|tensorboard|histogram\w{0,6}|callbacks?|logging|checkpoint\w{0,4}|wandb|mlflow|verbose)"
_WEAK = r"(?:old|weak|low[- ]end|entry[- ]level|budget|cheap)"
_EACH = r"(?:every|each|in (?:a|the) loop)\b"
_OWN_LOOP = (
    r"(?:\bgradient ?tape\b|\bcustom (?:training |train )?loop\b|\btraining loop (?:from scratch|of my own"
    r"|manually)\b)"
)
_SLOW = r"(?:slow\w{0,4}|(?:very |too |so |extremely |much )?long(?:er)?|forever|ages|minutes)"

ROWS: tuple[Row, ...] = (
    (
        "gradient-tape",
        (("gradient tape", "gradienttape", "training loop", "custom loop", "train loop"),),
        (_OWN_LOOP,),
        "",
    ),
    (
        "said-16-bits",
        (
            parts(
                "fp16,float16,half precision,half-precision,mixed precision,\u534a\u7cbe\u5ea6,\u6df7\u5408\u7cbe\u5ea6"
            ),
        ),
        (
            r"(?<![a-z])(?:use_)?fp16\b|(?<!b)float16|half[- ]precision|mixed precision",
            r"\u534a\u7cbe\u5ea6|\u6df7\u5408\u7cbe\u5ea6",
        ),
        r"\b(?:disabl\w{1,3}|turn\w{0,3} off) (?:fp16|half|mixed)",
    ),
    (
        "said-eager-slower",
        (("eager",), ("slow", "fast", "takes", "speed", " s", "time")),
        (
            r"\beager\w{0,3}\b[^\r\n]{0,110}?\b(?:slow\w{0,4}|faster|takes? [^\r\n]{0,12}longer|speed)",
            r"\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?(?<![a-z])eager(?:ly)?\b",
            r"\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?disable_eager_execution",
        ),
        r"eager to|(?:no|not) (?:slower|faster)",
    ),
    (
        "said-first-slow",
        (("first", "initial"), ("min", "hour", " s", "sec", "slow", "long", "high", "much")),
        (
            r"\b(?:longer|more|much) (?:time )?[^.\r\n]{0,30}\b(?:first|initial) "
            + _CALL
            + r"\b[^\r\n]{0,120}?"
            + _LATER,
            r"\bfirst (?:\w{1,12} ){0,2}?"
            + _CALL
            + r"\b(?:[^.\r\n]|\.(?=\w)){0,90}?"
            + _MUCH
            + r"[^\r\n]{0,120}?"
            + _LATER,
        ),
        r"\bloss\b|accura|\b(?:because|since|as|due to|normal|expected|of course|warm-?up|slightly)\b",
    ),
    (
        "said-retracing",
        (("retrac", "graph", "recompil"),),
        (
            r"\b(?:new|another|separate) graph (?:is |was |gets )?(?:\w{1,10} )?(?:built|created|made"
            r"|traced)[^.\r\n]{0,24}?"
            r"\b(?:every|each)\b",
            r"\bre-?(?:trac|compil)\w{1,4} (?:(?:the|my|a) \w{1,20} )?(?:on|at|in|for|with)? ?(?:every|each)",
            r"\b(?:keeps?|always|constant\w{0,2}|excessive\w{0,2}|instead of|repeated\w{0,2}) re-?trac\w{1,4}",
            r"\bre-?traced? (?:again|every|each|excessive|all the time)",
        ),
        r"triggered tf\.function",
    ),
    (
        "said-new-models",
        (("model", "sequential", "session", "graph"), ("each", "every", "loop", "many times", "multiple time")),
        (
            r"\b(?:build|creat|mak|instantiat|defin)\w{0,4} (?:a |the |an? )?(?:new |fresh )(?:\w{1,12} )?(?:model"
            r"|session"
            r"|graph|object of the model)\b[^.\r\n]{0,60}?\b" + _EACH,
        ),
        "",
    ),
    (
        "said-logging-slow",
        (
            (
                "summar",
                "tensorboard",
                "histogram",
                "callback",
                "logging",
                "logs",
                "checkpoint",
                "wandb",
                "mlflow",
                "verbose",
            ),
            ("slow", "long", "fast", "speed", "eternity", "forever", "times", "bottleneck"),
        ),
        (
            r"\b(?:"
            + _LOGGING
            + r"|writ(?:e|ing) [^.\r\n]{0,12}\blogs?)\b[^.\r\n]{0,80}?\b(?:slow\w{0,4}|too long|eternity"
            r"|forever|times (?:longer|slower|faster)|bottleneck|takes? (?:so |very |too )?long)",
            r"\b(?:remov|disabl|without|turn\w{0,3} off|comment)\w{0,4}\b[^.\r\n]{0,40}\b"
            + _LOGGING
            + r"\b[^.\r\n]{0,60}?"
            r"\b(?:fast\w{0,3}|quick\w{0,3}|speed\w{0,2})",
        ),
        r"compared to the batch|not slow|load\w{0,3} (?:the |a )?checkpoint|not logged|sorry|summary of",
    ),
    (
        "said-other-gpu",
        (("gpu", "device", "card"), ("index", "indices", " id", "order", "number", "wrong", "other")),
        (
            r"\b(?:index(?:es)?|indices|ids?|order|number(?:s|ing)?)\b[^.\r\n]{0,40}\b(?:mismatch\w{0,2}|differ\w{0,4}"
            r"|disagree\w{0,2}|wrong|swapped|(?:not|n.t) (?:the )?(?:same|match\w{0,3}|agree\w{0,3}))\b[^.\r\n]{0,40}"
            r"\bnvidia-smi\b",
            r"\bnvidia-smi\b[^.\r\n]{0,60}\b(?:other|different|another) (?:gpu )?(?:index|order|number\w{0,3})",
            r"\b(?:us|pick|tak|run)\w{1,4}\b[^.\r\n]{0,20}\bthe (?:wrong|other) (?:gpu|card)\b",
        ),
        "",
    ),
    (
        "said-throttled",
        (("throttl", "overheat", "over-heat", "thermal", "cooling", " hot"),),
        (
            r"\b(?:gpus?|cards?|clocks?|rtx|gtx|tesla|titan)\b[^.\r\n]{0,90}\b(?:throttl(?:es|ed|ing|e)|overheat\w{0,3}"
            r"|thermal(?:ly)? (?:throttl|limit|slow)\w{0,5}|too hot)",
            r"\bthrottl\w{1,4}\b[^.\r\n]{0,60}\b(?:gpu|card|temperature|heat|clocks?|\d ?c)\b",
        ),
        _NO + r"[^.\r\n]{0,24}(?:throttl|overheat|hot)|reasons|: (?:not )?active",
    ),
    (
        "said-larger-batch",
        (("batch",), ("fast", "speed", "util", "idle", "usage", "load", "quick", "small", "tiny")),
        (
            r"\b(?:increas|larg|bigg|upp|rais|high|doubl|greater)\w{0,4}\b[^.\r\n]{0,30}\bbatch\W{0,2}(?:size)?[^.\r"
            r"\n]{0,80}?"
            r"\b(?:faster|speed\w{0,3}|quick\w{0,3}|less time|(?:idle|util\w{0,8}|usage"
            r"|load)[^.\r\n]{0,20}(?:decreas|drop"
            r"|increas|rise|rose|went|goes|up|down|high)\w{0,4})",
            r"\b(?:speed\w{0,3}|faster|util\w{0,8})\b[^.\r\n]{0,20}\bby (?:upping|increasing|raising|using"
            r"|doubling)[^.\r\n]"
            r"{0,20}batch",
            r"\b(?:because|due to|maybe|perhaps|guess|think|suspect|too|very|such a?)\b[^.\r\n]{0,16}\b(?:small|tiny"
            r"|low)\b"
            r"[^.\r\n]{0,12}\bbatch\W{0,2}sizes?\b",
            r"\b(?:fast|speed)\w{0,4}\b[^.\r\n]{0,40}\bbatch\W{0,2}size\b[^.\r\n]{0,60}\b(?:as high|as large"
            r"|high(?:er)?|larger?"
            r"|bigg?er)\b",
            r"\b(?:lower|less|slower)\b[^.\r\n]{0,30}\b(?:for|with|at) (?:small|smaller|tiny) batch",
        ),
        r"\bmemory\b|oom\b|did(?:n't| not)|does(?:n't| not)|no (?:effect|change|difference)|not the case",
    ),
    (
        "said-weak-gpu",
        (("old", "weak", "low-end", "low end", "entry", "budget", "cheap"), (*CARDS, "card")),
        (
            r"\b(?:gpu|(?:graphics?|video) card|card)\b[^.\r\n]{0,30}\b(?:quite |very |too |pretty |rather |really "
            r"|just "
            r"|an? ){0,2}" + _WEAK + r"\b",
            r"\b" + _WEAK + r" (?:nvidia )?(?:gpu|(?:graphics?|video) card)",
        ),
        r"\b(?:not|isn't|no) \w{0,8} ?(?:old|weak|low)|\b(?:than|replac\w{1,3}|my previous|the) (?:old|older)\b",
    ),
    (
        "said-nan",
        (("nan",), ("loss", "gradient", "output", "weights")),
        (
            r"\bloss(?:es)?\b[^.\r\n]{0,60}\bnans?\b",
            r"\bnans?\b[^.\r\n]{0,24}\b(?:loss|gradients?|outputs?|weights|error)",
            r"\b(?:outputs?|gradients?|weights)\b[^.\r\n]{0,30}\bnans?\b",
        ),
        (
            r"\b(?:no|not|without|avoid\w{0,3}|prevent\w{0,3}|fix\w{0,3}|terminate\w{0,2})\b[^.\r\n]{0,16}\bnan"
            r"|is_?nan"
        ),
    ),
    (
        "said-first-slow",
        (("first ",), ("take", "took"), ("iteration", "step", "batch", "epoch", "run", "call", "image", "inference")),
        (
            r"\b(?:takes?|took) (?:\w{1,10} ){0,3}?(?:time|sometime|while|long|minutes|forever|ages)\b[^.\r\n]{0,24}?"
            r"\b(?:finish|start|complete|reach|get|run|do|for|before)\b[^.\r\n]{0,16}\bfirst (?:iteration|step|batch"
            r"|epoch|run|call|image|inference)\b",
        ),
        r"\bloss\b|accura",
    ),
    (
        "said-first-slow",
        (("start-up", "startup", "start up", "before", "first "), ("slow", "long", "takes", "took", "minutes")),
        (
            r"\b(?:takes?|took|taking) (?:\w{1,10} ){0,3}?(?:time|while|long|minutes|forever|ages) before (?:\w{1,10} )"
            r"{0,2}(?:begin\w{0,5}|start\w{0,3}|train\w{0,3}|comput\w{1,4})\b",
            r"\bstart[- ]?up(?: time)?\b[^.\r\n]{0,40}\b(?:is |takes? )?(?:very |too |so |extremely |really )" + _SLOW,
            r"\b(?:very|extremely|really|too|so) slow (?:during|at|on) (?:the )?(?:first )?start[- ]?up\b",
            r"\bfirst (?:computation|operation|query|predict\w{0,4}|session\.run)\b[^.\r\n]{0,30}\b(?:very |so |too "
            r"|extremely |really )?slow\b[^.\r\n]{0,40}\b(?:subsequent|later|others?|next|following|rest)\b",
        ),
        r"\bloss\b|\bnot slow",
    ),
)
