"""The search: every stable release is judged, the best one that nothing rules out is the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor import compat
from gpudoctor.compat import CodeAnswer, GpuCode, NotCovered, Os, Trust, version
from gpudoctor.compat.rows import Wheel
from gpudoctor.plan.families import branch_objection, no_common_branch
from gpudoctor.plan.model import Excluded, Machine, Plan, Stack
from gpudoctor.plan.stack import build_stack

NATIVE = (GpuCode.NATIVE, GpuCode.NATIVE_PARTIAL)
ORDER = tuple(GpuCode)


class Judged(msgspec.Struct, frozen=True):
    """A CUDA wheel for a machine: the code for its GPUs (the worst of them), and what rules it out."""

    wheel: Wheel
    code: CodeAnswer | None
    objection: Excluded | None


def platform_of(machine: Machine) -> str:
    """The platform whose wheels run on the machine, as the tables name it."""
    arm = machine.machine.lower() in {"aarch64", "arm64"}
    if machine.os is Os.WINDOWS:
        return "win-amd64"
    if machine.os is Os.MACOS:
        return "macos-arm64" if arm else "macos-x86_64"
    return "linux-aarch64" if arm else "linux-x86_64"


def _worst_code(wheel: Wheel, capabilities: Sequence[str]) -> CodeAnswer | None:
    """How the wheel serves the GPU that it serves worst; None when no GPU is given. Raises NotCovered."""
    answers = [compat.gpu_code_of_release(wheel.tensorflow, wheel.platform, cc) for cc in capabilities]
    return max(answers, key=lambda answer: ORDER.index(answer.code), default=None)


def _which(capabilities: Sequence[str]) -> str:
    """What a report about PTX is of: these GPUs, or those before one that no table knows."""
    try:
        for cc in capabilities:
            compat.family_of(cc)
    except NotCovered:
        return "GPUs from Blackwell on"
    return "this GPU"


def _code_objection(code: CodeAnswer | None, capabilities: Sequence[str]) -> tuple[str, str] | None:
    if code is None:
        return None
    if code.confidence is Trust.LOW:
        return "low-confidence", f"{code.reason}, known with low confidence only"
    if code.code is GpuCode.NONE:
        return "gpu-arch-too-old-for-wheel", code.reason
    if code.code is GpuCode.PTX_KNOWN_TO_FAIL:
        return "gpu-arch-too-new-for-wheel", f"{code.reason}, which is reported to fail on {_which(capabilities)}"
    if code.code is GpuCode.PTX and code.libraries_cover_gpu is False:
        return "gpu-arch-too-new-for-wheel", f"{code.reason}, and its CUDA libraries have no code for this GPU"
    return None


def _least_driver(cuda: str, os: Os) -> str:
    """The least driver number to insist on. Under WSL2 a Linux number may be printed, so the lower of the two holds."""
    return compat.min_driver_for_cuda(cuda, Os.LINUX if os is Os.WSL2 else os).minimum


def _ptx_loads(cuda: str, driver: str, os: Os) -> bool | None:
    """Whether the driver compiles PTX made by this CUDA release; None when its own CUDA release is not known."""
    try:
        served = compat.cuda_max_for_driver(driver, os).cuda_max
    except NotCovered:
        return None
    return version(served).release[:2] >= compat.cuda_release(cuda)[:2]


def _driver_objection(wheel: Wheel, code: CodeAnswer | None, machine: Machine) -> tuple[str, str] | None:
    """Native code runs from the minor-version minimum on; PTX needs a driver of its own CUDA release or newer."""
    apart = no_common_branch(machine.compute_capabilities)
    if apart is not None:
        return "driver-not-loaded", apart
    if machine.driver is None:
        return None
    for cc in machine.compute_capabilities:
        found = branch_objection(machine.driver, machine.os, cc)
        if found is not None:  # the module of such a driver ignores the GPU
            return "driver-not-loaded", found
    cuda = compat.cuda_of(wheel)
    need = _least_driver(cuda, machine.os)
    if version(machine.driver) < version(need):
        detail = f"driver {machine.driver} is older than {need}, the minimum for CUDA {cuda}"
        return "driver-too-old-for-cuda", detail
    ptx_cuda = None if code is None or code.code is GpuCode.NATIVE else code.ptx_cuda
    if ptx_cuda is not None and _ptx_loads(ptx_cuda, machine.driver, machine.os) is False:
        detail = f"the GPU needs PTX of CUDA {ptx_cuda}, which driver {machine.driver} is too old to compile"
        return "driver-too-old-for-cuda", detail
    return None


def _python_objection(wheel: Wheel, machine: Machine) -> tuple[str, str] | None:
    if machine.pythons is None or at_hand(wheel, machine):
        return None
    published = compat.pythons_of(wheel)
    detail = f"no wheel for Python {', '.join(machine.pythons)}; there is one for {published[0]} to {published[-1]}"
    return "python-version-unsupported", detail


def _glibc_objection(wheel: Wheel, machine: Machine) -> tuple[str, str] | None:
    if machine.glibc is None or not wheel.glibc or version(machine.glibc) >= version(wheel.glibc):
        return None
    detail = f"glibc {machine.glibc} is older than {wheel.glibc}, which the wheel needs"
    return "glibc-or-libstdcxx-too-old", detail


def at_hand(wheel: Wheel, machine: Machine) -> tuple[str, ...]:
    """Those of the machine's Python versions that the wheel is published for, as "3.11"."""
    published = compat.pythons_of(wheel)
    own = {".".join(text.split(".")[:2]) for text in machine.pythons or ()}
    return tuple(text for text in published if text in own)


