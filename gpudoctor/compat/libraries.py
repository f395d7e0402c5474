"""Which CUDA libraries a TensorFlow release opens, and by which names."""

from __future__ import annotations

from functools import cache

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.releases import cuda_of, tested_build, wheel
from gpudoctor.compat.rows import CudaArch, CudaLibrary, Cudnn, LibraryUse, Trust
from gpudoctor.compat.versions import capability, cuda_release, version

CUDNN = "cudnn"
PARTS = 2


@cache
def required_libraries(tensorflow: str) -> tuple[str, ...]:
    """Names of the libraries without which a release leaves all GPUs out; raises NotCovered.

    They are those of cuda_soname, cudnn among them. Releases newer than the tables are taken to be like the newest.
    """
    have = version(tensorflow).release
    rows = [row for row in load(LibraryUse).rows if row.required and row.confidence is not Trust.LOW]
    found = tuple(
        row.library
        for row in rows
        if version(row.from_tensorflow).release <= have
        and (not row.to_tensorflow or have <= version(row.to_tensorflow).release)
    )
    if not found:
        raise NotCovered(f"TensorFlow {tensorflow} is linked to its CUDA libraries: they are in no table")
    return found


@cache
def cuda_soname(library: str, cuda: str) -> str | None:
    """The soname of a library of a CUDA release such as "12.5"; None where the release has no such library.

    Raises NotCovered for a release whose sonames are not in the tables.
    """
    release = cuda_release(cuda)[:PARTS]
    rows = [row for row in load(CudaLibrary).rows if _covers(row, release)]
    if not rows:
        raise NotCovered(f"the names of CUDA {cuda}'s libraries are not in the tables of {load(CudaLibrary).retrieved}")
    return next((row.soname for row in rows if row.library == library), None)


def runtime_soname(cuda: str) -> str:
    """The soname of the runtime, libcudart, of a CUDA release: to 10.2 it bears both numbers, 11.0 for all of 11.

    Raises NotCovered for a release of 10 or older without its second number.
    """
    release = cuda_release(cuda)[:PARTS]
    if release[0] > LAST_WITH_BOTH:
        return f"libcudart.so.{release[0]}" + (".0" if release[0] == LAST_WITH_BOTH + 1 else "")
    if len(release) < PARTS:
        raise NotCovered(f"which release of CUDA {cuda} it is")
    return f"libcudart.so.{release[0]}.{release[1]}"


def wheel_of_library(library: str, cuda: str) -> str | None:
    """The package that carries a library of a CUDA release on the package index, None where there is none."""
    release = cuda_release(cuda)[:PARTS]
    return next(
        (row.wheel or None for row in load(CudaLibrary).rows if row.library == library and _covers(row, release)), None
    )


def _covers(row: CudaLibrary, release: tuple[int, ...]) -> bool:
    low, high = cuda_release(row.from_cuda)[:PARTS], cuda_release(row.to_cuda)[:PARTS]
    return low <= release <= high if len(release) == PARTS else low[:1] <= release <= high[:1] and low[0] != LINKED_TEN


# The last major release whose runtime bears both numbers.
LAST_WITH_BOTH = 10
# "10" in build_info.py stands for 10.0 or 10.1, whose names differ.
LINKED_TEN = 10


def compiled_cudnn(tensorflow: str, os: str = "linux") -> str:
    """The cuDNN, "9.3", that a release was compiled with: the loader must find that minor version or a later one.

    By the tables of tested builds, which agree with what TensorFlow prints wherever that is known. Raises NotCovered.
    """
    row = tested_build(tensorflow, os)
    if row.confidence is Trust.LOW or not row.cudnn:
        raise NotCovered(f"the cuDNN that TensorFlow {tensorflow} was compiled with is not known for certain")
    return row.cudnn


def cudnn_lowest_capability(cudnn: str, cuda_major: int) -> tuple[str, str]:
    """The lowest compute capability that a cuDNN release has code for, and the source; raises NotCovered.

    A release between two rows is answered by the older one: support is dropped and never comes back.
    """
    have = version(cudnn).release[:3]
    table = load(Cudnn)
    rows = [row for row in table.rows if row.cuda_major == cuda_major and row.confidence is not Trust.LOW]
    older = [row for row in rows if version(row.first).release[:3] <= have and row.lowest_cc]
    same_major = [row for row in older if version(row.first).major == have[0]]
    if not same_major:
        raise NotCovered(f"what cuDNN {cudnn} for CUDA {cuda_major} has code for is not in the tables")
    row = max(same_major, key=lambda row: version(row.first))
    return row.lowest_cc, table.source_of(row)


def cudnn_first_without(compiled: str, cuda_major: int, capabilities: tuple[str, ...]) -> str | None:
    """The first cuDNN release from `compiled` on, of its major version, that has no code for one of these GPUs."""
    low, rows = version(compiled), load(Cudnn).rows
    dropping = [
        row
        for row in rows
        if row.cuda_major == cuda_major
        and row.confidence is not Trust.LOW
        and version(row.first) > low
        and version(row.first).major == low.major
        and any(capability(cc) < capability(row.lowest_cc) for cc in capabilities)
    ]
    first = min(dropping, key=lambda row: version(row.first), default=None)
    return None if first is None else first.first.removesuffix(".0")


def highest_capability(cuda: str) -> tuple[str, str]:
    """The highest compute capability that a CUDA toolkit compiles for, and the source; raises NotCovered."""
    release, table = cuda_release(cuda)[:PARTS], load(CudaArch)
    for row in table.rows:
        if cuda_release(row.cuda)[:PARTS] == release and row.confidence is not Trust.LOW:
            return row.highest_cc, table.source_of(row)
    raise NotCovered(f"what CUDA {cuda} compiles for is not in the tables of {table.retrieved}")


def first_cuda_for(compute_capability: str) -> str:
    """The first CUDA toolkit that compiles for a compute capability; raises NotCovered."""
    wanted = capability(compute_capability)
    rows = [row for row in load(CudaArch).rows if capability(row.highest_cc) >= wanted]
    if not rows:
        raise NotCovered(f"no CUDA toolkit in the tables compiles for compute capability {compute_capability}")
    return min((row.cuda for row in rows), key=version)


FIRST_WHEEL = "1.13"


def cuda_of_build(tensorflow: str, package: str, platform: str, built_with: str | None) -> str:
    """The CUDA release of a build: its own text, made exact by the tables where it says "10"; raises NotCovered."""
    if built_with and len(cuda_release(built_with)) > 1:
        return built_with
    try:
        return cuda_of(wheel(tensorflow, package, platform))
    except NotCovered:
        if package != "tensorflow-gpu" or version(tensorflow) >= version(FIRST_WHEEL):
            raise
        # Older than the list of wheels: the tested builds of that time tell, CUDA 9 and 8 as "9" and "8".
        tested = tested_build(tensorflow, "windows" if platform.startswith("win") else "linux")
        if not tested.cuda:
            raise
        return tested.cuda if "." in tested.cuda else f"{tested.cuda}.0"
