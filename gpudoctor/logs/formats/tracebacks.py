"""Python tracebacks: whether `import tensorflow` failed, and with what."""

from __future__ import annotations

from gpudoctor.facts.model import RunOutcome, TensorFlowRun
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
_AT_IMPORT = (
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "TypeError",
    "NameError",
    "SystemError",
    "OSError",
)


class Reader:
    """Follows the frames of one traceback to its last line."""

    def __init__(self) -> None:
        self._importing = False
        self._frames = 0

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "Traceback (most recent call last)" in text:
            self._importing, self._frames = False, 0
            return
        stripped = text.strip()
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
