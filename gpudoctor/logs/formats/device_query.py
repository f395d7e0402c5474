"""deviceQuery of the CUDA samples: the GPUs that CUDA sees."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer
from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"CUDA Driver Version / Runtime Version", b"CUDA Device Query", b"cudaGetDeviceCount returned")
MIB = 1024 * 1024
NO_DEVICE, INSUFFICIENT = 100, 35
# cudaError_t of the runtime, and what the driver calls the same.
_NAMES = {NO_DEVICE: "CUDA_ERROR_NO_DEVICE", INSUFFICIENT: "CUDA_ERROR_INSUFFICIENT_DRIVER", 999: "CUDA_ERROR_UNKNOWN"}
_OLD_NO_DEVICE = 38

_DEVICE = r"\s{0,40}Device (?P<index>\d{1,2}): \"(?P<name>[^\"\r\n]{2,60})\"\s{0,4}\Z"
_VERSIONS = r"\s{0,40}CUDA Driver Version / Runtime Version\s{1,40}(?P<driver>\d{1,2}\.\d) / (?P<runtime>\d{1,2}\.\d)"
_CAPABILITY = r"\s{0,40}CUDA Capability Major/Minor version number:\s{1,20}(?P<capability>\d{1,2}\.\d)"
_MEMORY = r"\s{0,40}Total amount of global memory:\s{1,40}(?P<mib>\d{1,7}) MBytes"
_FAILED = r"cudaGetDeviceCount returned (?P<code>\d{1,3})"


class Reader:
    """Reads keys and values below the name of a device."""

    def __init__(self) -> None:
        self._gpu: Gpu | None = None

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "cudaGetDeviceCount returned" in text and (match := compiled(_FAILED).search(text)):
            code = int(match["code"])
            code = NO_DEVICE if code == _OLD_NO_DEVICE else code
            answer = ApiAnswer(outcome=Api.ERROR, code=code, name=_NAMES.get(code, ""))
            seen.note("driver.cuda_init", answer, at)
        elif "Device " in text and '"' in text and (match := compiled(_DEVICE).match(text)):
            self._gpu = seen.gpu(name=match["name"], ordinal=int(match["index"]), at=at)
            seen.note("driver.cuda_init", ApiAnswer(outcome=Api.OK), at)
        elif self._gpu is None:
            return
        elif "CUDA Driver Version / Runtime" in text and (match := compiled(_VERSIONS).match(text)):
            seen.note("driver.cuda_version", match["driver"], at)
        elif "CUDA Capability Major" in text and (match := compiled(_CAPABILITY).match(text)):
            self._gpu.note("compute_capability", match["capability"], at)
        elif "global memory" in text and (match := compiled(_MEMORY).match(text)):
            self._gpu.note("memory_total_bytes", int(match["mib"]) * MIB, at)
