"""What gpustat and nvtop show of GPUs."""

from __future__ import annotations

from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"gpustat", b"Device 0 [")
MIB = 1024 * 1024

_GPUSTAT = (
    r"\[(?P<index>\d{1,3})\] (?P<name>\S[^|\r\n]{2,50}?)\s{1,20}\|\s{0,6}(?P<heat>\d{1,3})[^\d|]{1,6},\s{0,4}"
    r"(?P<load>\d{1,3}) ?%[^|\r\n]{0,40}\|\s{0,6}(?P<used>\d{1,7}) ?/\s{0,6}(?P<total>\d{1,7}) MB"
)
_NVTOP = r"\s{0,4}Device (?P<index>\d{1,3}) \[(?P<name>[^\]\r\n]{2,60})\]"
_NVTOP_LOAD = r"GPU\[[|\s]{0,200}?(?P<load>\d{1,3})%\]"
_READINGS = ("utilization_percent", "memory_used_bytes", "temperature_celsius")


class Reader:
    """Reads lines that may be repeated: of readings the latest counts."""

    def __init__(self) -> None:
        self._gpu: Gpu | None = None

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "[" not in text:
            return
        if "| " in text and " MB" in text and (match := compiled(_GPUSTAT).search(text)):
            gpu = seen.gpu(name=match["name"].strip(), ordinal=int(match["index"]), at=at)
            gpu.note("memory_total_bytes", int(match["total"]) * MIB, at)
            found = (int(match["load"]), int(match["used"]) * MIB, int(match["heat"]))
            for name, value in zip(_READINGS, found, strict=True):
                _latest(gpu, name, value, at)
            seen.sample("gpu-load", int(match["load"]))
        elif "Device " in text and (match := compiled(_NVTOP).match(text)):
            self._gpu = seen.gpu(name=match["name"].strip(), ordinal=int(match["index"]), at=at)
        elif self._gpu is not None and "GPU[" in text and (match := compiled(_NVTOP_LOAD).search(text)):
            _latest(self._gpu, "utilization_percent", int(match["load"]), at)
            seen.sample("gpu-load", int(match["load"]))


def _latest(gpu: Gpu, name: str, value: int, at: str) -> None:
    """Take a reading: readings one after the other differ by nature, that is no contradiction."""
    gpu.note(name, value, at)
    gpu.facts[name].values = gpu.facts[name].values[-1:]
