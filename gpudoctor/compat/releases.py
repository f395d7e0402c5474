"""TensorFlow releases: wheels, what they need, the Keras they bring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.rows import CudaPin, KerasRow, OfficialBuild, PipRoute, SymbolVersions, Trust, Wheel
from gpudoctor.compat.versions import version

PYTHON_TAG = re.compile(r"cp(\d)(\d+)m?\Z")
CUDA_PACKAGES = ("tensorflow", "tensorflow-gpu")


@cache
def _wheels() -> dict[tuple[str, str, str], Wheel]:
    return {(row.tensorflow, row.package, row.platform): row for row in load(Wheel).rows}


def wheel(tensorflow: str, package: str, platform: str) -> Wheel:
    """The row of a release, e.g. ("2.21.0", "tensorflow", "linux-x86_64"); raises NotCovered.

    2.1 is 2.1.0, as in PEP 440. Platforms: linux-x86_64, linux-aarch64, win-amd64, macos-x86_64, macos-arm64, sdist.
    """
    found = _wheels().get((tensorflow, package, platform)) or _wheels().get((f"{tensorflow}.0", package, platform))
    if found is None:
        newer = "; it is newer than the tables" if is_newer_than_tables(tensorflow) else ""
        raise NotCovered(
            f"{package} {tensorflow} for {platform} is not in the tables of {load(Wheel).retrieved}{newer}"
        )
    return found


def releases(*, prereleases: bool = False) -> Iterator[str]:
    """Versions of tensorflow and tensorflow-gpu, newest first; release candidates only if asked for."""
    found = {row.tensorflow for row in load(Wheel).rows if row.package in CUDA_PACKAGES}
    for text in sorted(found, key=version, reverse=True):
        if prereleases or not version(text).is_prerelease:
            yield text


def cuda_wheels(platform: str, *, prereleases: bool = False) -> Iterator[Wheel]:
    """CUDA wheels of a platform, newest first; of two packages with one release, `tensorflow` comes first."""
    rows = [row for row in load(Wheel).rows if row.platform == platform and row.cuda_build and row.kind == "full"]
    rows.sort(key=lambda row: (version(row.tensorflow), -_package_rank(row)), reverse=True)
    return (row for row in rows if prereleases or not version(row.tensorflow).is_prerelease)


def _package_rank(row: Wheel) -> int:
    return CUDA_PACKAGES.index(row.package) if row.package in CUDA_PACKAGES else len(CUDA_PACKAGES)


def pythons_of(row: Wheel) -> tuple[str, ...]:
    """Python versions of a row's files, oldest first: ("3.9", "3.10")."""
    found = {f"{match[1]}.{match[2]}" for tag in row.pythons if (match := PYTHON_TAG.match(tag))}
    return tuple(sorted(found, key=version))


@cache
def newest_release() -> str:
    """The newest stable release that the tables know; raises NotCovered where they know none."""
    newest = next(releases(), None)
    if newest is None:
        raise NotCovered("no release of TensorFlow is in the tables")
    return newest


def is_newer_than_tables(tensorflow: str) -> bool:
    """Whether a release is newer than every stable one of the tables. Never warn on that alone."""
    return version(tensorflow) > version(newest_release())


def tables_date() -> str:
    """The day on which the table of releases was read, YYYY-MM-DD."""
    return load(Wheel).retrieved


def and_cuda_pins(tensorflow: str) -> tuple[CudaPin, ...]:
    """What the extra and-cuda of a release asks for, by package; raises NotCovered where it has no such extra."""
    pins = tuple(row for row in load(CudaPin).rows if row.tensorflow == tensorflow)
    if not pins:
        raise NotCovered(f"tensorflow {tensorflow} has no extra and-cuda in the tables of {load(CudaPin).retrieved}")
    return tuple(sorted(pins, key=lambda row: row.package))


def keras_for(tensorflow: str) -> KerasRow:
    """The Keras of a release; raises NotCovered."""
    for row in load(KerasRow).rows:
        if row.tensorflow == tensorflow:
            return row
    raise NotCovered(f"the Keras of tensorflow {tensorflow} is not in the tables of {load(KerasRow).retrieved}")


def tested_build(tensorflow: str, os: str) -> OfficialBuild:
    """The official tested GPU build of a release's minor version on "linux" or "windows"; raises NotCovered."""
    wanted = version(tensorflow).release[:2]
    for row in load(OfficialBuild).rows:
        if row.device == "gpu" and row.os == os and version(row.tensorflow).release[:2] == wanted:
            return row
    raise NotCovered(f"no tested GPU build of tensorflow {tensorflow} for {os} in the tables")


def cuda_of(row: Wheel) -> str:
    """The CUDA release that a wheel was built with; raises NotCovered.

    Where the wheel itself says none or only "10" (1.13 to 2.0), the official tested build tells.
    """
    if "." in row.cuda:
        return row.cuda
    try:
        return tested_build(row.tensorflow, "windows" if row.platform == "win-amd64" else "linux").cuda
    except NotCovered:
        if row.cuda:
            return row.cuda
        raise


def pip_route(tensorflow: str) -> PipRoute:
    """How CUDA libraries from pip reach the Linux wheel of a release; raises NotCovered."""
    wanted = version(tensorflow)
    for row in load(PipRoute).rows:
        if version(row.from_tensorflow) <= wanted <= version(row.to_tensorflow):
            return row
    raise NotCovered(f"whether tensorflow {tensorflow} finds CUDA libraries from pip is not in the tables")


@cache
def symbol_versions(tensorflow: str, platform: str) -> tuple[str, ...]:
    """What a release needs of the C and the C++ library: GLIBC_2.27, GLIBCXX_3.4.22, CXXABI_1.3.11.

    Measured in the wheels, whose tags can promise less. Raises NotCovered.
    """
    have = version(tensorflow)
    for row in load(SymbolVersions).rows:
        covers = version(row.from_tensorflow) <= have <= version(row.to_tensorflow)
        if covers and row.platform == platform and row.confidence is not Trust.LOW:
            return f"GLIBC_{row.glibc}", f"GLIBCXX_{row.glibcxx}", f"CXXABI_{row.cxxabi}"
    raise NotCovered(f"what tensorflow {tensorflow} for {platform} needs of the C++ library is not in the tables")
