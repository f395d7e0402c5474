"""The driver's version as people write it down: "NVIDIA driver: 460.39". It fills in what no tool tells."""

from __future__ import annotations

from gpudoctor.logs.formats.forms import KEY, LONGEST
from gpudoctor.logs.seen import Seen, compiled

OPENERS = ()
FACT = "driver.version"
_NUMBER = r"(?<![\w.])[2-6]\d\d\.\d{2,3}(?:\.\d{2})?(?![\w.]*\d)"
_SAID = (
    r"(?<![a-z])drivers?\b\W{0,16}(?:version\W{0,6})?(?:(?:is|are|was|number)\b\W{0,3}|v)?(?P<version>"
    + _NUMBER.replace(r"(?<![\w.])", "", 1)
    + ")"
)
# What is asked for, was tried, or belongs to another time says nothing of the driver that is there.
_ELSEWHERE = (
    *("need", "requir", "at least", "minim", "newer", "higher", "older", "later", "latest", "upgrad", "update"),
    *(
        "downgrad",
        "recommend",
        "should",
        ">=",
        "below",
        "before",
        "until",
        "previous",
        "tried",
        "try ",
        "if ",
        "support",
    ),
    *("install ", "works with", "nvidia-smi ", "nvrm", "nouveau", "http", "<", " or "),
)


class Reader:
    """Reads lines; two versions in one text tell nothing."""

    def __init__(self) -> None:
        self._versions: set[str] = set()

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if not 0 < len(text) <= LONGEST or "river" not in text or text[:1] in "|+":
            return
        low = text.casefold()
        if any(word in low for word in _ELSEWHERE) or (match := compiled(_SAID).search(low)) is None:
            return
        self._versions.update(found[0] for found in compiled(_NUMBER).finditer(low))
        self._versions.add(match["version"])
        if len(self._versions) == 1:
            seen.hint(f"{KEY}{FACT}", f"{match['version']}\n{at}")
        else:
            seen.hints.pop(f"{KEY}{FACT}", None)
