"""nvidia-smi -L, its CSV queries, and nvidia-smi dmon."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer
from gpudoctor.logs.seen import Gpu, Seen, compiled

OPENERS = (b"(UUID: GPU-", b"--query-gpu", b"utilization.gpu", b"nvidia-smi dmon", b"# gpu  ")
MIB = 1024 * 1024

_LISTED = r"GPU (\d{1,3}): (\S.{1,60}?) \(UUID: (GPU-[0-9a-f-]{8,36})\)"
_QUERY = r"--query-gpu[= ]([\w.,]{2,400})"
_FIELDS = {
    "memory.used": ("memory_used_bytes", MIB),
    "memory.total": ("memory_total_bytes", MIB),
    "memory.free": ("memory_free_bytes", MIB),
    "utilization.gpu": ("utilization_percent", 1),
    "temperature.gpu": ("temperature_celsius", 1),
    "power.draw": ("power_mw", 1000),
    "power.limit": ("power_limit_mw", 1000),
    "enforced.power.limit": ("power_limit_mw", 1000),
    "clocks.sm": ("clock_sm_mhz", 1),
    "clocks.current.sm": ("clock_sm_mhz", 1),
    "clocks.max.sm": ("clock_sm_max_mhz", 1),
    "pcie.link.gen.current": ("pcie_generation", 1),
    "pcie.link.gen.max": ("pcie_generation_max", 1),
    "pcie.link.width.current": ("pcie_width", 1),
    "pcie.link.width.max": ("pcie_width_max", 1),
}
_SLOW_READINGS = ("utilization_percent", "clock_sm_mhz", "temperature_celsius", "power_mw", "memory_used_bytes",
                  "memory_free_bytes")  # fmt: skip
_REASON = (
    r"clocks_(?:throttle|event)_reasons\.(hw_thermal_slowdown|sw_thermal_slowdown|hw_power_brake_slow"
    r"down|hw_slowdown|sw_power_cap)"
)
_REASONS = {
    "hw_thermal_slowdown": "hw-thermal-slowdown",
    "sw_thermal_slowdown": "sw-thermal-slowdown",
    "hw_power_brake_slowdown": "hw-power-brake",
    "hw_slowdown": "hw-slowdown",
    "sw_power_cap": "sw-power-cap",
}
_COMPUTE = {"Default": "default", "Exclusive_Process": "exclusive-process", "Prohibited": "prohibited"}


class Reader:
    """Reads lists and tables of readings, which may be repeated (-l, dmon)."""

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._dmon: list[str] = []
        self._listed: Gpu | None = None

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "(UUID: GPU-" in text and (match := compiled(_LISTED).search(text)):
            seen.gpu(name=match[2], uuid=match[3], ordinal=int(match[1]), at=at)
            if not seen.command.startswith("sudo "):  # what root may do says nothing of this user
                seen.note("driver.nvml", ApiAnswer(outcome=Api.OK), at)
            self._listed = seen.gpu(uuid=match[3], at=at)
        elif "MIG " in text and "(UUID: MIG-" in text and self._listed is not None:
            self._listed.note("mig", True, at)
        elif "--query-gpu" in text and (match := compiled(_QUERY).search(text)):
            self._columns = match[1].split(",")
        elif text.lstrip().startswith(("# gpu", "#gpu", "#Time", "# Time", "#Date", "# Date")) and "gpu" in text:
            self._dmon = text.lstrip("# \t").split()
        elif ", " in text or (len(self._columns) == 1 and text.strip()[:1].isdecimal()):
            self._csv(text, at, seen)
        elif self._dmon and text.lstrip()[:1].isdecimal():
            self._reading(text.split(), seen)

    def _csv(self, text: str, at: str, seen: Seen) -> None:
        cells = [cell.strip() for cell in text.split(",")]
        names = [cell.partition(" [")[0] for cell in cells]
        if len(cells) > 1 and all(compiled(r"[a-z][\w.]{2,50}\Z").match(name) for name in names):
            if any(name in _FIELDS for name in names):
                self._columns = names
            return
        if len(cells) != len(self._columns):
            return
        row = dict(zip(self._columns, cells, strict=True))
        if not any(name in row for name in _FIELDS) and "name" not in row and "gpu_name" not in row:
            return
        name, index = row.get("name") or row.get("gpu_name"), row.get("index", "")
        if name is not None and not compiled(r"[A-Z][\w /().-]{2,60}\Z").match(name):
            return
        if name is None and not any(character.isdecimal() for character in text):
            return
        gpu = seen.gpu(
            address=row.get("pci.bus_id") or row.get("gpu_bus_id"),
            uuid=row.get("uuid") or row.get("gpu_uuid"),
            name=name,
            ordinal=int(index) if index.isdecimal() else None if name else 0,
            at=at,
        )
        self._fields(gpu, row, at, seen)

    def _fields(self, gpu: Gpu, row: dict[str, str], at: str, seen: Seen) -> None:
        for column, cell in row.items():
            known = _FIELDS.get(column)
            match = compiled(r"(\d{1,7}(?:\.\d{1,3})?) ?(?:%|[A-Z][A-Za-z]{0,2})?\Z").match(cell)
            if known is not None and match is not None:
                value = int(float(match[1]) * known[1])
                gpu.note(known[0], value, at)
                if known[0] in _SLOW_READINGS:
                    # Readings one after the other differ by nature: that is no contradiction.
                    gpu.facts[known[0]].values = gpu.facts[known[0]].values[-1:]
                if known[0] == "utilization_percent":
                    seen.sample("gpu-load", value)
            elif column == "driver_version" and compiled(r"\d{3}\.[\d.]{2,9}\Z").match(cell):
                seen.note("driver.version", cell, at)
            elif column == "compute_cap" and compiled(r"\d{1,2}\.\d\Z").match(cell):
                gpu.note("compute_capability", cell, at)
            elif column == "compute_mode" and cell in _COMPUTE:
                gpu.note("compute_mode", _COMPUTE[cell], at)
            elif column == "mig.mode.current" and cell in ("Enabled", "Disabled"):
                gpu.note("mig", cell == "Enabled", at)
            elif (reason := compiled(_REASON).match(column)) and cell in ("Active", "Not Active"):
                gpu.reasons[_REASONS[reason[1]]] = cell == "Active"
                gpu.note("throttle_reasons", tuple(name for name, on in gpu.reasons.items() if on), at)
                gpu.facts["throttle_reasons"].values = gpu.facts["throttle_reasons"].values[-1:]

    def _reading(self, cells: list[str], seen: Seen) -> None:
        """Take a row of dmon, or of pmon, which ends with the name of a process."""
        if len(cells) < len(self._dmon) or not all(compiled(r"[-:\d]{1,8}\Z").match(cell) for cell in cells[:2]):
            return
        row = dict(zip(self._dmon, cells, strict=False))
        load = row.get("sm", "-")
        if load.isdecimal() and int(load) <= 100 and row.get("gpu", "").isdecimal():  # noqa: PLR2004 (per cent)
            seen.sample("gpu-load", int(load))
            seen.recognised += 1
