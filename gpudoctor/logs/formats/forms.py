"""Forms that projects let people fill in when they report a fault, and what people write in their manner.

What stands in a form is what its writer believes: it fills in what nothing else in the text tells, see facts/from_form.
"""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (
    b"OS Platform and Distribution",
    b"OS platform and distribution",
    b"TensorFlow version",
    b"Tensorflow Version",
    b"GPU model and memory",
)
# Names that the fields of such forms bear, and the fact that they tell.
FIELDS = {
    "os platform and distribution": "host.os", "os": "host.os", "operating system": "host.os", "platform": "host.os",
    "os and version": "host.os", "os version": "host.os", "os type and version": "host.os",
    "tensorflow version": "tensorflow.version", "tf version": "tensorflow.version", "version tensorflow":
    "tensorflow.version", "tensorflow": "tensorflow.version", "framework version": "tensorflow.version",
    "python version": "python.version", "python": "python.version", "version python": "python.version",
    "architecture": "host.machine", "arch": "host.machine", "machine": "host.machine",
    "gpu model and memory": "gpu", "gpu": "gpu", "gpu model": "gpu", "graphics card": "gpu",
    "cuda/cudnn version": "cuda", "cuda version": "cuda", "cuda": "cuda",
}  # fmt: skip
LONGEST, LONGEST_NAME, LONGEST_SENTENCES = 200, 100, 1200
# The hint under which a value waits, with its line.
KEY = "form "
COLAB_SAID = "colab-said"

_SYSTEMS = (
    ("windows", r"windows|\bwin ?(?:7|8|8\.1|10|11|32|64)\b"),
    (
        "macos",
        r"mac ?os|\bos ?x\b|\bosx|darwin|macbook|\bmac\b|big sur|monterey|ventura|sonoma|sequoia|catalina|mojave",
    ),
    ("linux", r"linux|ubuntu|debian|centos|fedora|red ?hat|rhel|manjaro|\bmint\b|suse|rocky|pop!?_?os|colab|raspbian"),
)
# Said in a sentence: it counts least.
_SENTENCES = (
    ("windows", r"\b(?:windows|win) ?(?:7|8(?:\.1)?|10|11)(?:[_ ](?:64|x64|home|pro)\w{0,4})?(?!\w|\.\d)"),
    ("macos", r"\bon (?:(?:my|a|an) )?(?:mac ?os|mac(?:book)?|os ?x|m[1-4] mac)\b|\bm[1-4] (?:chip|mac\w{0,4})\b"),
)
_MACHINE = r"(?<!\w)(?:aarch64|arm64|armv[67]l?|x86_64)(?!\w)"
_SENTENCE_WORDS = ("windows", "win7", "win8", "win1", "win 1", "wsl", " mac", "m1 ", "m2 ", "m3 ", "m4 ", "os x")
_COLAB = r"\b(?:google colab|(?:in|on|with|using|from|use) (?:google )?colab)(?:oratory)?\b"
# It works there, or another place is compared with it.
_ELSEWHERE = r"\b(?:works?|worked|working|fine|local\w{0,3}|instead|unlike|should|could|try|recommend\w{0,2})\b|https?:"
_JETSON = r"\bjetson[ -](?:nano|orin|xavier|agx|tx[12]|thor)|\bjet ?pack\b"
_RELEASE = r"(?<![\d.])(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?(?:rc\d)?)(?![\d.]|-rc)"
_PYTHON = r"(?<![\d.])(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\d.])"
_CARD = (
    r"(?i:(?:nvidia |geforce |quadro |tesla ){0,3}(?:(?:rtx|gtx|gt) ?a?\d{3,4}m?(?: ?ti)?(?: super)?|[pvatkm]\d{1,3}0\b"
    r"|titan \w{1,5}))"
)
# Names of GeForce cards as people write them, in any spelling: rtx3060ti, 2080 Ti. Those of 000 are Quadros.
_GEFORCE = (
    r"(?:nvidia )?(?:geforce )?(?P<kind>[rg]tx?)?[ -]?(?P<number>(?!\d000)(?:\d{4}|[5-9]\d0))(?P<mobile>m)?"
    r"[ -]?(?P<ti>ti)?(?:[ -]?(?P<super>super))?"
)
# The first release counts: cuDNN's stands behind it.
_CUDA = (
    r"(?i:\W{0,3}(?:cuda(?: toolkit| version)?\W{0,3})?v?)(?P<version>(?:[789]|1[0-3])\.\d)(?:\.\d{1,3}){0,2}"
    r"(?![\d.])"
)
# `tf.test.is_built_with_cuda() returns False`, also in a comment behind the call and in a heading.
_BUILT = (
    r"is_buil[td]_with_cuda(?:\(\))?[)`'\"*]{0,3} {0,3}(?:returns?|gives?|is|shows?|prints?|:|=|#|->|=>)[ `'\"*]{0,4}"
    r"(?P<answer>true|false)\b"
)

