"""What a person says of a training in words, and what pieces of its program show.

A sentence is weak evidence: it names a cause only beside what else the text tells. Each becomes an event, of which the
first of a kind counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import LogEvent
from gpudoctor.logs.seen import Seen, compiled

OPENERS = ()
# Longer lines are no sentences of a person.
LONGEST = 1200
WORTH = 1.1

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
_SECONDS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0}

_SLOWER = (
    r"gpu\b[^.\r\n]{0,40}?\b(?:not|no|isn.t)\b[^.\r\n]{0,12}?\bfaster\b[^.\r\n]{0,40}?\bcpu\b|"
    r"gpu\b[^.\r\n]{0,60}?\b(?:slower|longer)\b[^.\r\n]{0,40}?\bcpu\b|slower than (?:(?:on|with|in|using) )?(?:the |a |"
    r"my )?cpu\b|\bcpu\b[^.\r\n]{0,50}?\b(?:faster|quicker)\b[^.\r\n]{0,30}?\bgpu\b|slower (?:on|with|using) "
    r"(?:the |a |my )?gpu\b|(?:faster|quicker|boost\W{0,2}) (?:without (?:the |a |my )?gpu|on (?:the |my )?cpu\b)"
)
_NOT = r"\b(?:not|no|never|isn't|than before)\b[^.\r\n]{0,20}(?:slower|longer)|should (?:not )?be|if (?:the|your) "
_MORE_GPUS = (
    r"(?:(?:more|multiple|multi|both|two|three|four|eight|[2-9]|all|adding|second)[ -](?:the )?gpus?\b|mirrored ?"
    r"strategy\b)[^.\r\n]{0,140}?\b(?:slow(?:er|s|ed)?\b|no (?:speed|perf|benefit|improve|gain)|"
    r"not? (?:any )?(?:faster|improve\w{0,6}|provid\w{0,5} \w{0,12} ?boost)|longer|same "
    r"(?:speed|time)|more time|doesn.t (?:speed|scale))"
    r"|(?:slow(?:er|s)?|no speed-?up)\b[^.\r\n]{0,60}?\b(?:multiple|multi|"
    r"two|both|more|[2-9])[ -]gpus?\b"
)
_FEW_AND_MANY = (
    r"\b(?:one|1|single|a single)[ -]gpu\b[^\d\r\n]{0,40}(?P<one>\d{1,6}(?:\.\d{1,3})?) ?" + _UNIT.format("few")
    + r"[^\r\n]{0,120}?\b(?:both|two|[2-9]|three|four|all)(?: the)?[ -]gpus\b[^\d\r\n]{0,40}"
    r"(?P<all>\d{1,6}(?:\.\d{1,3})?) ?" + _UNIT.format("many")
)  # fmt: skip
_SLOW = r"\b(?:slow(?:er|ly)?|too long|so long|very long|long time|bottleneck\w{0,3}|speed (?:it |this )?up|hours)\b"
_LOG = (".cc:", "warning", "callback", "policy", "userwarning", "slow compared", "slow_op", "compile?")
_IDLE = (
    r"\bgpu(?:[ -]util\w{0,8}| usage| load)\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing)\b|\blow (?:volatile )?gpu"
    r"[ -](?:util\w{0,8}|usage|load)|\bgpu (?:is |sits |stays )?(?:mostly |nearly |almost )?(?:always )?idle"
    r"|\b(?:util\w{0,8}|usage|load)(?: rate)? of (?:the |my )?gpu\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing)\b"
    "|gpu ?(?:\u5229\u7528|\u4f7f\u7528|\u5360\u7528)\u7387"
    "(?:[^\\d\\r\\n]{0,6}1?[0-9](?![0-9])|[^\\d\\r\\n]{0,4}\u4f4e)"
)
_DISK = (
    r"\b(?:nfs|cifs|sshfs|iowait)\b|\bnetwork (?:drive|share|storage|disk|mount)|\bexternal (?:usb )?(?:hard )?(?:"
    r"drive|disk|hdd)\b|\b(?:hdd|spinning disk|slow disk)\b|drive\.mount\(|\bon (?:my )?google drive\b"
)
_PYTHON_INPUT = (
    r"py_function\(|numpy_function\(|\bpy_func\(|class \w{1,60}\([\w.]{0,40}(?:Sequence|PyDataset)\)|\.fit_generator\("
    r"|\.from_generator\(|ImageDataGenerator\(|\bdef \w{0,40}generator\w{0,20}\(|\bpython generator\b"
)
_AUGMENTATION = r"\b[A-Za-z]\.Compose\(\[|\biaa\.Sequential\("


# Patterns are compiled when they are first needed: a word of them has to stand on the line.
_SLOW_WORDS = ("slow", "long", "bottleneck", "speed", "hours")
_TRAINING = ("train", "epoch", "fit(", "fit_generator", "keras")
_NO_TRAINING = ("no train", "not train", "before train", "without train", "after train")
_COMPARING = ("slow", "fast", "quick", "long", "boost", "speed", "same", "improve", "benefit", "gain", " time")
_TIMES = (" s", *(f"{digit}s" for digit in range(10)), "sec", "min", "hour", "0h", "ms ")
_IDLE_WORDS = ("low", "zero", "nothing", "idle", "\u7387")
_MEMORY_WORDS = (" all ", "whole", "entire", "100%", "100 %", " of ")
_DISK_WORDS = ("nfs", "cifs", "sshfs", "iowait", "network ", "external ", "hdd", "disk", "drive.mount", "google drive")
_INPUT_WORDS = ("py_func", "numpy_function", "Sequence)", "PyDataset)", "generator", "ImageDataGenerator")


_MEMORY = (
    r"\b(?:tak|us|eat|occup|consum|allocat|hog|fill|reserv|grab)\w{0,4}\b[^.\r\n]{0,40}?"
    r"(?:\b(?:all|whole|entire)\b|\b100 ?%|\b"
    r"\d[\d.]{0,4} ?gi?b (?:out )?of\b)[^.\r\n]{0,30}?\b(?:gpu(?:.?s)? )?(?:memory|v?ram|gi?b|gpu)\b"
)


class Reader:
    """Reads sentences and lines of programs."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._times: dict[str, float] = {}
        self._loop = 0

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        for message in self.messages(text, at, seen):
            if message not in self._told:
                self._told.add(message)
                source, _, number = at.rpartition(":")
                seen.events.append(
                    LogEvent(message=message, line=int(number) if number.isdigit() else 0, source=source)
                )

    def messages(self, text: str, at: str, seen: Seen) -> Iterator[str]:
        """Yield what a line says, by the names of SENTENCES and of rows."""
        if not 3 < len(text) < LONGEST or text[:1] in "|+" or "\u2501" in text or "[=" in text:  # noqa: PLR2004
            return
        yield from self._program(text)
        low = text.casefold()
        if any(word in low for word in _LOG):
            return
        if any(word in low for word in _TRAINING) and not any(word in low for word in _NO_TRAINING):
            seen.hint("training-said", at)
        yield from self._speed(low)
        if "gpu" in low and any(word in low for word in _IDLE_WORDS) and compiled(_IDLE).search(low):
            yield "said-gpu-idle"
        if (
            any(word in low for word in _MEMORY_WORDS)
            and ("gpu" in low or "tensorflow" in low)
            and compiled(_MEMORY).search(low)
        ):
            yield "said-memory-taken"
        if any(word in low for word in _DISK_WORDS) and compiled(_DISK).search(low):
            yield "slow-storage"

    def _speed(self, low: str) -> Iterator[str]:
        """Take comparisons of devices, and complaints."""
        slow = any(word in low for word in _SLOW_WORDS)
        if slow and compiled(_SLOW).search(low):
            yield "said-slow"
        if "cpu" not in low and "gpu" not in low and "strategy" not in low:
            return
        compares = any(word in low for word in _COMPARING)
        if compares and compiled(_SLOWER).search(low) and not compiled(_NOT).search(low):
            yield "said-gpu-slower"
        if compares and compiled(_MORE_GPUS).search(low) and not compiled(_NOT).search(low):
            yield "said-more-gpus-slower"
        elif "gpus" in low and (match := compiled(_FEW_AND_MANY).search(low)) is not None:
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


def _seconds(unit: str) -> float:
    return _SECONDS.get(unit) or _SECONDS[unit.rstrip("s").removesuffix("ond").removesuffix("ute")]
