"""What a person says of a training in words, and what pieces of its program show.

A sentence is weak evidence: it names a cause only beside what else the text tells. Each becomes an event, of which the
first of a kind counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import LogEvent
from gpudoctor.logs.seen import Seen, compiled
from gpudoctor.logs.sentences import said_in, sentences_of

OPENERS = ()
# Longer lines are no sentences of a person.
LONGEST = 1200
# Of a line with an error the words before it are read, if they are more than the error's name.
LEAST_WORDS = 6
# So much of a sentence is shown as evidence.
SHOWN = 120
WORTH = 1.1
# So many times of calls tell that the first took long, and so much longer than each other.
ENOUGH_CALLS, FIRST_FACTOR, MOST_LABELS = 4, 10.0, 32

_UNIT = r"(?P<{0}>ms|s|secs?|seconds?|mins?|minutes?|h|hours?|hrs?)\b"
_DEVICE = r"(?P<device>cpu|gpu)\b"
_AFTER = (
    r"(?<![\w.])(?P<value>\d{1,6}(?:\.\d{1,4})?) ?" + _UNIT.format("unit") + r"(?:/\w{1,6}| per \w{1,6})?"
    r"[^\d.,;\r\n]{0,24}?\b(?:on|with|using|for) (?:the |a |my )?" + _DEVICE
)
_BEFORE = (
    r"(?<![\w-])" + _DEVICE + r"(?! times?)[^\d\r\n]{0,40}?(?<![\w.])(?P<value>\d{1,6}(?:\.\d{1,4})?) ?"
    + _UNIT.format("unit")
)  # fmt: skip
_CALL = (
    r"\W{0,4}(?P<label>[a-z][a-z _-]{0,40}?)(?: \((?:s|sec|seconds)\))?\s?[:=]?\s{0,3}(?P<value>\d{1,7}\.\d{1,20})"
    r" ?(?P<unit>ms|s|sec|secs|seconds)?\Z"
)
_CALL_WORDS = ("time", "took", "taken", "elapsed", "duration", "latency")
_SECONDS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0}

_SLOWER = (
    r"gpu\b[^.\r\n]{0,40}?\b(?:not|no|isn.t)\b[^.\r\n]{0,12}?\bfaster\b[^.\r\n]{0,40}?\bcpu\b|"
    r"gpu\b[^.\r\n]{0,60}?\b(?:slower|longer)\b[^.\r\n]{0,40}?\bcpu\b|slower than (?:(?:on|with|in|using) )?(?:the |a |"
    r"my )?cpu\b|\bcpu\b[^.\r\n]{0,50}?\b(?:faster|quicker)\b[^.\r\n]{0,30}?\bgpu\b|slower (?:on|with|using) "
    r"(?:the |a |my )?gpu\b|(?:faster|quicker|boost\W{0,2}) (?:without (?:the |a |my )?gpu|on (?:the |my )?cpu\b)"
    r"|\b(?:faster|quicker)\b(?:(?!\bthan)[^.\r\n]){0,30}? (?:on|with|using|in) (?:the |my |a )?cpu\b"
    r"|\bonly (?:about |~)?\d{1,2} ?% faster\b[^.\r\n]{0,50}\bcpu\b"
    r"|\bgpu\b[^.\r\n]{0,40}\b(?:doesn.t|does not|didn.t|did not) (?:help|speed|bring)"
    r"|\bgpu\b[^.\r\n]{0,24}\bnot (?:giving|bringing|any|much)\b[^.\r\n]{0,40}\b(?:boost|speed|faster)"
    r"|\b(?:no|any|not a|little|not much) (?:\w{1,12} )?differences?\b[^.\r\n]{0,24}\b(?:cpu|gpu)\b"
    r"|\bsame (?:speed|performance|time|pace)\b[^.\r\n]{0,30}\bcpu\b|\bas slow as\b[^.\r\n]{0,20}\bcpu\b"
    # Russian, German; Portuguese, Spanish and French; Chinese, Japanese, Korean.
    "|gpu[^.\\r\\n]{0,40}(?:\u043c\u0435\u0434\u043b\u0435\u043d\u043d\u0435\u0435|langsamer|mais lent|m\u00e1s lent"
    "|plus lent)[^.\\r\\n]{0,30}cpu"
    "|(?:\u043c\u0435\u0434\u043b\u0435\u043d\u043d\u0435\u0435|langsamer|mais lent.|m\u00e1s lent."
    "|plus lent.)[^.\\r\\n]{0,40}\\bcpu"
    "|gpu.{0,6}\u6bd4.{0,6}cpu.{0,8}\u6162|cpu.{0,4}\u6bd4.{0,4}gpu.{0,6}\u5feb|gpu.{0,4}(?:\u4e0d\u5982"
    "|\u8fd8\u6ca1).{0,4}cpu"
    "|gpu(?:\u548c|\u4e0e).{0,4}cpu.{0,16}(?:\u5dee\u4e0d\u591a|\u76f8\u5dee\u4e0d|\u4e00\u6837)"
    "|cpu.{0,10}(?:\u5927\u5dee\u306a|\u5909\u308f\u3089\u306a\u3044|\u5dee\u304c\u306a\u3044)"
    "|gpu\u3088\u308a.{0,4}cpu.{0,8}\u901f|gpu\ubcf4\ub2e4.{0,4}cpu.{0,8}(?:\ube60\ub974|\ube68\ub77c)"
)
_NOT = (
    r"\b(?:not|no|never|isn't|than before)\b[^.\r\n]{0,20}(?:slow(?:er)?\b|longer)|should (?:not )?be|if (?:the|your) "
)
_MORE_GPUS = (
    r"(?:(?:more|multiple|multi|both|two|three|four|eight|[2-9]|all|adding|second)[ -](?:the )?gpus?\b|mirrored ?"
    r"strategy\b)[^.\r\n]{0,140}?\b(?:slow(?:er|s|ed)?\b|lower\b|no (?:speed|perf|benefit|improve|gain)|"
    r"not? (?:any )?(?:faster|improve\w{0,6}|provid\w{0,5} \w{0,12} ?boost)|longer|same "
    r"(?:speed|time)|more time|doesn.t (?:speed|scale))"
    r"|(?:slow(?:er|s)?|no speed-?up)\b[^.\r\n]{0,60}?\b(?:multiple|multi|"
    r"two|both|more|[2-9])[ -]gpus?\b"
)
_SEVERAL = (" gpus", "mirroredstrategy", "multi_gpu_model", "multi-gpu")
_NO_GAIN = (
    _MORE_GPUS + r"|(?:\bnot\b|n't\b|\bno\b)[^.\r\n]{0,24}\b(?:decrease|reduction|speed-?up|improvement|gain)\b"
    r"[^.\r\n]{0,24}\b(?:time|speed|performance)"
)
_FEW_AND_MANY = (
    r"\b(?:one|1|single|a single)[ -]gpu\b[^\d\r\n]{0,40}(?P<one>\d{1,6}(?:\.\d{1,3})?) ?" + _UNIT.format("few")
    + r"[^\r\n]{0,120}?\b(?:both|two|[2-9]|three|four|all)(?: the)?[ -]gpus\b[^\d\r\n]{0,40}"
    r"(?P<all>\d{1,6}(?:\.\d{1,3})?) ?" + _UNIT.format("many")
)  # fmt: skip
_MANY_AND_FEW = (
    r"\b(?:both|two|[2-9]|three|four|all)(?: the)?[ -]gpus\b[^\d\r\n]{0,40}(?P<all>\d{1,6}(?:\.\d{1,3})?) ?"
    + _UNIT.format("many") + r"[^\r\n]{0,120}?\b(?:one|1|single|a single)[ -]gpu\b[^\d\r\n]{0,40}"
    r"(?P<one>\d{1,6}(?:\.\d{1,3})?) ?" + _UNIT.format("few")
)  # fmt: skip
_SLOW = (
    r"\b(?:slow(?:er|ly)?|too long|so long|very long|long time|bottleneck\w{0,3}|speed (?:it |this )?up|hours)\b"
    "|[\u6162]|\u9045[\u3044\u304f]|\ub290[\ub9ac\ub824]|\u043c\u0435\u0434\u043b\u0435\u043d\u043d"
    "|\u0434\u043e\u043b\u0433\u043e"
    r"|\blent[aoe]?s?\b|\bdemora|\btarda|\blangsam"
)
# What software prints; a person who writes of callbacks may mean more than a warning.
_PRINTED = (".cc:", "warning:", "slow compared", "slow_op", "compile?", "triggered tf.function", "error:")
_LOG = (".cc:", "warning", "callback", "policy", "userwarning", "slow compared", "slow_op", "compile?")
_DISK = (
    r"\b(?:nfs|cifs|sshfs|iowait)\b|\bnetwork (?:drive|share|storage|disk|mount)|\bexternal (?:usb )?(?:hard )?(?:"
    r"drive|disk|hdd)\b|\b(?:hdd|spinning disk|slow disk)\b|drive\.mount\(|\b(?:on|from|in) (?:the |my "
    r"|a )?(?:mounted )?(?:google ?drive|g ?drive)\b"
    r"|\bgoogle drive (?:folder|file|director|mount)"
)
_PYTHON_INPUT = (
    r"py_function\(|numpy_function\(|\bpy_func\(|class \w{1,60}\([\w.]{0,40}(?:Sequence|PyDataset)\)|\.fit_generator\("
    r"|\.from_generator\(|ImageDataGenerator\(|\bdef \w{0,40}generator\w{0,20}\(|\bpython generator\b|\b(?:data"
    r"|custom|image|batch|keras) ?generators?\b"
    r"|\bfit_generator\b|\btf\.(?:py|numpy)_function\b|\bflow_from_d\w{6,10}\b|\bflow from (?:directory|dataframe)\b"
)
_AUGMENTATION = r"\b[A-Za-z]\.Compose\(\[|\biaa\.Sequential\("


# Patterns are compiled when they are first needed: a word of them has to stand on the line.
_SLOW_WORDS = (
    *("slow", "long", "bottleneck", "speed", "hours"),
    *(
        "\u6162",
        "\u9045\u3044",
        "\u9045\u304f",
        "\ub290\ub9ac",
        "\ub290\ub824",
        "\u043c\u0435\u0434\u043b\u0435\u043d\u043d",
    ),
    *("\u0434\u043e\u043b\u0433\u043e", "lent", "demora", "tarda", "langsam"),
)
# In English; Chinese and Japanese, Korean, Russian, German; Portuguese, Spanish and French.
_TRAINING = (
    *("train", "epoch", "fit(", "fit_generator", "keras"),
    *("\u8bad\u7ec3", "\u8a13\u7df4", "\u5b66\u7fd2", "\ud559\uc2b5", "\u043e\u0431\u0443\u0447", "trainier"),
    *("trein", "entren", "entra\u00een"),
)
# Who asks about the load of a GPU has something run on it.
_ASKING = ("?", "problem", "issue", "expected", "how to", "why")
_NO_TRAINING = ("no train", "not train", "before train", "without train", "after train")
_COMPARING = (
    "slow",
    "fast",
    "quick",
    "long",
    "boost",
    "speed",
    "same",
    "improve",
    "benefit",
    "gain",
    " time",
    "perform",
    "help",
    "lower",
    "\u6162",
    "\u5feb",
    "\u901f",
    "\u5dee",
    "\u5909\u308f\u3089",
    "decrease",
    "reduction",
)
_TIMES = (" s", *(f"{digit}s" for digit in range(10)), "sec", "min", "hour", "0h", "ms ")
_MEMORY_WORDS = (" all ", "whole", "entire", "100%", "100 %", " of ")
_DISK_WORDS = ("nfs", "cifs", "sshfs", "iowait", "network ", "external ", "hdd", "disk", "drive.mount", "google drive")
_INPUT_WORDS = (
    "py_func",
    "numpy_function",
    "Sequence)",
    "PyDataset)",
    "generator",
    "ImageDataGenerator",
    "flow_from",
    "flow from",
)


_MEMORY = (
    r"\b(?:tak|us|eat|occup|consum|allocat|hog|fill|reserv|grab)\w{0,4}\b(?:(?!\bcpu)[^.\r\n]){0,40}?"
    r"(?:\b(?:all|whole|entire)\b|\b100 ?% of\b|\b"
    r"\d[\d.]{0,4} ?gi?b (?:out )?of\b)(?:(?!\bcpu)[^.\r\n]){0,30}?\b(?:gpu(?:.?s)? )?(?:memory|v?ram|gi?b|gpu)\b"
)


class Reader:
    """Reads sentences and lines of programs."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._times: dict[str, float] = {}
        self._loop = 0
        self._calls: dict[str, list[float]] = {}
        self._sentence = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        for message in self.messages(text, at, seen):
            if message not in self._told:
                self._told.add(message)
                source, _, number = at.rpartition(":")
                words = {"words": _shortened(self._sentence)} if message.startswith("said-") else {}
                place = int(number) if number.isdecimal() else 0
                seen.events.append(LogEvent(message=message, line=place, source=source, parameters=words))

    def messages(self, text: str, at: str, seen: Seen) -> Iterator[str]:
        """Yield what a line says, by the names of SENTENCES and of rows."""
        if not 3 < len(text) < LONGEST or text[:1] in "|+" or "\u2501" in text or "[=" in text:  # noqa: PLR2004
            return
        yield from self._program(text)
        low = text.casefold()
        if any(word in low for word in _CALL_WORDS) and (match := compiled(_CALL).match(low.strip())):
            yield from self._call(match["label"], float(match["value"]) * _seconds(match["unit"] or "s"))
        self._sentence = text
        said, printed, _ = low.partition("error:")
        if not any(word in said for word in _PRINTED) and (not printed or said.count(" ") >= LEAST_WORDS):
            for message, start, end in said_in(said):
                self._sentence = text[start:end] if len(text) == len(low) else text
                yield message
        self._sentence = text
        if any(word in low for word in _LOG):
            return
        if any(word in low for word in _TRAINING) and not any(word in low for word in _NO_TRAINING):
            seen.hint("training-said", at)
        if ("gpu" in low or "util" in low) and any(word in low for word in _ASKING):
            seen.hint("load-asked", at)
        yield from self._speed(text, low)
        if (
            any(word in low for word in _MEMORY_WORDS)
            and ("gpu" in low or "tensorflow" in low)
            and compiled(_MEMORY).search(low)
        ):
            yield "said-memory-taken"
        if any(word in low for word in _DISK_WORDS) and compiled(_DISK).search(low):
            yield "slow-storage"

    def _call(self, label: str, seconds: float) -> Iterator[str]:
        """Take the time of one of several calls, which a program prints under the same words."""
        times = self._calls.setdefault(label, []) if len(self._calls) < MOST_LABELS else []
        if len(times) < ENOUGH_CALLS:
            times.append(seconds)
            if len(times) == ENOUGH_CALLS and times[0] >= max(1.0, FIRST_FACTOR * max(times[1:])):
                yield "first-call-slow"

    def _speed(self, text: str, low: str) -> Iterator[str]:
        """Take comparisons of devices, and complaints."""
        slow = any(word in low for word in _SLOW_WORDS)
        if slow and compiled(_SLOW).search(low):
            yield "said-slow"
        if "cpu" not in low and "gpu" not in low and "strategy" not in low:
            return
        if any(word in low for word in _COMPARING):
            yield from self._compared(text, low)
        match = (compiled(_FEW_AND_MANY).search(low) or compiled(_MANY_AND_FEW).search(low)) if "gpus" in low else None
        if match is not None:
            one = float(match["one"]) * _seconds(match["few"])
            if float(match["all"]) * _seconds(match["many"]) >= one:
                yield "said-more-gpus-slower"
        if not any(word in low for word in _TIMES) or "cpu times" in low:
            return
        found = list(compiled(_AFTER).finditer(low)) or list(compiled(_BEFORE).finditer(low))
        for match in found:
            self._times.setdefault(match["device"], float(match["value"]) * _seconds(match["unit"]))
        if found and self._times.get("gpu", 0.0) >= WORTH * self._times.get("cpu", float("inf")):
            yield "said-gpu-slower"

    def _compared(self, text: str, low: str) -> Iterator[str]:
        """Take sentences that compare devices, or numbers of them."""
        several = False  # whether a sentence before told of several GPUs
        for start, end in sentences_of(low):
            sentence = low[start:end]
            ways = {"said-gpu-slower": _SLOWER, "said-more-gpus-slower": _NO_GAIN if several else _MORE_GPUS}
            said = [message for message, way in ways.items() if compiled(way).search(sentence)]
            if said and not compiled(_NOT).search(sentence):
                self._sentence = text[start:end] if len(text) == len(low) else text
                yield from said
            several = several or any(word in sentence for word in _SEVERAL)
        self._sentence = text

    def _program(self, text: str) -> Iterator[str]:
        """Take a line of a program."""
        if "GradientTape(" in text:
            yield "gradient-tape"
        elif "tf.function" in text and "retracing" not in text:
            yield "tf-function"
        if any(word in text for word in _INPUT_WORDS) and compiled(_PYTHON_INPUT).search(text):
            yield "python-generator"
        if (".Compose(" in text or "iaa." in text) and compiled(_AUGMENTATION).search(text):
            yield "augmentation-arguments"
        stripped = text.lstrip()
        if stripped.startswith(("for ", "while ")) and stripped.endswith(":"):
            self._loop = len(text) - len(stripped) + 1
        elif self._loop and len(text) - len(stripped) < self._loop:
            self._loop = 0
        elif self._loop and ".predict(" in text:
            yield "predict-in-loop"


def _shortened(text: str) -> str:
    """Return a sentence as it stands in evidence."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN].rpartition(' ')[0] or text[:SHOWN]} ..."


def _seconds(unit: str) -> float:
    return _SECONDS.get(unit) or _SECONDS[unit.rstrip("s").removesuffix("ond").removesuffix("ute")]
