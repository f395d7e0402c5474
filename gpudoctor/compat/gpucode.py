"""Which code a TensorFlow wheel has for a GPU.

Native code for X.Y runs on X.Z with Z at least Y and the same X. PTX for X.Y is compiled by the driver for any GPU of
X.Y or newer. Without either the GPU cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache

from msgspec import Struct

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.releases import cuda_of
from gpudoctor.compat.rows import Fatbin, GpuCodeRow, Trust, Wheel
from gpudoctor.compat.versions import capability, version

BLACKWELL = (10, 0)


class GpuCode(str, Enum):
    """How a wheel serves a GPU, best first."""

    NATIVE = "native"
    NATIVE_PARTIAL = "native-partial"  # some kernels are compiled from PTX at first use
    PTX = "ptx"  # all are: a slow first start
    PTX_KNOWN_TO_FAIL = "ptx-known-to-fail"  # reported to end in CUDA_ERROR_INVALID_PTX
    NONE = "none"


class CodeAnswer(Struct, frozen=True):
    """How a wheel serves a GPU, why, and where that is known from.

    `libraries_cover_gpu` is False where the wheel's CUDA release has no native code for the GPU's family, so that its
    cuBLAS and cuDNN may not run there; None where that is not known. `ptx_cuda` is the CUDA release that the driver has
    to serve to compile the PTX of this wheel: the one measured, else the wheel's own; None where that is not known.
    """

    code: GpuCode
    reason: str
    confidence: Trust
    source: str
    libraries_cover_gpu: bool | None = None
    ptx_cuda: str | None = None


class Targets(Struct, frozen=True):
    """Compute capabilities of the code in a wheel."""

    native: tuple[str, ...]
    native_partial: tuple[str, ...]
    ptx: tuple[str, ...]


def targets_of_list(capabilities: Iterable[str]) -> Targets:
    """The list of build_info.py. compute_XY is PTX; native code for X.Y is beside it for a part of the kernels."""
    native: list[str] = []
    ptx: list[str] = []
    for entry in capabilities:
        major, minor = capability(entry)
        (ptx if entry.startswith("compute_") else native).append(f"{major}.{minor}")
    return Targets(tuple(native), tuple(ptx), tuple(ptx))


def apply_rules(targets: Targets, cc: str) -> tuple[GpuCode, str]:
    """The kind of code by the rules alone, and the entry that decides it."""
    wanted = capability(cc)
    kinds = ((GpuCode.NATIVE, targets.native), (GpuCode.NATIVE_PARTIAL, targets.native_partial))
    for kind, entries in kinds:
        same = [entry for entry in entries if capability(entry)[0] == wanted[0] and capability(entry) <= wanted]
        if same:
            return kind, f"native code for {max(same, key=capability)}"
    lower = [entry for entry in targets.ptx if capability(entry) <= wanted]
    if lower:
        return GpuCode.PTX, f"only PTX for {max(lower, key=capability)}"
    every = sorted({*targets.native, *targets.native_partial, *targets.ptx}, key=capability)
    return GpuCode.NONE, f"code for {', '.join(every) or 'no GPU'} only"


def _libraries_cover(row: GpuCodeRow, cc: str) -> bool | None:
    if cc in row.ptx_foreign or cc in row.ptx_known_to_fail:
        return False
    return True if any(cc in members for members in (row.native, row.native_partial, row.ptx)) else None


def _ptx_cuda(row: GpuCodeRow) -> str | None:
    """Measured in the Linux wheels; toolchains emit older PTX than the CUDA release that they are built with."""
    scan = _scans().get(_minor(row.tensorflow))
    if row.platform == "linux-x86_64" and scan is not None and scan.ptx_cuda:
        return scan.ptx_cuda
    try:
        return cuda_of(_wheel_of(row))
    except NotCovered:
        return None


def _wheel_of(row: GpuCodeRow) -> Wheel:
    for wheel in load(Wheel).rows:
        if (wheel.tensorflow, wheel.package, wheel.platform) == (row.tensorflow, row.package, row.platform):
            return wheel
    raise NotCovered(f"the wheel of tensorflow {row.tensorflow} for {row.platform} is not in the tables")


def _minor(release: str) -> tuple[int, ...]:
    return version(release).release[:2]


@cache
def _scans() -> dict[tuple[int, ...], Fatbin]:
    return {_minor(row.tensorflow): row for row in load(Fatbin).rows}


@cache
def _code_rows() -> dict[tuple[str, str], GpuCodeRow]:
    """Rows by version and platform; where two packages carry the same release, the code is the same."""
    return {(row.tensorflow, row.platform): row for row in reversed(load(GpuCodeRow).rows)}


def _from_row(row: GpuCodeRow, cc: str) -> GpuCode | None:
    groups = (
        (GpuCode.NATIVE, row.native),
        (GpuCode.NATIVE_PARTIAL, row.native_partial),
        (GpuCode.PTX, (*row.ptx, *row.ptx_foreign)),
        (GpuCode.PTX_KNOWN_TO_FAIL, row.ptx_known_to_fail),
        (GpuCode.NONE, row.none),
    )
    return next((code for code, members in groups if cc in members), None)


def _row_targets(row: GpuCodeRow) -> tuple[Targets, str]:
    scan = _scans().get(_minor(row.tensorflow))
    if row.basis != "build_info" and scan is not None:
        return Targets(scan.native, scan.native_partial, scan.ptx), load(Fatbin).source_of(scan)
    wheel = _wheel_of(row)
    return targets_of_list(wheel.capabilities), load(Wheel).source_of(wheel)


def gpu_code_of_release(tensorflow: str, platform: str, cc: str) -> CodeAnswer:
    """How the published CUDA wheel of a release serves compute capability `cc`; raises NotCovered.

    `platform` is "linux-x86_64" or "win-amd64". A capability that the table does not name is answered by the rules.
    """
    wanted = capability(cc)
    plain = f"{wanted[0]}.{wanted[1]}"
    row = _code_rows().get((tensorflow, platform)) or _code_rows().get((f"{tensorflow}.0", platform))
    if row is None:
        raise NotCovered(f"no CUDA wheel of tensorflow {tensorflow} for {platform} in the tables")
    targets, source = _row_targets(row)
    by_rule, reason = apply_rules(targets, cc)
    code = _from_row(row, plain)
    if code is None:
        fails = by_rule is GpuCode.PTX and row.ptx_known_to_fail and wanted >= BLACKWELL
        code = GpuCode.PTX_KNOWN_TO_FAIL if fails else by_rule
    text = f"tensorflow {tensorflow} has {reason}"
    return CodeAnswer(code, text, row.confidence, source, _libraries_cover(row, plain), _ptx_cuda(row))


def gpu_code(
    capabilities: Sequence[str], tensorflow: str | None, cc: str, platform: str = "linux-x86_64"
) -> CodeAnswer:
    """How a wheel with this list in its build_info.py serves compute capability `cc`; raises NotCovered.

    The measured table decides for a published release whose list is the one given; else the list itself does, so that
    releases newer than the tables and builds of one's own are answered too.
    """
    if not capabilities:
        raise NotCovered("the wheel names no compute capabilities")
    row = _code_rows().get((tensorflow or "", platform))
    if tensorflow is not None and row is not None:
        published = {w.capabilities for w in load(Wheel).rows if w.tensorflow == tensorflow and w.platform == platform}
        if tuple(capabilities) in published:
            return gpu_code_of_release(tensorflow, platform, cc)
    code, reason = apply_rules(targets_of_list(capabilities), cc)
    return CodeAnswer(
        code, f"the wheel has {reason}", Trust.MEDIUM, "the list of compute capabilities in build_info.py"
    )
