"""nvidia-smi -q: keys and values, indented."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer
from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"NVSMI LOG", b"Product Name        ", b"Clocks Throttle Reasons", b"Clocks Event Reasons")
MIB = 1024 * 1024

_REASONS = {
    "sw power cap": "sw-power-cap",
    "hw slowdown": "hw-slowdown",
    "hw thermal slowdown": "hw-thermal-slowdown",
    "hw power brake slowdown": "hw-power-brake",
    "sw thermal slowdown": "sw-thermal-slowdown",
    "applications clocks setting": "applications-clocks",
    "idle": "gpu-idle",
}
_COMPUTE = {"default": "default", "exclusive_process": "exclusive-process", "prohibited": "prohibited",
            "exclusive_thread": "exclusive-thread"}  # fmt: skip
# Sections below "Volatile", and the errors there that could not be corrected: since driver 440, and before.
_VOLATILE = ("single bit", "double bit")
_UNCORRECTED = ("sram uncorrectable", "dram uncorrectable", "sram uncorrectable parity", "sram uncorrectable sec-ded")
_REPAIRS = {
    ("remapped rows", "pending"): "rows_pending",
    ("remapped rows", "remapping failure occurred"): "rows_failed",
    ("retired pages", "pending page blacklist"): "pages_pending",
    ("retired pages", "pending"): "pages_pending",
}
# From driver 610 on the parts of the driver are told apart: in the kernel, and for users' programs.
_VERSIONS = {
    "driver version": "driver.version",
    "kmd version": "driver.version",
    "cuda version": "driver.cuda_version",
    "cuda umd version": "driver.cuda_version",
}
_YES = {"enabled": True, "disabled": False}


class Reader:
    """Reads the keys below the heading of a GPU."""

    def __init__(self) -> None:
        self._gpu: Gpu | None = None
        self._section = ""
        self._volatile = False
        self._margin = ""
        """What stands before each line of a text that was pasted with a margin."""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "GPU 0" in text and (
            match := compiled(r"(\s{0,40})GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]{7,8})\s{0,4}\Z").match(text)
        ):
            self._margin = match[1]
            self._gpu, self._section = seen.gpu(address=match[2], at=at), ""
            return
        if (
            self._gpu is None
            and "Clocks " in text
            and (match := compiled(r"(\s{0,40}?)\s{0,4}Clocks (?:Throttle|Event) Reasons\s{0,4}\Z").match(text))
        ):  # a part of the output, without its head
            self._margin, self._gpu = match[1], seen.gpu(ordinal=0, at=at)
        if self._gpu is None and "ersion" not in text:
            return
        text = text.removeprefix(self._margin)
        if not text.lstrip()[:1].isupper():
            return
        match = compiled(r"(\s{2,24})?([A-Z][\w .()/]{1,50}?)\s{0,40}:(?: (.{0,120}))?\Z").match(text)
        if match is None:
            heading = compiled(r"\s{2,12}([A-Z][\w .()/]{2,40})\s{0,4}\Z").match(text)
            if heading is not None:
                self._section = heading[1].strip().casefold()
                # Counts since the driver was started stand before those of the card's whole life.
                self._volatile = self._section == "volatile" or (self._volatile and self._section in _VOLATILE)
            return
        key, value = match[2].strip().casefold(), (match[3] or "").strip()
        if key in _VERSIONS and compiled(r"\d{1,3}\.[\d.]{1,10}\Z").match(value):
            seen.note(_VERSIONS[key], value, at)
            if not seen.command.startswith("sudo "):  # what root may do says nothing of this user
                seen.note("driver.nvml", ApiAnswer(outcome=Api.OK), at)
        elif self._gpu is not None:
            self._key(self._gpu, key, value, at, seen)

    def _key(self, gpu: Gpu, key: str, value: str, at: str, seen: Seen) -> None:
        if key == "product name":
            gpu.note("name", value, at)
        elif key == "gpu uuid":
            gpu.note("uuid", value, at)
        elif key == "compute mode":
            if (mode := _COMPUTE.get(value.casefold())) is not None:
                gpu.note("compute_mode", mode, at)
        elif key in ("persistence mode",) and value.casefold() in _YES:
            gpu.note("persistence", _YES[value.casefold()], at)
        elif (self._section, key) in _REPAIRS and value in ("Yes", "No"):
            gpu.note(_REPAIRS[self._section, key], value == "Yes", at)
        elif key == "current" and self._section == "mig mode" and value.casefold() in _YES:
            gpu.note("mig", _YES[value.casefold()], at)
        elif key in _REASONS and value in ("Active", "Not Active"):
            gpu.reasons[_REASONS[key]] = value == "Active"
            gpu.note("throttle_reasons", tuple(name for name, on in gpu.reasons.items() if on), at)
            gpu.facts["throttle_reasons"].values = gpu.facts["throttle_reasons"].values[-1:]
        else:
            self._number(gpu, key, value, at, seen)

    def _number(self, gpu: Gpu, key: str, value: str, at: str, seen: Seen) -> None:
        match = compiled(r"(\d{1,7})(?:\.\d{1,3})? ?(MiB|%|C|W|MHz|x)?\Z").match(value)
        if match is None:
            return
        number, unit = int(match[1]), match[2]
        if self._volatile and (key in _UNCORRECTED or (self._section == "double bit" and key == "total")):
            before = gpu.value("ecc_uncorrected")
            gpu.note("ecc_uncorrected", number + (before if isinstance(before, int) else 0), at)
            gpu.facts["ecc_uncorrected"].values = gpu.facts["ecc_uncorrected"].values[-1:]
            return
        if self._section == "fb memory usage" and unit == "MiB" and key in ("total", "used", "free"):
            gpu.note(f"memory_{key}_bytes", number * MIB, at)
        elif key == "gpu" and self._section == "utilization" and unit == "%":
            gpu.note("utilization_percent", number, at)
            seen.sample("gpu-load", number)
        elif key == "gpu current temp":
            gpu.note("temperature_celsius", number, at)
        elif key in ("power draw", "average power draw", "instantaneous power draw"):
            gpu.note("power_mw", number * 1000, at)
        elif key in ("power limit", "current power limit"):
            gpu.note("power_limit_mw", number * 1000, at)
        elif key == "sm" and unit == "MHz" and self._section in ("clocks", "max clocks"):
            gpu.note("clock_sm_mhz" if self._section == "clocks" else "clock_sm_max_mhz", number, at)
        elif key in ("max", "current") and self._section in ("link width", "pcie generation"):
            name = "pcie_width" if self._section == "link width" else "pcie_generation"
            gpu.note(name + ("_max" if key == "max" else ""), number, at)