def judge(wheel: Wheel, machine: Machine) -> Judged:
    """One wheel for one machine. The objection named is the most lasting: GPU, then driver, glibc, Python."""
    if machine.no_gpu:
        return Judged(wheel, None, Excluded(wheel.tensorflow, "no-nvidia-gpu", "the PCI bus shows no NVIDIA GPU"))
    try:
        compat.cuda_of(wheel)  # a wheel that does not tell it is not covered, whatever is known of the machine
        code = _worst_code(wheel, machine.compute_capabilities)
        found = (
            _code_objection(code, machine.compute_capabilities)
            or _driver_objection(wheel, code, machine)
            or _glibc_objection(wheel, machine)
            or _python_objection(wheel, machine)
        )
    except NotCovered as exc:
        return Judged(wheel, None, Excluded(wheel.tensorflow, "low-confidence", str(exc)))
    return Judged(wheel, code, None if found is None else Excluded(wheel.tensorflow, *found))


def _without_wheel(platform: str) -> tuple[str, str]:
    """Why a release without a CUDA wheel on the platform is out."""
    if platform == "win-amd64":
        return "native-windows-no-gpu", "no CUDA build for Windows outside WSL2"
    if platform.startswith("macos"):
        return "macos-no-gpu", "no CUDA build for macOS"
    return "cpu-only-tensorflow", f"the published wheel for {platform} is a CPU build"


def candidates(machine: Machine, wanted: frozenset[str] | None = None) -> Iterator[Judged | Excluded]:
    """Every stable release, newest first, judged; a release without a CUDA wheel here is excluded as such.

    `wanted` are the releases to look at, among them candidates of a release that is to come; None: all stable ones.
    """
    platform = platform_of(machine)
    wheels: dict[str, Wheel] = {}
    for wheel in compat.cuda_wheels(platform, prereleases=wanted is not None):
        wheels.setdefault(wheel.tensorflow, wheel)
    for release in compat.releases(prereleases=wanted is not None):
        if wanted is not None and release not in wanted:
            continue
        found = wheels.get(release)
        yield judge(found, machine) if found else Excluded(release, *_without_wheel(platform))


def rank(judged: Judged) -> int:
    """0 for native code, 1 for PTX: a newer release by PTX does not beat an older one with native code."""
    return 0 if judged.code is None or judged.code.code in NATIVE else 1


def best(machine: Machine, wanted: frozenset[str] | None = None) -> tuple[Judged | None, tuple[Excluded, ...]]:
    """The best release that nothing rules out, and what is out above it (all of it when there is none)."""
    excluded: list[Excluded] = []
    by_ptx: tuple[Judged, int] | None = None
    for entry in candidates(machine, wanted):
        if isinstance(entry, Excluded):
            excluded.append(entry)
        elif entry.objection is not None:
            excluded.append(entry.objection)
        elif rank(entry) == 0:
            return entry, tuple(excluded)
        elif by_ptx is None:
            by_ptx = (entry, len(excluded))
    if by_ptx is not None:
        return by_ptx[0], tuple(excluded[: by_ptx[1]])
    return None, tuple(excluded)


def every_stack(
    machine: Machine, wanted: frozenset[str] | None = None
) -> tuple[tuple[Judged, ...], tuple[Excluded, ...]]:
    """All releases that nothing rules out, best first (native code before PTX, then newest), and all that are out."""
    feasible: list[Judged] = []
    excluded: list[Excluded] = []
    for entry in candidates(machine, wanted):
        if isinstance(entry, Excluded):
            excluded.append(entry)
        elif entry.objection is not None:
            excluded.append(entry.objection)
        else:
            feasible.append(entry)
    return tuple(sorted(feasible, key=rank)), tuple(excluded)


def stack_of(judged: Judged, machine: Machine) -> Stack:
    """The stack of a release that nothing rules out."""
    return build_stack(judged.wheel, judged.code, machine, at_hand(judged.wheel, machine))


def better(machine: Machine, than: Judged | None, wanted: frozenset[str] | None = None) -> Stack | None:
    """The stack for a changed machine, if it is newer, or serves the GPU better, than the one at hand."""
    found, _ = best(machine, wanted)
    if found is None:
        return None
    if than is not None:
        newer = version(found.wheel.tensorflow) > version(than.wheel.tensorflow)
        if rank(found) > rank(than) or (rank(found) == rank(than) and not newer):
            return None
    return stack_of(found, machine)


def newest_tensorflow(machine: Machine) -> Plan:
    """The newest stable TensorFlow whose published wheel uses this machine's GPUs, and how to install it.

    Native code (also in part) comes before PTX. PTX counts only where the driver's own CUDA release is at least the
    wheel's, and never where it is known to fail. Rows of low confidence do not recommend anything.
    """
    found, excluded = best(machine)
    stack = None if found is None else stack_of(found, machine)
    other_python = better(msgspec.structs.replace(machine, pythons=None), found) if machine.pythons else None
    other_driver = better(msgspec.structs.replace(machine, driver=None), found) if machine.driver else None
    return Plan(stack=stack, excluded=excluded, with_other_python=other_python, with_other_driver=other_driver)
