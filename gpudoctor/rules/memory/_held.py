"""Who holds a GPU's memory, what is left of it, and what can be done: for the rules about memory."""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.compat import Os
from gpudoctor.facts.model import Facts, Gpu, GpuProcess, ProcessSight
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import quote
from gpudoctor.processes import classes
from gpudoctor.processes.classify import (
    class_of,
    free_gpu,
    is_ours,
    roomiest_gpu,
    unlisted_bytes,
    unseen_class,
    what_to_do,
)
from gpudoctor.processes.sizes import GIB, MIB, size_text

# Below it, nobody would notice.
NOTICED_BYTES = 64 * MIB
LARGE_SHARE = 0.25
# A display server's 200 MB of 2 GB; the same of 8 GB leaves enough for what such a GPU is bought for.
SMALL_SHARE, SMALL_REST_BYTES = 0.08, 4 * GIB
BUSY_PERCENT = 10
_SHOWN, _REMEDIES = 4, 3
_WORTH_A_REMEDY = 0.15
_OF_MINE = (classes.MINE, classes.PREALLOCATED)


class Held(Struct, frozen=True, kw_only=True):
    """What is taken of one GPU. processes: one for each number, largest first; sizes in bytes."""

    processes: tuple[GpuProcess, ...]
    unlisted: int
    size: int
    total: int
    left: int

    @property
    def share(self) -> float:
        """Return which part of the memory is taken."""
        return self.size / self.total

    @property
    def weighs(self) -> bool:
        """Whether a training would notice."""
        return self.share >= LARGE_SHARE or (self.share >= SMALL_SHARE and self.left < SMALL_REST_BYTES)


def held(gpu: Gpu) -> Held:
    """Return what is taken of a GPU. Raises FactUnavailable where its processes or its size are not known."""
    largest: dict[int, GpuProcess] = {}
    for place, process in enumerate(gpu.processes.require()):
        if is_ours(process):
            continue
        key = process.pid or -place - 1
        if key not in largest or (process.memory_bytes or 0) > (largest[key].memory_bytes or 0):
            largest[key] = process
    processes = sorted(largest.values(), key=lambda item: -(item.memory_bytes or 0))
    total, unlisted = max(1, gpu.memory_total_bytes.require()), unlisted_bytes(gpu) or 0
    size = unlisted + sum(item.memory_bytes or 0 for item in processes)
    if any(item.memory_bytes is None for item in processes):  # Windows does not tell what each holds
        size = max(size, gpu.memory_used_bytes.get() or 0)
    free = gpu.memory_free_bytes.get()
    left = free if free is not None else max(0, total - max(size, gpu.memory_used_bytes.get() or 0))
    return Held(processes=tuple(processes), unlisted=unlisted, size=size, total=total, left=left)


def is_the_training(found: Held, gpu: Gpu) -> bool:
    """Whether all that weighs may be the very training that the user asks about: it is theirs, and it computes."""
    load = gpu.utilization_percent.get()
    heavy = [item for item in found.processes if (item.memory_bytes or 0) >= SMALL_SHARE * found.total]

    def computes(item: GpuProcess) -> bool:
        percent = load if item.utilization_percent is None else item.utilization_percent
        return percent is None or percent >= BUSY_PERCENT

    mine = [item for item in heavy if item.own and class_of(item, gpu) in _OF_MINE and computes(item)]
    return bool(mine) and len(mine) == len(heavy) and found.unlisted < SMALL_SHARE * found.total


def who(found: Held, gpu: Gpu) -> str:
    """Return who holds the memory, largest first."""
    texts = [_one(item, gpu) for item in found.processes[:_SHOWN]]
    more = len(found.processes) - _SHOWN
    if more > 0:
        texts.append(f"{more} more")
    if found.unlisted:
        texts.append(f"something that cannot be seen from here ({size_text(found.unlisted)})")
    return ", ".join(texts)


def _one(item: GpuProcess, gpu: Gpu) -> str:
    gone = item.sight is ProcessSight.GONE
    title = "" if gone else class_of(item, gpu).title
    parts = [title, f"pid {item.pid}" if item.pid else "no pid", size_text(item.memory_bytes)]
    name = item.name or ("a process that has ended" if gone else "a process")
    return f"{name} ({', '.join(part for part in parts if part)})"


def remedies(facts: Facts, gpu: Gpu, found: Held) -> tuple[Remedy, ...]:
    """Return what can be done about those that hold most; a command is for the user to decide on."""
    made = []
    free, unseen = free_gpu(facts, gpu), unseen_class(facts.host)
    other = free if free is not None else roomiest_gpu(facts, gpu)
    for item in found.processes[:_REMEDIES]:
        # A driver that does not tell sizes leaves each of them a suspect.
        if item.memory_bytes is not None and item.memory_bytes < _WORTH_A_REMEDY * found.size:
            continue
        kind = class_of(item, gpu)
        kind = unseen if kind is classes.UNSEEN else kind
        commands = what_to_do(item, kind)
        if other is not None or len(facts.gpus) == 1:  # named below, or there is none
            commands = tuple(command for command in commands if classes.FREE_GPU not in command)
        made.append(
            Remedy(
                summary=f"{item.name or 'The process'} (pid {item.pid}): {kind.advice}",
                commands=commands,
                applicability=Applicability.MANUAL,
            )
        )
    if found.unlisted >= _WORTH_A_REMEDY * found.size and not any(
        item.sight is ProcessSight.UNSEEN for item in found.processes
    ):
        made.append(
            Remedy(
                summary=f"Memory without a listed process: {unseen.advice}",
                commands=unseen.commands,
                applicability=Applicability.MANUAL,
            )
        )
    if other is not None and other.uuid.get():
        made.append(
            Remedy(
                summary=_another(facts, other, free=free is not None),
                commands=(f"export CUDA_VISIBLE_DEVICES={quote(other.uuid.require(), Os.LINUX)}",),
                applicability=Applicability.SAFE,
            )
        )
    return tuple(made)


def _another(facts: Facts, other: Gpu, *, free: bool) -> str:
    number = next(place for place, gpu in enumerate(facts.gpus) if gpu is other)
    name = f"GPU {number}, {other.name.get() or 'without a name'}"
    if free:
        return f"Use a GPU that nobody uses: {name}."
    return f"Use the GPU that has more memory free: {name}, {size_text(other.memory_free_bytes.get())}."