# A person says that no GPU is listed, in English and other languages.
_CARD_WORD = "(?:gpus?|cuda|graphics? cards?|video cards?)"
_NO_GPU = (
    r"\b" + _CARD_WORD + r"\b[^.\r\n]{0,40}?\b(?:not|isn.?t|aren.?t|can.?t be|couldn.?t be|cannot be|never)\b"
    r"[^.\r\n]{0,12}?\b(?:detected|found|recogni[sz]ed|visible|available|listed|seen|identified|showing|show up)\b"
    r"|(?:\bnot|n.t|cannot|unable to|fail(?:s|ed)? to|trouble|problems?) (?:being able to )?(?:\w{2,8} )?(?:detect|"
    r"find|see|recogni[sz]|identify|list)\w{0,4}\b[^.\r\n]{0,30}?\b" + _CARD_WORD + r"\b"
    r"|trouble getting[^.\r\n]{0,20}\bgpu\b[^.\r\n]{0,12}\brecogni[sz]ed|\bno gpus? (?:is |are |was |were )?"
    r"(?:detected|found|available|listed)|returns? (?:an? )?empty (?:list|array)"
    # Chinese, Japanese and Korean
    "|(?:\u68c0\u6d4b|\u627e|\u8bc6\u522b)\u4e0d\u5230.{0,6}gpu|gpu.{0,6}(?:\u4e0d\u53ef\u7528|\u65e0\u6cd5\u4f7f\u7528)"
    "|\u6ca1\u6709(?:\u68c0\u6d4b|\u8bc6\u522b)\u5230.{0,6}gpu"
    "|gpu.{0,6}(?:\u8a8d\u8b58|\u691c\u51fa)(?:\u3055\u308c\u306a\u3044|\u3057\u306a\u3044|\u3067\u304d\u306a\u3044)"
    "|gpu.{0,8}(?:\uc778\uc2dd|\uac10\uc9c0).{0,6}(?:\uc548|\ubabb|\uc54a)"
    # Russian, Spanish, Portuguese, German and French
    "|\u043d\u0435 (?:\u0432\u0438\u0434\u0438\u0442|\u043d\u0430\u0445\u043e\u0434\u0438\u0442|"
    "\u043e\u043f\u0440\u0435\u0434\u0435\u043b\u044f\u0435\u0442).{0,20}(?:gpu|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442)"
    "|\bn(?:o|ao|\u00e3o) (?:me )?(?:detecta|reconoce|reconhece|encuentra|encontra)\b.{0,24}gpu"
    "|gpu.{0,20} nicht (?:erkannt|gefunden)|ne (?:d\u00e9tecte|trouve|reconna\u00eet) pas.{0,20}gpu"
)
_NO_GPU_WORDS = ("gpu", "cuda", "card", "empty", "\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442")
# One of these stands in each such sentence that is written in ASCII.
_NO_GPU_VERBS = (
    *("detect", "find", "found", "see", "reco", "identif", "list", "visible", "available", "show", "empty"),
    *("encuentra", "encontra", "nicht", "trouve"),
)
# Conditions, requests, other frameworks, and what software prints.
_NO_GPU_NOT = (
    "if ",
    "whether",
    "torch",
    "please ",
    ".cc:",
    "error",
    "warning",
    "find cuda drivers",
    "will not be used",
)


