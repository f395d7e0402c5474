"""A process on a GPU in a line or two, for the report of a machine and for the list of processes."""

from __future__ import annotations

from gpudoctor.facts.model import Gpu, GpuProcess, Known, ProcessSight, Unknown
from gpudoctor.processes.classify import class_of, unlisted_bytes
from gpudoctor.processes.sizes import size_text

SHOWN = 5
# A notebook's kernel holds its memory while nobody works in it; of other programs one expects that.
KERNEL = "notebook-kernel"
_UNSEEN = "name not visible from here"


def size(count: int | None) -> str:
    """Return a size: 200 MiB, 1.2 GiB; one that is not known is not 0."""
    return size_text(count, unknown="memory unknown")


def gpu_name(gpu: Gpu) -> str:
    """Return the name of a GPU; of one that only the PCI bus tells of, its number there."""
    device = gpu.pci_id.get()
    return gpu.name.get() or (f"PCI device 10de:{device}" if device else "a GPU without a name")


def age(seconds: int) -> str:
    """Return for how long something runs: 45 s, 3 min, 5 h, 2 days."""
    for limit, divisor, unit in ((172800, 86400, "days"), (7200, 3600, "h"), (120, 60, "min")):
        if seconds >= limit:
            return f"{seconds // divisor} {unit}"
    return f"{seconds} s"


def name_of(process: GpuProcess) -> str:
    """Return the name of the program, or why there is none."""
    if process.name:
        return process.name
    return "a process that has ended" if process.sight is ProcessSight.GONE else _UNSEEN


def owner_of(process: GpuProcess) -> str:
    """Return whose it is."""
    if process.user in ("me", "other"):  # as it stands in saved facts
        return "yours" if process.user == "me" else "another user's"
    if process.user:
        return f"user {process.user}"
    return {True: "yours", False: "another user's", None: ""}[process.own]


def title_of(process: GpuProcess, gpu: Gpu) -> str:
    """Return what kind of program it is; nothing where the name says that there is none to see."""
    if process.sight in (ProcessSight.UNSEEN, ProcessSight.GONE):
        return ""
    kind = class_of(process, gpu)
    load = gpu.utilization_percent.get() if process.utilization_percent is None else process.utilization_percent
    return f"{kind.title}, idle" if kind.id == KERNEL and load == 0 else kind.title


def listed(processes: tuple[GpuProcess, ...]) -> list[list[GpuProcess]]:
    """Return the processes, largest first; one that both draws and computes is there once, with both."""
    found: dict[int, list[GpuProcess]] = {}
    for place, process in enumerate(sorted(processes, key=lambda item: (-(item.memory_bytes or 0), item.pid))):
        found.setdefault(process.pid or -place - 1, []).append(process)
    return list(found.values())


def section(gpus: tuple[Gpu, ...]) -> tuple[bool, list[str]]:
    """Return the lines of a machine's report, and whether the processes of all GPUs are known."""
    known, lines = bool(gpus), []
    for number, gpu in enumerate(gpus):
        own, texts = _of_gpu(gpu)
        known = known and own
        lines += [f"GPU {number}: {text}" for text in texts]
    if not lines:
        return known, ["none on the GPU" if gpus else "no GPU to look at"]
    return known, lines


def _of_gpu(gpu: Gpu) -> tuple[bool, list[str]]:
    processes = gpu.processes
    if not isinstance(processes, Known):
        why = processes.reason if isinstance(processes, Unknown) else "not read"
        used = gpu.memory_used_bytes.get()
        return False, [why if used is None or why == "not read" else f"{why}; {size(used)} of its memory is in use"]
    found = listed(processes.value)
    lines = [_line(same, gpu) for same in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN} more")
    rest = unlisted_bytes(gpu)
    if rest:
        lines.append(f"{size(rest)} held by something that cannot be seen from here")
    return not rest, lines


def kinds_of(same: list[GpuProcess]) -> str:
    """Return in which ways one process uses a GPU."""
    return " and ".join(sorted({item.kind.value for item in same}))


def _line(same: list[GpuProcess], gpu: Gpu) -> str:
    process = same[0]
    title = title_of(process, gpu)
    more = f": {title}" if title else ""
    return f"{name_of(process)} (pid {process.pid}, {kinds_of(same)}), {size(process.memory_bytes)}{more}"
