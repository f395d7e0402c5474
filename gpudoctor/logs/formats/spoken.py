"""TensorFlow's release and the graphics card that a sentence names: "I use TF 1.15 on an RTX 3090".

A text that names several is about a comparison, or another machine: then none of them counts, see facts/from_form.
"""

from __future__ import annotations

from gpudoctor.logs.formats.forms import KEY, card_name
from gpudoctor.logs.seen import Seen, compiled

OPENERS: tuple[bytes, ...] = ()

RELEASE, CARD = f"{KEY}spoken release", f"{KEY}spoken card"
RELEASES, CARDS = f"{KEY}several releases", f"{KEY}several cards"
LONGEST = 1200

_RELEASE = (
    r"(?<![\w./=-])(?:tensorflow|tf)(?:[-_ ](?:gpu|intel))?(?: version| v\.?)?(?: - ?|[ =:v]{0,3})"
    r"(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]{0,4}\d|[-.]?(?:rc|dev|cp|py|gpu))"
)
_CARD = (
    r"(?<![\w./-])(?:(?:nvidia|geforce) ){0,2}(?P<card>(?:[rg]tx?[ -]?(?!\d000)\d{3,4}m?|\d{4}(?=[ -]?ti))(?:[ -]?ti)?"
    r"(?:[ -]?super)?)(?![\w/-])"
    r"|(?<![\w./-])(?:nvidia|tesla|(?:graphics )?card(?: is|:)?(?: an?)?|gpu(?: is|:)(?: an?)?) "
    r"(?P<server>[avh]\d0{1,2}|l4|l40s?|t4)(?![\w/-])"
)
_CARD_WORDS = ("rtx", "gtx", "gt ", "ti", "nvidia", "tesla", "card", "gpu")
# What software prints, programs, and what is advised or said of another place.
_PRINTED = (
    ".cc:",
    'file "',
    "://",
    "[=",
    "warning:",
    "error:",
    "requires",
    "import ",
    "pip ",
    "conda ",
    "==",
    ".whl",
    "ollecting ",
    "ownloading ",
    "using cached",
    ".tar",
    "uccessfully installed",
    "site-packages",
)
_ELSEWHERE = ("instead", "upgrade", "downgrade", "should", "recommend", "support", "works ", "worked", "fine")


class Reader:
    """Reads sentences."""

    def __init__(self) -> None:
        self._release = ""
        self._card = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if len(text) > LONGEST or " " not in text or text[:1] in "|+":
            return
        low = text.casefold()
        if any(word in low for word in _PRINTED):
            return
        if "tf" in low or "tensorflow" in low:
            for match in compiled(_RELEASE).finditer(low):
                self._take_release(match["version"], at, seen, elsewhere=any(word in low for word in _ELSEWHERE))
        if any(word in low for word in _CARD_WORDS):
            for match in compiled(_CARD).finditer(low):
                name = card_name(match["card"]) if match["card"] else match["server"].upper()
                self._take_card(name, at, seen, elsewhere=any(word in low for word in _ELSEWHERE))

    def _take_release(self, version: str, at: str, seen: Seen, *, elsewhere: bool) -> None:
        told = self._release
        if elsewhere or (told and not told.startswith(version) and not version.startswith(told)):
            seen.hint(RELEASES, at)
            return
        self._release = max(told, version, key=len)
        seen.hints[RELEASE] = f"{self._release}\n{at}"

    def _take_card(self, name: str, at: str, seen: Seen, *, elsewhere: bool) -> None:
        if elsewhere or self._card not in ("", name):
            seen.hint(CARDS, at)
            return
        self._card = name
        seen.hint(CARD, f"{name}\n{at}")
