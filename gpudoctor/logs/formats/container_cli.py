"""nvidia-container-cli info: the driver and the GPUs of a container's host."""

from __future__ import annotations

from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"NVRM version: ", b"Bus Location: ")

_KEY = (
    r"\s{0,40}(?P<key>NVRM version|CUDA version|Device Index|Model|GPU UUID|Bus Location|Architecture):\s{1,20}"
    r"(?P<value>\S.{0,60}?)\s{0,4}\Z"
)
_WORDS = ("ersion:", "Device Index:", "Model:", "GPU UUID:", "Bus Location:", "Architecture:")


class Reader:
    """Reads keys and values below the driver's version."""

    def __init__(self) -> None:
        self._begun = False
        self._name: tuple[str, str] | None = None
        self._gpu: Gpu | None = None
        self._uuid = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if ":" not in text or not any(word in text for word in _WORDS):
            return
        match = compiled(_KEY).match(text)
        if match is None:
            return
        key, value = match["key"], match["value"]
        if key == "NVRM version" and compiled(r"\d{3}\.[\d.]{2,9}\Z").match(value):
            self._begun = True
            seen.note("driver.version", value, at)
        elif not self._begun:
            return
        elif key == "CUDA version" and compiled(r"\d{1,2}\.\d\Z").match(value):
            seen.note("driver.cuda_version", value, at)
        elif key == "Device Index":
            self._name, self._gpu, self._uuid = None, None, ""
        elif key == "Model":
            self._name = (value, at)
        elif key == "GPU UUID":
            self._uuid = value
        elif key == "Bus Location" and self._name is not None and compiled(r"[0-9A-Fa-f:]{7,16}\.\d\Z").match(value):
            self._gpu = seen.gpu(address=value, uuid=self._uuid or None, name=self._name[0], at=at)
        elif key == "Architecture" and self._gpu is not None and compiled(r"\d{1,2}\.\d\Z").match(value):
            self._gpu.note("compute_capability", value, at)
