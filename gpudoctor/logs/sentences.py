"""What sentences of people say of a training, as data: one row a thing said.

A row is looked at where one word of each of its groups stands in the sentence, in small letters: a pattern is compiled
and tried for few. What is said under a condition, or as advice, says nothing of the machine at hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.logs.seen import compiled


class Sentence(Struct, frozen=True):
    """One thing that a person may say. event: name of the row in gpudoctor.logs.rows.said.

    words: groups of parts of words; unless: pattern of what makes it mean something else.
    """

    event: str
    words: tuple[tuple[str, ...], ...]
    pattern: str
    unless: str = ""


_ENDS = r"(?<=[.?!;])\s+|[\u3002\uff1f\uff01\uff1b]"
_ADVICE = (
    r"(?<!wonder )(?<!wondering )(?<!know )(?<!sure )\bif (?:the|your|you|a|an|it)\b|\byou (?:can|may|might|could"
    r"|should|need|must|want)\b|\bwe (?:recommend|suggest)"
    r"|\b(?:it is|are) recommended\b|\bto avoid\b|\bmake sure\b|\btends? to\b|\bcan (?:be|lead|cause|result|help"
    r"|make)\b"
)
_ADVICE_WORDS = ("if ", "you ", "we ", "recommended", "to avoid", "make sure", "tend", "can ")

_GPU = (
    "gpu",
    "\u663e\u5361",  # zh: graphics card
    "\u9854\u5361",
    "\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442",  # ru
    "grafikkarte",
    "placa de v",
    "tarjeta gr",
    "carte graphique",
    "\uadf8\ub798\ud53d\uce74\ub4dc",  # ko
    "device",
)
_CARD = (
    r"(?:\bgpus?|\u663e\u5361|\u9854\u5361|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442.{0,3}|grafikkarte"
    r"|placa de v.deo|tarjeta gr.fica|carte graphique|\uadf8\ub798\ud53d\uce74\ub4dc)"
)
_LOW = (
    r"(?:\u4f4e|\u4e0d\u9ad8|\u4e0a\u4e0d\u53bb|\u4e0a\u304c\u3089\u306a\u3044|\ub0ae|\uc548 ?\uc4f0"
    r"|\u043d\u0438\u0437\u043a|"
    r"\u043c\u0430\u043b\u043e|\u043f\u0440\u043e\u0441\u0442\u0430\u0438\u0432\u0430|baix|baj[ao]|poco|gering|niedrig"
    r"|kaum|faible)"
)
_JUMPS = (
    r"(?:spik\w{1,4}|fluctuat\w{1,4}|jump\w{0,4}|oscillat\w{1,4}|drop\w{0,4}|up and down|on and off"
    r"|\u8df3\u52a8|\u6ce2\u52a8|\u65f6\u9ad8\u65f6\u4f4e|\u5ffd\u9ad8\u5ffd\u4f4e)"
)
_IDLE = (
    # Low, in the words of several languages.
    r"\bgpu(?:[ -]util\w{0,8}| usage| load| consumption)\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing|poor|bad|under)\b"
    r"|\b(?:low|poor|little|less|bad|zero|small) (?:volatile )?gpu[ -](?:util\w{0,8}|usage|load|engagement|consumption)"
    r"|\bgpus? (?:is |are |was |were |sits? |stays? |just )?(?:mostly |nearly |almost |often )?(?:always |constantly )?"
    r"idl(?:e|es|ing)\b"
    r"|\b(?:util\w{0,8}|usage|load)(?: rate)? of (?:the |my |each )?gpus?\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing"
    r"|poor)\b"
    "|gpu.{0,3}(?:\u5229\u7528|\u4f7f\u7528|\u5360\u7528)\u7387"
    "(?:[^\\d\\r\\n]{0,6}1?[0-9](?![0-9])|[^\\d\\r\\n]{0,4}\u4f4e)"
    "|"
    + _CARD
    + r"[^.%\r\n]{0,30}"
    + _LOW
    + r"|"
    + _LOW
    + r"[^.%\r\n]{0,14}"
    + _CARD
    + r"|(?:baix|baj)[ao]s?[^.\r\n]{0,20}\bgpu"
    # Not used as it could be.
    r"|\bgpus?\b[^.\r\n]{0,60}?\bunder[- ]?(?:utili[sz]|use)|\bunder[- ]?(?:utili[sz]\w{0,5}"
    r"|used)\b[^.\r\n]{0,30}?\bgpus?"
    r"|\bgpus?\b[^.\r\n]{0,30}?(?:\bnot\b|n't\b|\b(?:never|barely|hardly|rarely|seldom)\b)[^.\r\n]{0,16}?\b(?:heavily|"
    r"fully|totally|completely|efficiently|utili[sz]ed|busy|working hard|loaded)\b"
    r"|\bnot (?:using|utili[sz]ing|exploiting) (?:the |my |all )?gpus?[^.\r\n]{0,12}\b(?:efficient|full|proper|well"
    r"|much)"
    r"|\bgpus?\b[^.\r\n]{0,30}\b(?:starv|waits? for|waiting for|waiting on)"
    # Little time, and loads that come and go down to nothing.
    r"|\b\d{1,3}(?:\.\d)? ?% of (?:the )?(?:device|gpu) time\b[^.\r\n]{0,8}\bidle"
    r"|\bgpus?\b[^\r\n]{0,60}?\b(?:9\d|8\d|7\d|most)\b ?%?\+? of (?:the |its |my )?(?:\w{1,12} )?time (?:at 0|idle"
    r"|doing "
    r"nothing|waiting|at zero)"
    r"|\bgpus?\b[^\r\n]{0,120}?\b" + _JUMPS + r"[^\r\n]{0,80}?(?<![\d.])0 ?%"
    r"|\bgpu.{0,16}?" + _JUMPS
)
_DATA = (
    "image",
    "picture",
    "photo",
    "data",
    "file",
    "batch",
    "sample",
    "record",
    "folder",
    "drive",
    "disk",
    "hdf5",
    "h5",
    "i/o",
    "io ",
    "\u6570\u636e",  # zh: data
    "\u8bfb\u53d6",
)
_READS = (
    r"\b(?:read|reads|reading|load|loads|loading|loaded|open|opens|opening|fetch\w{0,3}|stream\w{0,3}|i/?o|disks?|"
    r"(?:hard |google )?drive)\b"
)
_LONG = (
    r"\b(?:slow|slowly|slower|(?:too|so|very|extremely) (?:much time|long)|takes? (?:\w{1,10} ){0,2}(?:long|ages"
    r"|forever|"
    r"minutes|hours|time)|bottleneck\w{0,2}|busy for|can(?:no|')t keep up|\u8ddf\u4e0d\u4e0a|\u6162)"
)
_LATER = (
    r"\b(?:others?|following|subsequent\w{0,2}|afterwards?|after that|later|next|second|rest|remaining|then"
    r"|each other)\b"
)
_FIRST = (
    r"\bfirst (?:\w{1,12} ){0,2}?(?:step|epoch|batch|iteration|call|run|image|inference|prediction|execution|time"
    r"|frame|"
    r"request|training)s?\b"
)

SENTENCES: tuple[Sentence, ...] = (
    Sentence(
        "said-gpu-idle",
        (_GPU,),
        _IDLE,
        unless=r"\bno (?:other )?gpu\b",
    ),
    Sentence(
        "said-eager-slower",
        (("eager",), ("slow", "fast", "takes", "speed", " s", "time")),
        r"\beager\w{0,3}\b[^\r\n]{0,110}?\b(?:slow\w{0,4}|faster|takes? [^\r\n]{0,12}longer|speed)"
        r"|\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?(?<![a-z])eager(?:ly)?\b"
        r"|\b(?:slow\w{0,4}|faster)\b[^\r\n]{0,60}?disable_eager_execution",
        unless=r"eager to|no (?:slower|faster)|not (?:slower|faster)",
    ),
    Sentence(
        "said-first-slow",
        (("first",), ("min", "hour", " s", "sec", "slow", "long", "high", "much")),
        _FIRST + r"[^.\r\n]{0,90}?(?:(?<![\w.])\d{1,5}(?:\.\d{1,3})? ?(?:min\w{0,5}|hours?|h|s|secs?|seconds)\b|\bmuch "
        r"(?:slower|longer|higher|high|more time)|\b(?:very|extremely|really|so|too) (?:slow|long)"
        r"|\btakes? (?:a )?(?:long|forever|ages))[^\r\n]{0,120}?" + _LATER,
        unless=r"\bloss\b|accura|\b(?:because|since|as|due to|normal|expected|of course|warm-?up)\b",
    ),
    Sentence(
        "said-retracing",
        (("retrac", "graph", "recompil"),),
        r"\b(?:new|another|separate) graph (?:is |was |gets )?(?:\w{1,10} )?(?:built|created|made"
        r"|traced)[^.\r\n]{0,24}?"
        r"\b(?:every|each)\b|\bre-?(?:trac|compil)\w{1,4} (?:(?:the|my|a) \w{1,20} )?(?:on|at|in|for"
        r"|with)? ?(?:every|each)"
        r"|\b(?:keeps?|always|constant\w{0,2}|excessive\w{0,2}|instead of|repeated\w{0,2}) re-?trac\w{1,4}"
        r"|\bre-?traced? (?:again|every|each|excessive|all the time)",
        unless=r"triggered tf\.function",
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
        r"\b(?:summar\w{1,5}|tensorboard|histogram\w{0,6}|callbacks?|logging|(?:writing|write) [^.\r\n]{0,12}\blogs?|"
        r"checkpoint\w{0,4}|wandb|mlflow|verbose)\b[^.\r\n]{0,80}?\b(?:slow\w{0,4}|too long|eternity|forever|times "
        r"(?:longer|slower|faster)|bottleneck|takes? (?:so |very |too )?long)"
        r"|\b(?:remov|disabl|without|turn\w{0,3} off|comment)\w{0,4}\b[^.\r\n]{0,40}\b(?:summar\w{1,5}|tensorboard|"
        r"histogram\w{0,6}|callbacks?|logging|checkpoint\w{0,4})\b[^.\r\n]{0,60}?\b(?:fast\w{0,3}|quick\w{0,3}"
        r"|speed\w{0,2})",
        unless=r"compared to the batch|not slow|load\w{0,3} (?:the |a )?checkpoint",
    ),
    Sentence(
        "said-throttled",
        (("throttl", "overheat", "over-heat", "thermal", "cooling", "too hot"),),
        r"\b(?:gpus?|card|cards|clocks?|rtx|gtx|tesla)\b[^.\r\n]{0,60}\b(?:throttl(?:es|ed|ing|e)|overheat\w{0,3}|"
        r"thermal(?:ly)? (?:throttl|limit|slow)\w{0,5}|too hot)"
        r"|\b(?:thermal(?:ly)? throttl\w{1,4}|throttl\w{1,4})\b[^.\r\n]{0,60}\b(?:gpu|card|temperature|heat|clocks?"
        r"|\d ?c)\b"
        r"|\bclocks?\b[^.\r\n]{0,40}\bthrottl\w{1,4}",
        unless=(
            r"\b(?:not|no|n't|never|without|isn.t)\b[^.\r\n]{0,24}(?:throttl|overheat|hot)|reasons|: (?:not )?active"
        ),
    ),
    Sentence(
        "said-reading-slow",
        (
            _DATA,
            (
                "slow",
                "long",
                "bottleneck",
                "time",
                "ages",
                "forever",
                "minutes",
                "hours",
                "keep up",
                "busy",
                "\u6162",
                "\u8ddf\u4e0d\u4e0a",
            ),
        ),
        _READS
        + r"[^.\r\n]{0,70}?"
        + _LONG
        + r"|"
        + _LONG
        + r"[^.\r\n]{0,30}\b(?:to |in |at |when )?(?:read|load|fetch)"
        r"(?:s|ing)?\b"
        "|(?:io|\u8bfb\u53d6|\u6570\u636e|\u8bfb).{0,8}(?:\u8ddf\u4e0d\u4e0a|\u592a\u6162|\u5f88\u6162|\u74f6\u9888)",
        unless=r"\b(?:the|a|my) (?:pre-?trained )?(?:model|weights|checkpoint|librar\w{1,3}|module|page|tensorflow)\b",
    ),
    Sentence(
        "said-augmentation-slow",
        (("augment", "pre-process", "preprocess"), ("slow", "bottleneck", "cpu", "time", "long")),
        r"\b(?:augment\w{0,6}|pre-?process\w{0,4})\b[^.\r\n]{0,90}?\b(?:slow\w{0,4}|bottleneck|too long|(?:runs?"
        r"|running|"
        r"done|performed|executed|happens) (?:only )?(?:on|by|in) (?:the )?cpus?|takes? (?:\w{1,10} ){0,2}(?:time"
        r"|long))"
        r"|\b(?:slow|bottleneck|time)\b[^.\r\n]{0,40}\b(?:augment|pre-?process)\w{0,6}",
    ),
    Sentence(
        "said-larger-batch",
        (("batch",), ("fast", "speed", "util", "idle", "usage", "load", "quick", "small", "tiny")),
        r"\b(?:increas|larg|bigg|upp|rais|high|doubl|greater)\w{0,4}\b[^.\r\n]{0,30}\bbatch\W{0,2}(?:size)?[^.\r\n]{0"
        r",80}?"
        r"\b(?:faster|speed\w{0,3}|quick\w{0,3}|less time|(?:idle|util\w{0,8}|usage|load)[^.\r\n]{0,20}(?:decreas|drop|"
        r"increas|rise|rose|went|goes|up|down|high)\w{0,4})"
        r"|\b(?:speed\w{0,3}|faster|util\w{0,8})\b[^.\r\n]{0,20}\bby (?:upping|increasing|raising|using"
        r"|doubling)[^.\r\n]"
        r"{0,20}batch|\b(?:small|smaller|tiny|low)\b[^.\r\n]{0,12}\bbatch\W{0,2}sizes?\b",
        unless=r"\bmemory\b|oom\b|did(?:n't| not)|does(?:n't| not)|no (?:effect|change|difference)",
    ),
    Sentence(
        "said-weak-gpu",
        (("old", "weak", "low-end", "low end", "entry", "budget", "cheap"), (*_GPU, "card")),
        r"\b(?:gpu|(?:graphics?|video) card|card)\b[^.\r\n]{0,30}\b(?:quite |very |too |pretty |rather |really "
        r"|just |an? )"
        r"{0,2}(?:old|weak|low[- ]end|entry[- ]level|budget|cheap)\b"
        r"|\b(?:old|weak|low[- ]end|entry[- ]level|budget|cheap)\w{0,2} (?:nvidia )?(?:gpu|(?:graphics?|video) card)",
        unless=r"\b(?:not|isn't|no) \w{0,8} ?(?:old|weak|low)|\b(?:than|replac\w{1,3}|my previous|the) (?:old|older)\b",
    ),
    Sentence(
        "said-nan",
        (("nan",), ("loss", "gradient", "output", "weights")),
        r"\bloss(?:es)?\b[^.\r\n]{0,60}\bnans?\b|\bnans?\b[^.\r\n]{0,24}\b(?:loss|gradients?|outputs?|weights|error)"
        r"|\b(?:outputs?|gradients?|weights)\b[^.\r\n]{0,30}\bnans?\b",
        unless=(
            r"\b(?:no|not|without|avoid\w{0,3}|prevent\w{0,3}|fix\w{0,3}|terminate\w{0,2})\b[^.\r\n]{0,16}\bnan"
            r"|isnan|is_nan"
        ),
    ),
    Sentence(
        "said-hangs",
        (
            (
                "hang",
                "stuck",
                "freez",
                "frozen",
                "deadlock",
                "blocks forever",
                "never start",
                "\u5361\u4f4f",
                "\u5361\u6b7b",
            ),
        ),
        r"\bhangs?\b|\bhanging\b|\bhung\b|\bgets? stuck\b|\b(?:is|are|was) stuck\b|\bstuck (?:at|on|in|there)\b"
        r"|\bfreezes\b|"
        "\\bfrozen\\b|\\bdeadlock|\\bblocks forever|\\bnever starts?|\u5361\u4f4f|\u5361\u6b7b",
        unless=r"\b(?:not|no longer|doesn't|does not|without) (?:hang|stuck|freez|get)",
    ),
    Sentence(
        "said-distributed",
        (
            (
                "multiworker",
                "multi-worker",
                "multi worker",
                "multi-node",
                "multi node",
                "tf_config",
                "horovod",
                "allreduce",
                "all-reduce",
                "all_reduce",
                "nccl",
                "grpc://",
            ),
        ),
        r"multi[- ]?worker|multi[- ]?node|\btf_config\b|\bhorovod|\ball[-_]?reduce|\bnccl\b|grpc://",
    ),
)


def said_in(low: str) -> Iterator[tuple[str, int, int]]:
    """Yield what a line says: the name, and where the sentence begins and ends. low: the line, in small letters."""
    found = [row for row in SENTENCES if all(any(word in low for word in group) for group in row.words)]
    if not found:
        return
    ends = [(match.start(), match.end()) for match in compiled(_ENDS).finditer(low)]
    starts = [0, *(end for _, end in ends)]
    for start, end in zip(starts, [*(begin for begin, _ in ends), len(low)], strict=True):
        sentence = low[start:end]
        if any(word in sentence for word in _ADVICE_WORDS) and compiled(_ADVICE).search(sentence):
            continue
        for row in found:
            if compiled(row.pattern).search(sentence) and not (row.unless and compiled(row.unless).search(sentence)):
                yield row.event, start, end
