"""Tells of which class a process is, and how much of a GPU's memory nobody in the list holds."""

from __future__ import annotations

import functools
import re

from gpudoctor.facts.model import Absent, Facts, Gpu, GpuProcess, HostFacts, Known, ProcessSight
from gpudoctor.processes import classes
from gpudoctor.processes.model import ProcessClass

MIB = 1024 * 1024
# Of a GPU's memory: from here on it is as good as all of it.
NEARLY_ALL = 0.85
# What the driver keeps for itself is counted as used by old NVMLs, and is up to about so much.
DRIVERS_OWN_BYTES = 256 * MIB
DRIVERS_OWN_SHARE = 0.02
# A GPU that is used less is free.
FREE_SHARE = 0.05
BUSY_PERCENT = 30
# The first process of a system or container: to end it ends all.
INIT = 1
# kernel-3f2a0c1e-....json; Visual Studio Code puts a v3 in front.
CONNECTION_FILE = re.compile(r"kernel-(?:v\d)?([0-9a-f][\w-]{0,80})\.json")
PLACES = {
    "docker": re.compile(r"docker[-/]([0-9a-f]{12})"),
    "podman": re.compile(r"libpod-([0-9a-f]{12})"),
    "slurm": re.compile(r"job_(\d+)"),
}
INTERPRETERS = ("python", "ipython", "jupyter", "pypy", "java", "node", "bash", "sh")
PYTHONS = ("python", "ipython", "jupyter", "pypy")


def class_of(process: GpuProcess, gpu: Gpu | None = None) -> ProcessClass:
    """Return the class of a process; gpu: the one that it is on, if its share of the memory is to count."""
    match process.sight:
        case ProcessSight.UNSEEN:
            return classes.UNSEEN
        case ProcessSight.GONE:
            return classes.ZOMBIE
        case ProcessSight.DEFUNCT:
            return classes.DEFUNCT
    if is_ours(process):
        return classes.OURS
    name = program_name(process)
    for row in classes.ROWS:
        if _fits(row, name, process):
            return row
    if not name.startswith(PYTHONS):
        return classes.OTHER
    share = share_of(process, gpu) if gpu is not None else 0.0
    if process.framework == "tensorflow" and share >= NEARLY_ALL:
        return classes.PREALLOCATED
    return {True: classes.MINE, False: classes.OTHERS, None: classes.SOMEONES}[process.own]


def program_name(process: GpuProcess) -> str:
    """Return the name of the program in lower case, without its folder."""
    return re.split(r"[/\\]", (process.name or "").strip())[-1].casefold()


def is_ours(process: GpuProcess) -> bool:
    """Whether gpudoctor itself has started it: its memory is accounted for, and it competes with nobody."""
    return process.name in classes.OURS.names


def share_of(process: GpuProcess, gpu: Gpu) -> float:
    """Return which part of a GPU's memory a process holds; 0 where it is not told."""
    total = gpu.memory_total_bytes.get()
    return process.memory_bytes / total if process.memory_bytes and total and total > 0 else 0.0


def unlisted_bytes(gpu: Gpu) -> int | None:
    """Return how much memory is in use by nothing that the driver lists; None where that cannot be told.

    What the driver itself may keep is not counted.
    """
    used, total = gpu.memory_used_bytes.get(), gpu.memory_total_bytes.get()
    if used is None or total is None:
        return None
    held = 0
    if isinstance(gpu.processes, Known):
        memory: dict[int, int] = {}
        for place, process in enumerate(gpu.processes.value):
            if process.memory_bytes is None:
                return None
            key = process.pid or -place
            memory[key] = max(process.memory_bytes, memory.get(key, 0))  # drawing and computing count the same
        held = sum(memory.values())
    rest = used - held
    return rest if rest > max(DRIVERS_OWN_BYTES, DRIVERS_OWN_SHARE * total) else 0


def unseen_class(host: HostFacts) -> ProcessClass:
    """Return the class of what cannot be seen, with the advice for this kind of machine."""
    if isinstance(host.wsl, Known):
        return classes.UNSEEN_IN_WSL
    if isinstance(host.container, Known):
        return classes.UNSEEN_IN_CONTAINER
    return classes.UNSEEN_ON_HOST if isinstance(host.container, Absent) else classes.UNSEEN


def free_gpu(facts: Facts, but: Gpu) -> Gpu | None:
    """Return another GPU that programs see and nobody uses."""
    for gpu in facts.gpus:
        used, total = gpu.memory_used_bytes.get(), gpu.memory_total_bytes.get()
        seen = gpu is not but and gpu.visible.get() is not False
        if seen and used is not None and total and used < FREE_SHARE * total:
            return gpu
    return None


def roomiest_gpu(facts: Facts, but: Gpu) -> Gpu | None:
    """Return another GPU that programs see, that has at least twice as much memory free and is not busy."""
    least = 2 * (but.memory_free_bytes.get() or 0)
    others = [gpu for gpu in facts.gpus if gpu is not but and gpu.visible.get() is not False
              and (gpu.utilization_percent.get() or 0) < BUSY_PERCENT]  # fmt: skip
    found = max(others, key=lambda gpu: gpu.memory_free_bytes.get() or 0, default=None)
    return found if found is not None and (found.memory_free_bytes.get() or 0) > least else None


def kernel_of(process: GpuProcess) -> str | None:
    """Return the number of a notebook's kernel, as its connection file has it."""
    found = CONNECTION_FILE.search(process.command_line or "")
    return found[1] if found else None


def place_of(process: GpuProcess) -> str | None:
    """Return the container or job that a process runs in, by which one can find it: docker 0123456789ab."""
    group = process.control_group or ""
    for kind, pattern in PLACES.items():
        found = pattern.search(group) if process.container == kind else None
        if found:
            return f"Slurm job {found[1]}" if kind == "slurm" else f"{kind} {found[1]}"
    return process.container


def what_to_do(process: GpuProcess, found: ProcessClass) -> tuple[str, ...]:
    """Return the commands of a class with the values of a process: for the user to decide on."""
    parent = process.parent_pid or 0
    commands = [command for command in found.commands if parent > INIT or "{parent}" not in command]
    if process.pid <= 0:  # to kill 0 is to kill the user's own shell
        commands = [command for command in commands if "{pid}" not in command]
    if process.own is False:  # another user's process is not ours to end, nor are its settings ours to change
        commands = [classes.LOOK] if classes.END in commands else commands
        commands = [command for command in commands if not command.startswith("kill ")]
    values = {"pid": process.pid, "user": process.user or "USER", "parent": parent}
    return (*_where(process), *(command.format(**values) for command in commands))


def _where(process: GpuProcess) -> tuple[str, ...]:
    """Return what tells more of the container or job that a process runs in."""
    kind, _, number = (place_of(process) or "").rpartition(" ")
    show = {"docker": f"docker ps --filter id={number}", "podman": f"podman ps --filter id={number}",
            "Slurm job": f"scontrol show job {number}"}  # fmt: skip
    return (show[kind],) if kind in show else ()


def _fits(row: ProcessClass, name: str, process: GpuProcess) -> bool:
    if any(name.startswith(known[:-1]) if known.endswith("*") else name == known for known in row.names):
        return True
    words = process.command_line or process.name or ""
    if not row.words or (name.startswith(INTERPRETERS) and not row.interpreters):
        return False
    return _pattern(row.words).search(words) is not None


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)