class Reader:
    """Reads one field a line, or a heading and the line below it."""

    def __init__(self) -> None:
        self._field = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        text = text.strip()
        if not text or text.startswith("```"):
            return
        if len(text) > LONGEST:
            self._field = ""
            if len(text) < LONGEST_SENTENCES:
                self._sentence(text.casefold(), at, seen)
            return
        field, self._field = self._field, ""
        if text[:1] in "#*" and (heading := text.strip("#*: ").casefold()) in FIELDS:
            self._field = FIELDS[heading]
            return
        if field:
            self._take(field, text, at, seen)
        else:
            named, value = _field(text)
            self._take(named, value, at, seen)
        self._sentence(text.casefold(), at, seen)

    def _take(self, field: str, value: str, at: str, seen: Seen) -> None:
        """Keep the value of a field, if it names one thing only."""
        found: set[str] = set()
        if field == "host.os":
            low = value.casefold()
            found = {system for system, pattern in _SYSTEMS if compiled(pattern).search(low)}
            found = {"linux"} if "wsl" in low else found
        elif field in ("tensorflow.version", "python.version"):
            pattern = _RELEASE if field == "tensorflow.version" else _PYTHON
            found = {match["version"] for match in compiled(pattern).finditer(value)}
            if field == "tensorflow.version" and "gpu" in value[:20].casefold():
                self._keep("tensorflow.distribution", "tensorflow-gpu", at, seen)
        elif field == "host.machine" and (match := compiled(_MACHINE).search(value)):
            found = {match[0]}
        elif field == "cuda" and (match := compiled(_CUDA).match(value)):
            found = {match["version"]}
        elif field == "gpu" and (match := compiled(_CARD).search(value)):
            found = {card_name(match[0])}
        if len(found) == 1:
            self._keep(field, found.pop(), at, seen)

    def _keep(self, field: str, value: str, at: str, seen: Seen) -> None:
        seen.hint(f"{KEY}{field}", f"{value}\n{at}")

    def _sentence(self, low: str, at: str, seen: Seen) -> None:
        """Take what a sentence says of the machine."""
        if any(word in low for word in _SENTENCE_WORDS):
            if "wsl" in low:
                seen.hint(f"{KEY}wsl", at)
            for system, pattern in _SENTENCES:
                if compiled(pattern).search(low) and not compiled(_ELSEWHERE).search(low):
                    self._keep("said host.os", system, at, seen)
        if (
            any(word in low for word in _NO_GPU_WORDS)
            and (not low.isascii() or any(verb in low for verb in _NO_GPU_VERBS))
            and not any(word in low for word in _NO_GPU_NOT)
            and compiled(_NO_GPU).search(low)
        ):
            seen.hint(f"{KEY}without gpu", at)
        if "raspberry" in low or "armhf" in low or "armv7" in low or "gnueabihf" in low:
            small = "armhf" in low or "armv7" in low or "gnueabihf" in low
            self._keep("host.machine", "armv7l" if small else "aarch64", at, seen)
        if "jet" in low and compiled(_JETSON).search(low):
            seen.hint(f"{KEY}jetson", at)
        if "colab" in low and compiled(_COLAB).search(low) and not compiled(_ELSEWHERE).search(low):
            seen.hint(COLAB_SAID, at)
        if "with_cuda" in low and (match := compiled(_BUILT).search(low)):
            self._keep("tensorflow.cuda_build", match["answer"], at, seen)


def card_name(text: str) -> str:
    """Return a card's name as the driver writes it, of what a person calls it: GeForce RTX 3060 Ti of rtx3060ti."""
    text = text.strip()
    match = compiled(_GEFORCE).fullmatch(text.casefold())
    if match is None or not (match["kind"] or match["ti"]):
        return text
    number = match["number"]
    kind = (match["kind"] or ("rtx" if len(number) == 4 and number >= "2000" else "gtx")).upper()  # noqa: PLR2004
    parts = ("GeForce", kind, f"{number}M" if match["mobile"] else number)
    return " ".join((*parts, *(("Ti",) if match["ti"] else ()), *(("SUPER",) if match["super"] else ())))


def _field(text: str) -> tuple[str, str]:
    """Return what a line like "- **Python version** (of the venv): 3.8" tells, and its value; empty where nothing."""
    name, colon, value = text.partition(":")
    if not colon:
        name, colon, value = text.partition("=")
    if not colon:
        name, colon, value = text.lstrip(" -").partition(" -")
    if not colon or len(name) > LONGEST_NAME or value[:1] == "=":
        return "", ""
    name = name.lstrip(" *_>#-.0123456789").partition("(")[0].strip(" *_").casefold()
    return FIELDS.get(name, ""), value.strip(" *_`'\"")
