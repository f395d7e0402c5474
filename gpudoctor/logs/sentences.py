"""What sentences of people say of a training, as data: one row a thing said.

A row is looked at where one part of a word of each of its groups stands on the line, in small letters: a pattern is
compiled and tried for few. What is said under a condition, or as advice, says nothing of the machine at hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.logs import machine_sentences, trouble_sentences
from gpudoctor.logs.seen import compiled


class Sentence(Struct, frozen=True):
    """One thing that a person may say. event: name of the row in gpudoctor.logs.rows.said.

    words: groups of parts of words; ways: patterns, of which one has to fit; unless: what makes it mean something else.
    """

    event: str
    words: tuple[tuple[str, ...], ...]
    ways: tuple[str, ...]
    unless: str = ""


def _parts(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


_ENDS = r"(?<=[.?!;])\s+|[\u3002\uff1f\uff01\uff1b]"
_ADVICE = (
    r"(?<!wonder )(?<!wondering )(?<!know )(?<!sure )\bif (?:the|your|you|a|an|it)\b"
    r"|\byou (?:can|may|might|could|should|need|must|want)\b|\bwe (?:recommend|suggest)\b|\b(?:it is|are) recommended\b"
    r"|\bto avoid\b|\bmake sure\b|\btends? to\b|\bcan (?:be|lead|cause|result|help|make)\b"
)
_ADVICE_WORDS = ("if ", "you ", "we ", "recommended", "to avoid", "make sure", "tend", "can ")
_NO = r"(?:\b(?:not|no|never|without|isn.t|don.t|doesn.t|didn.t)\b|n't\b)"

# Other languages stand in this order: Chinese and Japanese, Korean, Russian; German, Portuguese, Spanish, French.
_CARD = (
    r"(?:\bgpus?|\u663e\u5361|\u9854\u5361|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442.{0,3}|grafikkarte"
    r"|placa de v.deo|tarjeta gr.fica|carte graphique|\uadf8\ub798\ud53d\uce74\ub4dc)"
)
_CARDS = (
    *("gpu", "device", "\u663e\u5361", "\u9854\u5361", "\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442"),
    *("grafikkarte", "placa de v", "tarjeta gr", "carte graphique", "\uadf8\ub798\ud53d\uce74\ub4dc"),
)
_LOW = (
    r"(?:\u4f4e|\u4e0d\u9ad8|\u4e0a\u4e0d\u53bb|\u4e0a\u304c\u3089\u306a\u3044|\ub0ae|\uc548 ?\uc4f0"
    r"|\u043d\u0438\u0437\u043a|\u043c\u0430\u043b\u043e|\u043f\u0440\u043e\u0441\u0442\u0430\u0438\u0432\u0430"
    r"|gering|niedrig|kaum|baix|baj[ao]|poco|faible)"
)
_JUMPS = (
    r"(?:spik(?:es|y|ing)|fluctuat\w{1,4}|jump(?:s|ed|ing)?|oscillat\w{1,4}|drop(?:s|ped|ping)?|up and down|on and off"
    r"|slashed|unstable|plummet\w{0,3}|\u8df3\u52a8|\u6ce2\u52a8|\u65f6\u9ad8\u65f6\u4f4e|\u5ffd\u9ad8\u5ffd\u4f4e)"
)
_LOAD = r"(?:util\w{0,8}|usage|load|consumption|engagement|us(?:e|ing) rate)"
_IDLING = _parts(
    "low,little,zero,nothing,poor,bad,idl,under,not ,n't,never,barely,hardly,rarely,seldom,starv,wait,only,go up,rise"
    ",periodic,occasional,sometimes,spik,fluctuat,jump,oscillat,drop,up and down,on and off,slash,unstable,plummet,le"
    "ss gpu,sm"
    "all gpu,of the time,increase"
    ",\u7387,\u4f4e,\u4e0d\u9ad8,\u4e0a\u4e0d\u53bb,\u4e0a\u304c\u3089,\u8df3,\u6ce2,\u5ffd,\u65f6\u9ad8,\ub0ae,\uc548"
    ",\u043d\u0438\u0437\u043a,\u043c\u0430\u043b\u043e,\u043f\u0440\u043e\u0441\u0442\u0430,gering,niedrig,kaum,baix"
    ",baj,poco,faible"
)
_MOSTLY = r"(?:mostly |nearly |almost |often |just )?(?:always |constantly )?"
_TIMES = _parts("slow,long,bottleneck,time,ages,forever,minutes,hours,keep up,busy,fast,quick")
_DATA = _parts(
    "image,picture,photo,data,file,batch,sample,record,folder,drive,disk,hdf5,h5,i/o,io ,input,pipeline,prefetch"
    ",sequence,generator,feed,\u6570\u636e,\u8bfb\u53d6"
)
_READ = (
    r"\b(?:reads?|reading|loads?|loading|loaded|opens?|opening|fetch\w{0,3}|stream\w{0,3}|i/?o|disks?|(?:hard "
    r"|google )?"
    r"drive)\b"
)
_LONG = (
    r"\b(?:slow|slowly|slower|(?:too|so|very|extremely) (?:much time|long)|takes? (?:\w{1,10} ){0,2}(?:long|ages"
    r"|forever"
    r"|minutes|hours|time)|bottleneck\w{0,2}|busy for|can(?:no|')t keep up)"
)
_INPUT = r"(?:input|data(?:set)?(?: loading)?|pipeline|tf\.data|i/?o|disk|read(?:ing)?|loading|generators?)"
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
_PREPARES = r"(?:augment|pre-?process)\w{0,6}"
_WEAK = r"(?:old|weak|low[- ]end|entry[- ]level|budget|cheap)"
_EACH = r"(?:every|each|in (?:a|the) loop)\b"

# A topic and a trouble in one sentence, in any order.
_BOTH = r"\A(?=.{{0,500}}?{0})(?=.{{0,500}}?{1})"
_SEVERAL = (
    r"(?:\bhorovod|\bmpirun|\b(?:two|2|three|multiple|multi|several|more|identical|both|\d{1,2})[- ]?(?:nodes?"
    r"|machines?"
    r"|servers?|hosts?|workers?)\b|\bmulti[- ]?gpus?\b|\b(?:[2-9]|two|four|eight|1[0-6]) (?:\w{2,8} )?gpus\b"
    r"|\bscal(?:e|ing)\b"
    r"|\bdistributed training\b)"
)
_NO_FASTER = (
    r"(?:\bslow(?:er|s|ed|down|ly)?\b|\b(?:performance|speed|throughput|efficiency)\b.{0,30}?\b(?:decreas|drop|lower"
    r"|less"
    r" than|poor|bad)|\b(?:decreas|drop|lower)\w{0,4}\b.{0,20}?\b(?:performance|speed|throughput|efficiency)\b"
    r"|\b(?:don.t"
    r"|didn.t|not|no) (?:get )?.{0,16}?\bspeed-? ?up|\btakes? (?:\w{1,8} )?longer\b|\b(?:almost|nearly"
    r"|about)(?: the)? same\b)"
)
_FEEDING = (
    r"(?:\bfeed[ _-]?dict\b|\b(?:moving|copying|transferr?ing|feeding) (?:\w{1,12} )?data from (?:the )?cpu\b"
    r"|\bhost[- ]to[- ]device\b)"
)
_SLUGGISH = r"(?:\bslow|\blag\b|\blow\b|\bbottleneck|\bnot a good idea\b|\btakes? (?:\w{1,10} ){0,2}(?:long|time)\b)"
_OWN_LOOP = (
    r"(?:\bgradient ?tape\b|\bcustom (?:training |train )?loop\b|\btraining loop (?:from scratch|of my own"
    r"|manually)\b)"
)

SENTENCES: tuple[Sentence, ...] = (
    Sentence(
        "said-gpu-idle",
        (_CARDS, _IDLING),
        (
            # Low, in the words of several languages.
            r"\bgpu(?:[ -]" + _LOAD + r")\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing|poor|bad|under)\b",
            r"\b(?:low|poor|little|less|bad|zero|small) (?:volatile )?gpu[ -]" + _LOAD,
            r"\bgpus? (?:is |are |was |were |sits? |stays? )?" + _MOSTLY + r"idl(?:e|es|ing)\b",
            r"\b" + _LOAD + r"(?: rate)? of (?:the |my |each )?gpus?\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing|poor)\b",
            r"gpu.{0,3}(?:\u5229\u7528|\u4f7f\u7528|\u5360\u7528)\u7387(?:[^\d\r\n]{0,6}1?[0-9](?![0-9])"
            r"|[^\d\r\n]{0,4}\u4f4e)",
            _CARD + r"[^.%\r\n]{0,30}" + _LOW,
            _LOW + r"[^.%\r\n]{0,14}" + _CARD,
            # Not used as it could be.
            r"\bgpus?\b[^.\r\n]{0,60}?\bunder[- ]?(?:utili[sz]|use)",
            r"\bunder[- ]?(?:utili[sz]\w{0,5}|used)\b[^.\r\n]{0,30}?\bgpus?",
            r"\bgpus?\b[^.\r\n]{0,30}?(?:\bnot\b|n't\b|\b(?:never|barely|hardly|rarely|seldom)\b)[^.\r\n]{0,16}?"
            r"\b(?:heavily|fully|totally|completely|efficiently|utili[sz]ed|busy|working hard|loaded)\b",
            r"\bnot (?:using|utili[sz]ing|exploiting) (?:the |my |all )?gpus?[^.\r\n]{0,12}\b(?:efficient|full"
            r"|proper|well)",
            r"\bgpus?\b[^.\r\n]{0,30}\b(?:starv|waits? for|waiting for|waiting on)",
            r"\bgpus?\b[^.\r\n]{0,16}(?:does not|doesn.t|do not|don.t) (?:go up|rise|increase)",
            r"\bonly (?:uses?|using|takes?|at) [^.\r\n]{0,16}\bgpus?\b[^.\r\n]{0,8}\d ?%",
            r"\b(?:uses?|using|takes?) only [^.\r\n]{0,10}\d ?%[^.\r\n]{0,12}\bgpu\b(?!.{0,3}mem)",
            r"\b(?:rarely|never|hardly|barely|seldom) (?:uses?|exceeds?|goes|gets?"
            r"|reach\w{0,3})\b[^.\r\n]{0,24}\d ?%[^.\r\n]{0,20}"
            r"\bgpu",
            r"\b(?:periodica?l?ly|occasional\w{0,2}|only sometimes|not constant\w{0,2})\b[^.\r\n]{0,12}\b(?:used?"
            r"|usage|using)\b"
            r"[^.\r\n]{0,8}\bgpu",
            # Little time, and loads that come and go.
            r"\b\d{1,3}(?:\.\d)? ?% of (?:the )?(?:device|gpu) time\b[^.\r\n]{0,8}\bidle",
            r"\b(?:device|gpu)\b[^.\r\n]{0,8}\bidle time\b",
            r"\bgpus?\b[^\r\n]{0,60}?\b(?:[7-9]\d|most)\b ?%?\+? of (?:the |its |my )?(?:\w{1,12} )?time (?:at 0"
            r"|at zero"
            r"|idle|doing nothing|waiting)",
            r"\bgpus?\b[^\r\n]{0,120}?\b" + _JUMPS + r"[^\r\n]{0,80}?(?<![\d.])0 ?%",
            r"\bgpu.{0,30}?\b" + _JUMPS + r"(?![a-z])",
            r"\bgpu.{0,16}?[\u8df3\u6ce2\u5ffd]",
        ),
        unless=r"\bno (?:other )?gpu\b",
    ),
    Sentence(
        "said-gpu-idle",
        (("idle time",),),
        (r"\bidle time\b[^.%\r\n]{0,50}\b[5-9]\d(?:\.\d)? ?%", r"\b[5-9]\d(?:\.\d)? ?%[^.\r\n]{0,20}\bidle time\b"),
    ),
    Sentence(
        "said-more-gpus-slower",
        (
            _parts("horovod,mpirun,node,machine,server,host,worker,gpus,multi,scal,distributed"),
            _parts("slow,decreas,drop,lower,less than,poor,bad,speed,longer,same"),
        ),
        (_BOTH.format(_SEVERAL, _NO_FASTER),),
        unless=(
            r"\b(?:not|no|never|n't) (?:\w{1,8} )?slow|\bloss\b|learning rate|\bcpu\b.{0,20}\bfaster|parameter server"
        ),
    ),
    Sentence(
        "gradient-tape",
        (("gradient tape", "gradienttape", "training loop", "custom loop", "train loop"),),
        (_OWN_LOOP,),
    ),
    Sentence(
        "said-one-core",
        (_parts("core,thread"), _parts("single,one,only,1 ")),
        (
            r"\b(?:single|one|only (?:one|1)|only a single)[- ](?:cpu[- ])?(?:core|thread)(?:ed)?\b",
            r"\bonly (?:uses? |using )?(?:1|one) (?:cpu )?core\b",
        ),
        unless=r"\bper core\b|single[- ]core (?:speed|performance|score)",
    ),
    Sentence(
        "said-16-bits",
        (
            _parts(
                "fp16,float16,half precision,half-precision,mixed precision,\u534a\u7cbe\u5ea6,\u6df7\u5408\u7cbe\u5ea6"
            ),
        ),
        (
            r"(?<![a-z])(?:use_)?fp16\b|(?<!b)float16|half[- ]precision|mixed precision",
            r"\u534a\u7cbe\u5ea6|\u6df7\u5408\u7cbe\u5ea6",
        ),
        unless=r"\b(?:disabl\w{1,3}|turn\w{0,3} off) (?:fp16|half|mixed)",
    ),
    Sentence(
        "said-eager-slower",
        (("eager",), ("slow", "fast", "takes", "speed", " s", "time")),
        (
            r"\beager\w{0,3}\b[^\r\n]{0,110}?\b(?:slow\w{0,4}|faster|takes? [^\r\n]{0,12}longer|speed)",
            r"\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?(?<![a-z])eager(?:ly)?\b",
            r"\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?disable_eager_execution",
        ),
        unless=r"eager to|(?:no|not) (?:slower|faster)",
    ),
    Sentence(
        "said-first-slow",
        (("first", "initial"), ("min", "hour", " s", "sec", "slow", "long", "high", "much")),
        (
            r"\b(?:longer|more|much) (?:time )?[^.\r\n]{0,30}\b(?:first|initial) "
            + _CALL
            + r"\b[^\r\n]{0,120}?"
            + _LATER,
            r"\bfirst (?:\w{1,12} ){0,2}?" + _CALL + r"\b[^.\r\n]{0,90}?" + _MUCH + r"[^\r\n]{0,120}?" + _LATER,
        ),
        unless=r"\bloss\b|accura|\b(?:because|since|as|due to|normal|expected|of course|warm-?up|slightly)\b",
    ),
    Sentence(
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
        unless=r"triggered tf\.function",
    ),
    Sentence(
        "said-new-models",
        (("model", "sequential", "session", "graph"), ("each", "every", "loop", "many times", "multiple time")),
        (
            r"\b(?:build|creat|mak|instantiat|defin)\w{0,4} (?:a |the |an? )?(?:new |fresh )(?:\w{1,12} )?(?:model"
            r"|session"
            r"|graph|object of the model)\b[^.\r\n]{0,60}?\b" + _EACH,
        ),
    ),
    Sentence(
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
        unless=r"compared to the batch|not slow|load\w{0,3} (?:the |a )?checkpoint|not logged|sorry|summary of",
    ),
    Sentence(
        "said-other-gpu",
        (("gpu", "device", "card"), ("index", "indices", " id", "order", "number", "wrong", "other")),
        (
            r"\b(?:index(?:es)?|indices|ids?|order|number(?:s|ing)?)\b[^.\r\n]{0,40}\b(?:mismatch\w{0,2}|differ\w{0,4}"
            r"|disagree\w{0,2}|wrong|swapped|(?:not|n.t) (?:the )?(?:same|match\w{0,3}|agree\w{0,3}))\b[^.\r\n]{0,40}"
            r"\bnvidia-smi\b",
            r"\bnvidia-smi\b[^.\r\n]{0,60}\b(?:other|different|another) (?:gpu )?(?:index|order|number\w{0,3})",
            r"\b(?:us|pick|tak|run)\w{1,4}\b[^.\r\n]{0,20}\bthe (?:wrong|other) (?:gpu|card)\b",
        ),
    ),
    Sentence(
        "said-throttled",
        (("throttl", "overheat", "over-heat", "thermal", "cooling", " hot"),),
        (
            r"\b(?:gpus?|cards?|clocks?|rtx|gtx|tesla|titan)\b[^.\r\n]{0,90}\b(?:throttl(?:es|ed|ing|e)|overheat\w{0,3}"
            r"|thermal(?:ly)? (?:throttl|limit|slow)\w{0,5}|too hot)",
            r"\bthrottl\w{1,4}\b[^.\r\n]{0,60}\b(?:gpu|card|temperature|heat|clocks?|\d ?c)\b",
        ),
        unless=_NO + r"[^.\r\n]{0,24}(?:throttl|overheat|hot)|reasons|: (?:not )?active",
    ),
    Sentence(
        "said-reading-slow",
        (_DATA, (*_TIMES, "\u6162", "\u8ddf\u4e0d\u4e0a", "\u74f6\u9888", "block")),
        (
            _READ + r"[^.\r\n]{0,70}?" + _LONG,
            _LONG + r"[^.\r\n]{0,30}\b(?:to |in |at |when )?(?:read|load|fetch)(?:s|ing)?\b",
            r"\b" + _INPUT + r" (?:is (?:the |a )?)?(?:bottleneck|bound)\b",
            r"\bbottleneck\b[^.\r\n]{0,20}\b" + _INPUT + r"\b",
            r"\b(?:sequence|generators?|fit_generator|imagedatagenerator|flow_from_\w{6,10})\b[^.\r\n]{0,20}\bis (?:"
            r"\w{1,12} )"
            r"{0,2}slow\w{0,2}\b",
            _BOTH.format(_FEEDING, _SLUGGISH),
            r"\bread(?:ing)?\b[^.\r\n]{0,16}\bdata\b[^.\r\n]{0,12}\bblock",
            r"\b(?:tfrecord\w{0,8}|(?:input |data |resulting |new )?pipeline|prefetch\w{0,4}|\.cache\(\)|num_workers)\b"
            r"[^.\r\n]{0,40}\b(?:much |far |lot |\d ?x |times |significantly )(?:faster|quicker)",
            r"(?:io|\u8bfb\u53d6|\u6570\u636e|\u8bfb).{0,8}(?:\u8ddf\u4e0d\u4e0a|\u592a\u6162|\u5f88\u6162"
            r"|\u74f6\u9888)",
        ),
        unless=r"\b(?:the|a|my) (?:pre-?trained )?(?:model|weights|checkpoint|librar\w{1,3}|module|page|tensorflow)\b"
        r"|\b(?:not|isn.t|n't) (?:\w{1,8} )?slow|\bnot (?:\w{1,12} )?(?:input|i/?o|data)\b|not the case",
    ),
    Sentence(
        "said-augmentation-slow",
        (("augment", "pre-process", "preprocess"), ("slow", "bottleneck", "cpu", "time", "long")),
        (
            r"\b" + _PREPARES + r"\b[^.\r\n]{0,90}?\b(?:slow\w{0,4}|bottleneck|too long|(?:runs?|running|done|performed"
            r"|executed|happens) (?:only )?(?:on|by|in) (?:the )?cpus?|takes? (?:\w{1,10} ){0,2}(?:time|long))",
            r"\b(?:slow|bottleneck|time)\b[^.\r\n]{0,40}\b" + _PREPARES,
        ),
    ),
    Sentence(
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
        unless=r"\bmemory\b|oom\b|did(?:n't| not)|does(?:n't| not)|no (?:effect|change|difference)|not the case",
    ),
    Sentence(
        "said-weak-gpu",
        (("old", "weak", "low-end", "low end", "entry", "budget", "cheap"), (*_CARDS, "card")),
        (
            r"\b(?:gpu|(?:graphics?|video) card|card)\b[^.\r\n]{0,30}\b(?:quite |very |too |pretty |rather |really "
            r"|just "
            r"|an? ){0,2}" + _WEAK + r"\b",
            r"\b" + _WEAK + r" (?:nvidia )?(?:gpu|(?:graphics?|video) card)",
        ),
        unless=r"\b(?:not|isn't|no) \w{0,8} ?(?:old|weak|low)|\b(?:than|replac\w{1,3}|my previous|the) (?:old|older)\b",
    ),
    Sentence(
        "said-nan",
        (("nan",), ("loss", "gradient", "output", "weights")),
        (
            r"\bloss(?:es)?\b[^.\r\n]{0,60}\bnans?\b",
            r"\bnans?\b[^.\r\n]{0,24}\b(?:loss|gradients?|outputs?|weights|error)",
            r"\b(?:outputs?|gradients?|weights)\b[^.\r\n]{0,30}\bnans?\b",
        ),
        unless=(
            r"\b(?:no|not|without|avoid\w{0,3}|prevent\w{0,3}|fix\w{0,3}|terminate\w{0,2})\b[^.\r\n]{0,16}\bnan"
            r"|is_?nan"
        ),
    ),
    Sentence(
        "said-hangs",
        (
            (
                *("hang", "hung", "stuck", "freez", "frozen", "deadlock", "blocks forever", "never start"),
                *("\u5361\u4f4f", "\u5361\u6b7b"),
            ),
        ),
        (
            r"\b(?:hangs?|hanging|hung|freezes?|frozen|deadlock\w{0,3}|blocks forever|never starts?)\b",
            r"\bstucks?\b",
            r"\u5361\u4f4f|\u5361\u6b7b",
        ),
        unless=r"\b(?:not|no longer|doesn't|does not|without) (?:hang|stuck|freez|get)|\bfrozen (?:graph|layer|model)"
        r"|\bpip3? freeze"
        r"|\bi(?: am|.m| was| got)? stuck|\bstuck with\b",
    ),
    Sentence(
        "said-distributed",
        (
            (
                *("multiworker", "multi-worker", "multi worker", "multi-node", "multi node", "tf_config", "horovod"),
                *("allreduce", "all-reduce", "all_reduce", "nccl", "grpc://"),
            ),
        ),
        (r"multi[- ]?(?:worker|node)|\btf_config\b|\bhorovod|\ball[-_]?reduce|(?<!nvidia-)\bnccl|grpc://",),
    ),
    *(Sentence(*row) for row in (*machine_sentences.ROWS, *trouble_sentences.ROWS)),
)


def sentences_of(line: str) -> list[tuple[int, int]]:
    """Return where the sentences of a line begin and end."""
    ends = [(match.start(), match.end()) for match in compiled(_ENDS).finditer(line)]
    return list(zip([0, *(end for _, end in ends)], [*(begin for begin, _ in ends), len(line)], strict=True))


def said_in(low: str) -> Iterator[tuple[str, int, int]]:
    """Yield what a line says: the name, and where the sentence begins and ends. low: the line, in small letters."""
    found = [row for row in SENTENCES if all(any(word in low for word in group) for group in row.words)]
    if not found:
        return
    for start, end in sentences_of(low):
        sentence = low[start:end]
        if any(word in sentence for word in _ADVICE_WORDS) and compiled(_ADVICE).search(sentence):
            continue
        for row in found:
            fits = any(compiled(way).search(sentence) for way in row.ways)
            if fits and not (row.unless and compiled(row.unless).search(sentence)):
                yield row.event, start, end
