"""Python tracebacks: whether `import tensorflow` failed, and with what."""

from __future__ import annotations

from gpudoctor.facts.model import LogEvent, RunOutcome, TensorFlowRun
from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"Traceback (most recent call last)", b"ImportError: ", b"ModuleNotFoundError: ")

_ERROR = (
    r"(?P<type>(?:[\w.]{1,80}\.)?(?:\w{2,40}Error|ModuleNotFoundError|Exception|SystemError|Attribute"
    r"Error)): (?P<text>[^\r\n]{1,300})"
)
_OWN_FRAMES = ("tensorflow/python/pywrap_tensorflow", "tensorflow\\python\\pywrap_tensorflow", "tensorflow/__init__",
               "tensorflow\\__init__", "tensorflow_core/__init__", "tensorflow_core\\__init__",
               "tensorflow_core\\python",
               "tensorflow/python/__init__", "tensorflow\\python\\__init__", "tensorflow/python/eager/context",
               "tensorflow/core/framework", "_pywrap_tensorflow", "tensorflow_core/python")  # fmt: skip
# A script of the user's own that bears the name of a package: its frame has no folder of packages in its path.
_OWN_FILE = r"File \"(?P<folder>[^\"\r\n]{0,200}?)(?P<name>tensorflow|keras)\.py\", line \d{1,6}, in <module>"
_PACKAGES = ("site-packages", "dist-packages", "tensorflow/", "tensorflow\\", "keras/", "keras\\")
# Python before 3.7 does not say from where a name could not be imported; the line above does.
_IMPORT = r"(?:-{1,5}> ?)?(?:\d{1,5} )?from (?P<module>[\w.]{1,120}) import (?P<names>[\w, ()]{1,200})"
_NAMELESS = r"cannot import name '?(?P<name>\w{1,80})'?\s{0,3}\Z"
_AT_IMPORT = (
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "TypeError",
    "NameError",
    "SystemError",
    "OSError",
)
# What shells print of a processor that lacks an instruction, in Spanish, Portuguese, German, Russian and Chinese.
_ILLEGAL = (
    "Instrucci\u00f3n ilegal", "Instru\u00e7\u00e3o ilegal", "Ung\u00fcltiger Maschinenbefehl",
    "\u041d\u0435\u0434\u043e\u043f\u0443\u0441\u0442\u0438\u043c\u0430\u044f "
    "\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446\u0438\u044f", "\u975e\u6cd5\u6307\u4ee4",
)  # fmt: skip


class Reader:
    """Follows the frames of one traceback to its last line."""

    def __init__(self) -> None:
        self._importing = False
        self._frames = 0
        self._imports: dict[str, str] = {}

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "Traceback (most recent call last)" in text:
            self._importing, self._frames = False, 0
            return
        stripped = text.strip()
        if not text.isascii() and any(words in text for words in _ILLEGAL):
            _event("process-illegal-instruction", at, seen)
        if "import " in stripped and (match := compiled(_IMPORT).match(stripped)):
            for name in match["names"].replace("(", " ").replace(")", " ").replace(",", " ").split():
                self._imports[name] = match["module"]
        own = compiled(_OWN_FILE).match(stripped) if stripped.startswith('File "') else None
        if own is not None and not any(part in own["folder"] for part in _PACKAGES):
            _event("tensorflow-shadowed", at, seen, file=own["name"])
        if stripped.startswith('File "') or " in <module>" in text:
            text = text.replace("horovod/tensorflow", "horovod").replace("horovod\\tensorflow", "horovod")
            self._frames += 1
            self._importing = self._importing or (
                any(frame in text for frame in _OWN_FRAMES) and ("<module>" in text or "swig_import_helper" in text)
            )
            return
        if stripped.startswith(("import tensorflow", "from tensorflow")) and self._frames:
            self._importing = self._importing or "from tensorflow.python" in stripped
            return
        match = compiled(_ERROR).match(stripped) if "Error" in text or "Exception" in text else None
        if match is not None:
            self._end(match["type"].rpartition(".")[2], match["text"].strip(), at, seen)

    def _end(self, kind: str, text: str, at: str, seen: Seen) -> None:
        nameless = compiled(_NAMELESS).match(text) if kind == "ImportError" else None
        module = self._imports.get(nameless["name"], "") if nameless else ""
        if module.startswith(("keras", "tensorflow.keras", "tensorflow.python.keras")):
            _event("keras-import-name", at, seen, name=nameless["name"] if nameless else "", module=module)
        elif module.startswith("tensorflow."):
            _event("tensorflow-mixed", at, seen)
        self._imports = {}
        missing = compiled(r"No module named '?(tensorflow)'?\s{0,3}\Z").match(text)
        if kind in ("ModuleNotFoundError", "ImportError") and missing:
            if not seen.value("tensorflow.version"):
                seen.note("tensorflow.version", None, at)
                seen.note("tensorflow.distribution", None, at)
        elif self._importing and kind in _AT_IMPORT:
            detail = f"{kind}: {text}"
            seen.note(
                "tensorflow.run", TensorFlowRun(outcome=RunOutcome.EXCEPTION, stage="importing", detail=detail), at
            )
        self._importing, self._frames = False, 0


def _event(message: str, at: str, seen: Seen, **parameters: str) -> None:
    """Take a message that no fixed text announces."""
    source, _, number = at.rpartition(":")
    seen.events.append(
        LogEvent(message=message, line=int(number) if number.isdecimal() else 0, source=source, parameters=parameters)
    )
    seen.recognised += 1
