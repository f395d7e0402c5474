"""nvidia-smi without arguments: the table, in all layouts since 375."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer, GpuProcess, LogEvent, ProcessKind
from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"NVIDIA-SMI ", b"| Processes:", b"GPU-Util  Compute M.")
MIB = 1024 * 1024

_HEAD = (
    r"NVIDIA-SMI (?P<smi>\d[\d.]{2,14}).{0,40}?(?:Driver|KMD) Version: ?(?P<driver>\d[\d.]{2,14})"
    r"(?:.{0,40}?CUDA (?:UMD )?Version: ?(?P<cuda>\d{1,2}\.\d{1,2}|N/A|ERR!))?"
)
_GPU = (
    r"\|\s{1,6}(?P<index>\d{1,3})\s{1,4}(?P<name>\S.{1,60}?)\s{1,30}(?P<mode>On|Off|WDDM|TCC|MCDM|N/A)\s{0,4}\|"
    r"\s{0,4}(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|N/A)\s{1,9}(?P<display>On|Off|N/A)\s{0,4}\|"
    r"\s{0,22}(?P<ecc>\d+|Off|N/A|On|ERR!)\s{0,4}\|"
)
_STATE = (
    r"\|\s{0,4}(?:\d{1,3}%|N/A|ERR!)?\s{1,6}(?P<heat>\d{1,3})C\s{1,4}(?P<state>P\d{1,2}|N/A|ERR!)\s{1,24}"
    r"(?P<power>\d{1,4}|N/A|ERR!|Unknown Error)W?\s{0,3}/\s{0,4}(?P<limit>\d{1,4}|N/A|ERR!)W?\s{0,4}\|\s{0,8}"
    r"(?P<used>\d{1,7})MiB\s{0,3}/\s{0,5}(?P<total>\d{1,7})MiB\s{0,4}\|\s{0,6}(?P<load>\d{1,3}|N/A|ERR!)%?\s{1,8}"
    r"(?P<compute>[A-Za-z][\w. ]{1,20}?)\s{0,4}\|"
)
_PROCESS = (
    r"\|\s{1,6}(?P<gpu>\d{1,3})\s{1,6}(?:(?:N/A|\d{1,3})\s{1,4}(?:N/A|\d{1,3})\s{1,9})?(?P<pid>\d{1,8})\s{1,6}"
    r"(?P<kind>M\+C|C\+G|C|G)\s{1,6}(?P<name>\S.{0,90}?)\s{1,60}(?P<memory>\d{1,7}MiB|N/A)\s{0,4}\|"
)
_KINDS = {"C": ProcessKind.COMPUTE, "C+G": ProcessKind.COMPUTE, "G": ProcessKind.GRAPHICS, "M+C": ProcessKind.MPS}
_COMPUTE = {"default": "default", "e. process": "exclusive-process", "prohibited": "prohibited", "e. thread":
            "exclusive-thread", "exclusive": "exclusive-process"}  # fmt: skip


class Reader:
    """Reads one table after the other; a later one tells the later state."""

    def __init__(self) -> None:
        self._gpu: Gpu | None = None
        self._in_table: dict[int, Gpu] = {}
        self._lines_of_gpu = 0

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "NVIDIA-SMI" in text:
            self._head(text, at, seen)
        text = text.lstrip()
        if not text.startswith("|") and "|" not in text[:8]:
            return
        text = text[text.index("|") :]
        if "MiB" in text and "/" in text and self._state(text, at, seen):
            return
        if "Processes:" in text:
            for gpu in self._in_table.values():
                gpu.processes = None
        elif "No MIG devices found" in text:
            for gpu in self._in_table.values():
                if gpu.value("mig"):
                    gpu.note("mig_instances", (), at)
        elif "No running processes found" in text:
            for gpu in self._in_table.values():
                gpu.note("processes", (), at)
        elif "MiB" in text or "WDDM" in text or "On" in text or "Off" in text or "N/A" in text or "Enabled" in text:
            self._row(text, at, seen)

    def _head(self, text: str, at: str, seen: Seen) -> None:
        match = compiled(_HEAD).search(text)
        if match is None:
            return
        self._in_table, self._gpu = {}, None
        seen.note("driver.version", match["driver"], at)
        if not seen.command.startswith("sudo "):  # what root may do says nothing of this user
            seen.note("driver.nvml", ApiAnswer(outcome=Api.OK), at)
        if match["cuda"]:  # N/A and ERR!: nvidia-smi does not find libcuda
            seen.note("driver.cuda_version", match["cuda"] if match["cuda"][0].isdecimal() else None, at)

    def _row(self, text: str, at: str, seen: Seen) -> None:
        match = compiled(_GPU).match(text)
        if match is None:
            process = compiled(_PROCESS).match(text)
            if process is not None:
                self._process(int(process["gpu"]), process.groupdict(), at)
            elif self._gpu is not None and self._lines_of_gpu == 1 and text.rstrip(" |").endswith("Enabled"):
                self._gpu.note("mig", True, at)
            return
        index, address = int(match["index"]), match["address"]
        gpu = seen.gpu(address=None if address == "N/A" else address, name=match["name"].strip(), ordinal=index, at=at)
        self._gpu, self._lines_of_gpu = gpu, 0
        self._in_table[index] = gpu
        seen.note("driver.nvml_device_count", len(self._in_table), at)
        seen.facts["driver.nvml_device_count"].values = seen.facts["driver.nvml_device_count"].values[-1:]
        mode = match["mode"]
        if mode in ("WDDM", "TCC", "MCDM"):
            gpu.note("driver_model", mode, at)
            seen.hint("windows", at)
        elif mode in ("On", "Off"):
            gpu.note("persistence", mode == "On", at)
            seen.hint("linux", at)
        if match["display"] in ("On", "Off"):
            gpu.note("display_active", match["display"] == "On", at)
        if match["ecc"].isdecimal() or match["ecc"] == "Off":
            gpu.note("ecc", match["ecc"] != "Off", at)
        if "ERR!" in text:
            self._broken(at, seen)

    def _state(self, text: str, at: str, seen: Seen) -> bool:
        match = compiled(_STATE).match(text)
        if match is None or self._gpu is None:
            return False
        gpu, self._lines_of_gpu = self._gpu, 1
        gpu.note("temperature_celsius", int(match["heat"]), at)
        for name, key in (("power_mw", "power"), ("power_limit_mw", "limit")):
            if match[key].isdecimal():
                gpu.note(name, int(match[key]) * 1000, at)
        used, total = int(match["used"]) * MIB, int(match["total"]) * MIB
        gpu.note("memory_used_bytes", used, at)
        gpu.note("memory_total_bytes", total, at)
        gpu.note("memory_free_bytes", max(0, total - used), at)
        if match["load"].isdecimal():
            gpu.note("utilization_percent", int(match["load"]), at)
            seen.sample("gpu-load", int(match["load"]))
        mode = _COMPUTE.get(match["compute"].strip().casefold())
        if mode:
            gpu.note("compute_mode", mode, at)
        if "ERR!" in text or "Unknown Error" in text:
            self._broken(at, seen)
        return True

    def _process(self, index: int, parts: dict[str, str], at: str) -> None:
        gpu = self._in_table.get(index)
        if gpu is None:
            return
        memory = parts["memory"].removesuffix("MiB")
        process = GpuProcess(
            pid=int(parts["pid"]),
            kind=_KINDS[parts["kind"]],
            memory_bytes=int(memory) * MIB if memory.isdecimal() else None,
            name=parts["name"].strip(),
        )
        gpu.processes = [*(gpu.processes or []), process][:64]
        gpu.note("processes", tuple(gpu.processes), at)
        gpu.facts["processes"].values = gpu.facts["processes"].values[-1:]

    def _broken(self, at: str, seen: Seen) -> None:
        source, _, number = at.rpartition(":")
        if number.isdecimal():
            seen.events.append(LogEvent(message="gpu-lost", line=int(number), source=source))
