"""Drivers and CUDA: which driver a CUDA release needs, which CUDA a driver serves."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.rows import CudaDriver, DriverBranch, Trust
from gpudoctor.compat.versions import cuda_release, cuda_text, version

FAMILIES = (
    "Tesla",
    "Fermi",
    "Kepler",
    "Maxwell",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Ada Lovelace",
    "Hopper",
    "Blackwell",
)

MINOR_PARTS = 2  # of a release number: 12.5


class Os(str, Enum):
    """Operating systems as far as drivers and wheels differ. WSL2 runs Linux wheels over the Windows driver."""

    LINUX = "linux"
    WINDOWS = "windows"
    WSL2 = "wsl2"
    MACOS = "macos"


class DriverNeed(Struct, frozen=True):
    """What a CUDA release asks of the driver.

    `minimum` is enough for native code: minor-version compatibility where it holds, else the toolkit's own driver.
    `toolkit_driver` (None: no number published) is enough for everything, PTX of this toolkit included.
    """

    cuda: str
    minimum: str
    minor_compatibility: bool
    toolkit_driver: str | None
    branch: str
    confidence: Trust
    source: str


class DriverCuda(Struct, frozen=True):
    """The highest CUDA release that a driver serves, by its branch."""

    driver: str
    branch: str
    cuda_max: str
    confidence: Trust
    source: str


def _rows_of(cuda: str) -> list[CudaDriver]:
    """Rows of the release named, oldest update first; raises NotCovered."""
    release = cuda_release(cuda)
    rows = [row for row in load(CudaDriver).rows if version(row.cuda).release[: len(release)] == release]
    if not rows and len(release) > MINOR_PARTS:  # tables of older toolkits have no update numbers
        rows = [row for row in load(CudaDriver).rows if version(row.cuda).release == release[:MINOR_PARTS]]
    if not rows:
        raise NotCovered(f"CUDA {cuda_text(cuda)} is not in the tables of {load(CudaDriver).retrieved}")
    return sorted(rows, key=lambda row: version(row.cuda))


def min_driver_for_cuda(cuda: str, os: Os) -> DriverNeed:
    """The least driver for programs built with CUDA `cuda`; raises NotCovered.

    "12.5" stands for its first update and "10" for its first minor release: the least that the text can mean.
    WSL2 is answered with Windows numbers, since the driver is the one of Windows.
    """
    if os is Os.MACOS:
        raise NotCovered("no CUDA driver for macOS is in the tables")
    row = _rows_of(cuda)[0]
    windows = os is not Os.LINUX
    toolkit = row.toolkit_windows if windows else row.toolkit_linux
    minor = (row.minor_windows or row.minor_windows_branch) if windows else row.minor_linux
    if not (minor or toolkit):
        raise NotCovered(f"no minimum driver is published for CUDA {cuda_text(cuda)} on {os.value}")
    confidence = row.confidence
    if confidence is Trust.HIGH and (
        len(cuda_release(cuda)) < MINOR_PARTS or (windows and not row.minor_windows and minor)
    ):
        confidence = Trust.MEDIUM  # only a major number was given, or only a branch is published
    return DriverNeed(
        cuda=cuda_text(cuda),
        minimum=minor or toolkit,
        minor_compatibility=bool(minor) and minor != toolkit,
        toolkit_driver=toolkit or None,
        branch=row.branch,
        confidence=confidence,
        source=load(CudaDriver).source_of(row),
    )


def _windows_numbers(row: DriverBranch) -> frozenset[int]:
    """Major numbers under which Windows drivers of a branch were published."""
    numbers: set[int] = {int(row.branch)}
    for part in row.windows.split():
        low, _, high = part.partition("-")
        numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)


def branch_of_driver(driver: str, os: Os) -> DriverBranch:
    """The branch of a driver version such as "535.183.01" or, on Windows, "537.13"; raises NotCovered."""
    major = version(driver).major
    rows = load(DriverBranch).rows
    for row in rows:
        if int(row.branch) == major:
            return row
    if os is not Os.LINUX:
        seen = [row for row in rows if major in _windows_numbers(row)]
        if len(seen) == 1:
            return seen[0]
    raise NotCovered(f"driver {driver} is of no branch in the tables of {load(DriverBranch).retrieved}")


def _windows_cuda_max(driver: str) -> DriverCuda | None:
    """By the Windows drivers of the toolkits: exact where Windows numbers differ from the branch's."""
    table = load(CudaDriver)
    rows = [row for row in table.rows if row.toolkit_windows]
    if version(driver).major > max(version(row.toolkit_windows).major for row in rows):
        return None  # newer than all of them: its CUDA release may be too
    served = [row for row in rows if version(row.toolkit_windows) <= version(driver)]
    if not served:
        return None
    row = max(served, key=lambda row: version(row.cuda))
    major, minor = version(row.cuda).release[:MINOR_PARTS]
    return DriverCuda(driver, row.branch, f"{major}.{minor}", row.confidence, table.source_of(row))


def driver_branches() -> tuple[DriverBranch, ...]:
    """Every branch of the tables, newest first."""
    return tuple(sorted(load(DriverBranch).rows, key=lambda row: int(row.branch), reverse=True))


def cuda_max_for_driver(driver: str, os: Os) -> DriverCuda:
    """The highest CUDA release that `driver` serves; raises NotCovered.

    Windows numbers that no toolkit came with are matched by what was seen, and are of low confidence.
    """
    row = branch_of_driver(driver, os)
    direct = int(row.branch) == version(driver).major
    if not direct and (exact := _windows_cuda_max(driver)) is not None:
        return exact
    return DriverCuda(
        driver=driver,
        branch=row.branch,
        cuda_max=row.cuda_max,
        confidence=row.confidence if direct else row.confidence_windows,
        source=load(DriverBranch).source_of(row),
    )


def last_branch_for_architecture(architecture: str) -> DriverBranch | None:
    """The last driver branch for a GPU family ("Kepler": 470), or None while drivers serve it; raises NotCovered."""
    if architecture not in FAMILIES:
        raise NotCovered(f"GPU family {architecture!r} is not in the tables")
    return next((row for row in load(DriverBranch).rows if architecture in row.last_for), None)


def first_branch_for_architecture(architecture: str) -> DriverBranch | None:
    """The first driver branch for a GPU family ("Ampere": 450), or None where the tables begin later."""
    if architecture not in FAMILIES:
        raise NotCovered(f"GPU family {architecture!r} is not in the tables")
    return next((row for row in load(DriverBranch).rows if architecture in row.first_for), None)
