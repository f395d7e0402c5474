"""What would have to change for more to work: the Python, the driver, the system, the wish, and last the GPU's use."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import compat
from gpudoctor.compat import Os, version
from gpudoctor.plan.cpu import cpu_stack
from gpudoctor.plan.driver import DRIVER_PAGE, commands_by_distribution, driver_commands
from gpudoctor.plan.families import planned_gpu
from gpudoctor.plan.model import Change, ChangeKind, Machine, Stack
from gpudoctor.plan.search import Judged, best, better

BLACKWELL = (10, 0)
Wanted = frozenset[str] | None
WSL_COMMANDS = ("wsl --install", "wsl --update")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the changes are looked for."""

    machine: Machine
    wanted: Wanted
    wish: str
    keep_driver: bool
    distribution: str
    found: Judged | None
    """The best release as things are."""


def changes(asked: Question) -> Iterator[Change]:
    """Changes that allow a better stack than the best one at hand, or any; the nearest first."""
    single = list(_single(asked))
    yield from single
    if asked.found is not None:
        return
    if not single:
        yield from _driver_and_python(asked)
    yield from _other_release(asked)
    yield from _builds_of_nvidia(asked)
    yield from _cpu(asked.machine)


def _single(asked: Question) -> Iterator[Change]:
    yield from _python(asked)
    yield from _container(asked)
    yield from _driver(asked)
    yield from _wsl2(asked)


def _with(machine: Machine, **changed: object) -> Machine:
    return msgspec.structs.replace(machine, **changed)


def _python(asked: Question) -> Iterator[Change]:
    if asked.machine.pythons is None:
        return
    stack = better(_with(asked.machine, pythons=None), asked.found, asked.wanted)
    if stack is not None:
        summary = f"With Python {_pythons(stack)}: TensorFlow {stack.tensorflow}."
        yield Change(kind=ChangeKind.PYTHON, summary=summary, stack=stack)


def _container(asked: Question) -> Iterator[Change]:
    if asked.machine.os is not Os.LINUX or asked.machine.glibc is None:
        return
    stack = better(_with(asked.machine, glibc=None), asked.found, asked.wanted)
    if stack is not None:
        stack = msgspec.structs.replace(stack, container=True)
        summary = f"In a container, whose glibc is newer than {asked.machine.glibc}: TensorFlow {stack.tensorflow}."
        yield Change(kind=ChangeKind.CONTAINER, summary=summary, stack=stack)


def driver_wish(machine: Machine, least: str) -> tuple[str, str | None]:
    """Which driver to install, as words, and the branch where the newest does not serve the GPU."""
    last = [gpu.last_branch for cc in machine.compute_capabilities if (gpu := planned_gpu("", cc)).last_branch]
    if not last:
        return f"driver {least} or newer", None
    branch = min(last, key=int)
    families = ", ".join(sorted({planned_gpu("", cc).family or "" for cc in machine.compute_capabilities}))
    return f"driver {least} or newer, up to branch {branch} (the last that serves {families} GPUs)", branch


def _driver_change(kind: ChangeKind, asked: Question, stack: Stack, python: str = "") -> Change:
    wish, branch = driver_wish(asked.machine, stack.driver_min)
    linux, known = asked.machine.os is Os.LINUX, bool(asked.distribution)
    return Change(
        kind=kind,
        summary=f"With {wish}{python}: TensorFlow {stack.tensorflow}.{_where(asked.machine.os)}",
        stack=stack,
        commands=driver_commands(asked.distribution, branch) if linux and known else (),
        by_distribution=commands_by_distribution(branch) if linux and not known else {},
    )


def _driver(asked: Question) -> Iterator[Change]:
    if asked.machine.driver is None or asked.keep_driver:
        return
    stack = better(_with(asked.machine, driver=None), asked.found, asked.wanted)
    if stack is not None:
        yield _driver_change(ChangeKind.DRIVER, asked, stack)


def _where(os: Os) -> str:
    return f" It is installed on Windows, from {DRIVER_PAGE}." if os in {Os.WINDOWS, Os.WSL2} else ""


def _wsl2(asked: Question) -> Iterator[Change]:
    if asked.machine.os is not Os.WINDOWS:
        return
    stack = better(_with(asked.machine, os=Os.WSL2, pythons=None, glibc=None), asked.found, asked.wanted)
    if stack is not None:
        summary = (
            f"Under WSL2, with Python {_pythons(stack)}: TensorFlow {stack.tensorflow}. It needs Windows 10 build "
            "19044 or newer; the driver stays the one of Windows."
        )
        yield Change(kind=ChangeKind.WSL2, summary=summary, stack=stack, commands=WSL_COMMANDS)


def _driver_and_python(asked: Question) -> Iterator[Change]:
    if asked.machine.driver is None or asked.machine.pythons is None or asked.keep_driver:
        return
    stack = better(_with(asked.machine, driver=None, pythons=None), None, asked.wanted)
    if stack is not None:
        yield _driver_change(ChangeKind.DRIVER_AND_PYTHON, asked, stack, f", and Python {_pythons(stack)}")


def _other_release(asked: Question) -> Iterator[Change]:
    """Without the constraint, as things are or else with another Python."""
    if asked.wanted is None:
        return
    for machine in (asked.machine, _with(asked.machine, pythons=None)):
        found, _ = best(machine)
        if found is not None:
            release = found.wheel.tensorflow
            stack = better(machine, None, frozenset({release}))
            python = "" if machine == asked.machine or stack is None else f", with Python {_pythons(stack)}"
            summary = f"Another TensorFlow than {asked.wish}: {release}{python}."
            yield Change(kind=ChangeKind.TENSORFLOW, summary=summary, stack=stack)
            return


def _builds_of_nvidia(asked: Question) -> Iterator[Change]:
    machine = asked.machine
    newest = f"No published wheel to {compat.newest_release()} (my tables of {compat.tables_date()})"
    if machine.os in {Os.LINUX, Os.WSL2} and machine.machine.lower() in {"aarch64", "arm64"}:
        summary = f"{newest} is a CUDA build for aarch64: use NVIDIA's builds for Jetson and Grace, or its containers."
        yield Change(kind=ChangeKind.NVIDIA_BUILD, summary=summary)
    elif machine.os is not Os.MACOS and any(compat.capability(cc) >= BLACKWELL for cc in machine.compute_capabilities):
        inside = " under WSL2" if machine.os is Os.WINDOWS else ""
        summary = (
            f"{newest} has native code for this GPU. Use NVIDIA's TensorFlow container (25.02 or newer){inside}, or a "
            "build from source with CUDA 12.8 or newer. Which versions such a container holds is not in my tables."
        )
        yield Change(kind=ChangeKind.NVIDIA_BUILD, summary=summary)


def _cpu(machine: Machine) -> Iterator[Change]:
    stack = (
        cpu_stack(machine)
        or cpu_stack(_with(machine, pythons=None))
        or cpu_stack(_with(machine, pythons=None, glibc=None))
    )
    if stack is not None:
        python = "" if stack.pythons_at_hand else f", with Python {_pythons(stack)}"
        summary = f"On the CPU: TensorFlow {stack.tensorflow}{python}. The GPU is not used."
        yield Change(kind=ChangeKind.CPU, summary=summary, stack=stack)


def _pythons(stack: Stack) -> str:
    found = sorted(stack.pythons_at_hand or stack.pythons, key=version)
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
