"""The whole answer for a machine: every stack, all that is out, what would help, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import compat
from gpudoctor.compat import NotCovered, Os, version
from gpudoctor.plan.changes import Question, changes
from gpudoctor.plan.families import planned_gpu
from gpudoctor.plan.model import Answer, Excluded, Machine, PlannedGpu, Stack
from gpudoctor.plan.newer import judge_installed
from gpudoctor.plan.search import every_stack, stack_of
from gpudoctor.plan.wanted import wanted_releases


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants beside a stack that works."""

    tensorflow: str = ""
    """A specifier; empty: any release."""
    keep_driver: bool = False
    """Propose no other driver."""
    newest_driver: bool = False
    """Plan as if the newest driver that serves the GPU were installed."""
    distribution: str = ""
    """Id of the Linux distribution in os-release."""


def plan(machine: Machine, gpus: tuple[PlannedGpu, ...] = (), wish: Wish | None = None) -> Answer:
    """Every stack that works on the machine, best first. Raises NotCovered where no release fits the wish at all."""
    wish = wish or Wish()
    notes: list[str] = []
    if wish.newest_driver:
        machine = msgspec.structs.replace(machine, driver=None)
    wanted = wanted_releases(wish.tensorflow) if wish.tensorflow else None
    feasible, excluded = every_stack(machine, wanted)
    stacks = [stack_of(judged, machine) for judged in feasible]
    if machine.installed is not None and _admits(wish.tensorflow, machine.installed.tensorflow):
        own, note = judge_installed(machine.installed, machine)
        notes.append(note)
        stacks = [own, *stacks] if own is not None else stacks
    asked = Question(
        machine=machine,
        wanted=wanted,
        wish=wish.tensorflow,
        keep_driver=wish.keep_driver or wish.newest_driver,
        distribution=wish.distribution,
        found=feasible[0] if feasible else None,
    )
    return Answer(
        machine=machine,
        gpus=gpus,
        wanted=wish.tensorflow,
        stacks=tuple(stacks),
        excluded=excluded,
        changes=tuple(changes(asked)),
        notes=(*notes, *_notes(machine, gpus, wish)),
        open=tuple(_open(machine, wish)),
    )


def _admits(specifier: str, release: str) -> bool:
    if not specifier:
        return True
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(release, prereleases=True)


def _notes(machine: Machine, gpus: tuple[PlannedGpu, ...], wish: Wish) -> Iterator[str]:
    date = compat.tables_date()
    for gpu in {gpu.compute_capability: gpu for gpu in gpus}.values():
        if gpu.family is None:
            yield (
                f"Compute capability {gpu.compute_capability} is newer than my tables of {date}, or is in none of "
                "them: it is judged by the rules for native code and PTX."
            )
    for name in [gpu.name for gpu in gpus if not gpu.certain]:
        ask = "nvidia-smi --query-gpu=compute_cap --format=csv"
        yield f"The compute capability of {name} is not certain; `{ask}` tells."
    if machine.driver is not None and _is_newer_driver(machine.driver):
        yield f"Driver {machine.driver} is newer than my tables of {date}; drivers run programs of older CUDA releases."
    if machine.os is Os.MACOS:
        yield "Apple's own GPUs are used by the plug-in tensorflow-metal, which is not judged here."
    if wish.newest_driver:
        yield from _newest_driver(machine)


def _is_newer_driver(driver: str) -> bool:
    try:
        return version(driver).major > max(int(row.branch) for row in compat.driver_branches())
    except NotCovered:
        return False


def _newest_driver(machine: Machine) -> Iterator[str]:
    last = [gpu for cc in machine.compute_capabilities if (gpu := planned_gpu("", cc)).last_branch]
    if last:
        oldest = min(last, key=lambda gpu: int(gpu.last_branch or 0))
        yield f"Planned for the newest driver that serves {oldest.family} GPUs: branch {oldest.last_branch}."
    else:
        yield f"Planned for the newest driver in my tables: branch {compat.driver_branches()[0].branch}."


def _open(machine: Machine, wish: Wish) -> Iterator[str]:
    if not machine.compute_capabilities and not machine.no_gpu and machine.os is not Os.MACOS:
        yield "the GPU: whether a wheel has code for it is not judged"
    if machine.driver is None and not wish.newest_driver and not machine.no_gpu and machine.os is not Os.MACOS:
        yield "the driver: the least one is told for each release"
    if machine.pythons is None:
        yield "the Python: the ones that a release has wheels for are told"


def by_release(answer: Answer) -> tuple[Stack, ...]:
    """The best stack of each minor release (2.15), in the order of the answer."""
    found: dict[tuple[int, ...], Stack] = {}
    for stack in answer.stacks:
        found.setdefault(version(stack.tensorflow).release[:2], stack)
    return tuple(found.values())


class Group(msgspec.Struct, frozen=True):
    """Releases side by side that the same thing rules out.

    `detail` is that of the oldest, which is the next newer one above a stack; `of_newest` that of the newest.
    """

    newest: str
    oldest: str
    because: str
    detail: str
    of_newest: str


def grouped(excluded: tuple[Excluded, ...]) -> tuple[Group, ...]:
    """What is out, newest first, by reason."""
    found: list[Group] = []
    for entry in excluded:
        if found and found[-1].because == entry.because:
            found[-1] = Group(found[-1].newest, entry.tensorflow, entry.because, entry.detail, found[-1].of_newest)
        else:
            found.append(Group(entry.tensorflow, entry.tensorflow, entry.because, entry.detail, entry.detail))
    return tuple(found)


def excluded_above(answer: Answer) -> tuple[Excluded, ...]:
    """What is out and newer than the best stack; all of it where there is none."""
    if not answer.stacks:
        return answer.excluded
    best = version(answer.stacks[0].tensorflow)
    return tuple(entry for entry in answer.excluded if version(entry.tensorflow) > best)
