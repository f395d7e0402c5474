"""Files and packages of the system that a text names, to facts: what of CUDA, cuDNN and the driver is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import structs

from gpudoctor import compat
from gpudoctor.facts.model import (
    CondaPackage,
    Fact,
    HostFacts,
    Known,
    Library,
    LibraryFacts,
    Package,
    Unknown,
)
from gpudoctor.logs.formats.forms import KEY
from gpudoctor.logs.seen import FileSeen, Seen

NAMED = "its name"
DEFAULT_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                   "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu")  # fmt: skip
LD_LIBRARY_PATH = "LD_LIBRARY_PATH"
# Before CUDA 11 the runtime bore both numbers in its soname, from 11 on none but the major (11: 11.0).
LAST_FULL, FIRST_STABLE = 10, 11
# libcudnn8 8.9.2.26-1+cuda11.8, libcudnn9-cuda-12 9.3.0.75-1, cudnn 8.9.7.29-1 (Arch)
CUDNN = r"(?:lib)?cudnn(?P<major>\d)?(?:-cuda-(?P<cuda>\d{2}))?\Z"
FOR_CUDA = r"cuda(\d{1,2})\.\d"
# cuda-cudart-11-8, cuda-toolkit-12-4, cuda-12-4, libcudart11.0, cuda 12.4.0-2 (Arch, and NVIDIA's newest)
RUNTIME = r"cuda(?:-(?:cudart|runtime|libraries|toolkit))?-(?P<release>\d{1,2}-\d)\Z"
RUNTIME_BY_VERSION = r"(?:cuda(?:-toolkit)?|nvidia-cuda-toolkit|libcudart\d[\w.]*)\Z"
# Packages of conda, by the names that they have elsewhere.
CONDA = {"cudatoolkit": "cuda", "cuda-cudart": "cuda", "cudnn": "cudnn"}
NUMBERS = r"(?:\d+:)?(\d+(?:\.\d+){1,3})"


def with_libraries(libraries: LibraryFacts, seen: Seen) -> LibraryFacts:
    """Return the facts of libraries with those that files and packages tell."""
    path = seen.variables.get(LD_LIBRARY_PATH, ("", ""))[0].split(":")
    found: dict[tuple[str, str], tuple[Library, str]] = {}
    for file, at in seen.files.items():
        library = _of_file(file, path)
        known = found.get((library.soname, library.path))
        # Links and the file behind them: the longest name tells the version.
        if known is None or (known[0].version.get() or "") < (library.version.get() or ""):
            found[library.soname, library.path] = (library, known[1] if known else at)
    for library, at in _packaged_libraries(seen):
        if not any(known.soname == library.soname and known.wins for known, _ in found.values()):
            found.setdefault((library.soname, ""), (library, at))
    if not found:
        return libraries
    items = sorted(found.values(), key=lambda item: not item[0].wins)
    return structs.replace(libraries, told=Known(tuple(library for library, _ in items), items[0][1]))


def _packaged_libraries(seen: Seen) -> Iterator[tuple[Library, str]]:
    """Yield the libraries that packages bring: of the system, of pip and of conda; and the toolkit of nvcc."""
    for package, at in seen.system.values():
        told = None if package.removed else _of_package(package.name, package.version)
        if told is not None:
            yield told, at
    for item, at in seen.packages.values():
        if isinstance(item, Package) and item.installer is None and (told := _of_wheel(item)) is not None:
            yield told, at
    # Where the next ones lie, and whether the loader looks there, the text does not tell.
    for entry, at in seen.conda.values():
        if isinstance(entry, CondaPackage) and entry.name in CONDA:
            told = _of_package(CONDA[entry.name], f"{entry.version}+{entry.build}")
            if told is not None:
                yield structs.replace(told, origin="conda", found_by="", wins=False), at
    for event in seen.events:
        told = _of_release(event.parameters["version"]) if event.message == "nvcc-release" else None
        if told is not None:
            yield structs.replace(told, origin="toolkit", found_by="", wins=False), f"{event.source}:{event.line}"
    release, _, at = seen.hints.get(f"{KEY}cuda", "").partition("\n")
    told = _of_release(release) if release else None
    if told is not None:
        yield structs.replace(told, origin="toolkit", found_by="", wins=False), at


def with_packages(host: HostFacts, seen: Seen) -> HostFacts:
    """Return the facts of the host with the packages of the system that a text names."""
    if not seen.system:
        return host
    found = sorted(seen.system.values(), key=lambda item: item[0].name)
    return structs.replace(host, system_packages=Known(tuple(item for item, _ in found), found[0][1]))


def _of_file(file: FileSeen, path: list[str]) -> Library:
    number = file.number.split(".")
    major = int(number[0])
    soname = f"lib{file.name}.so.{number[0]}"
    if file.name == "cudart" and major == FIRST_STABLE:
        soname = f"{soname}.0"
    elif file.name in ("cudart", "cufft", "cusparse", "cublas", "cusolver", "curand") and major <= LAST_FULL:
        # Of CUDA 10.0 and older each library bears both numbers, of 10.1 the runtime alone.
        full = file.name == "cudart" or number[1:2] == ["0"] or major < LAST_FULL
        soname = ".".join([soname, *number[1:2]]) if full and len(number) > 1 else soname
    found_by = file.found_by or _led(file.folder, path)
    # libcudart.so.11.0 is of any release of CUDA 11.
    told = len(number) > 2 or (file.name == "cudart" and len(number) > 1 and number != ["11", "0"])  # noqa: PLR2004
    version: Fact[str] = Known(".".join(number[:3]), NAMED) if told else Unknown("the file's name does not tell it")
    return Library(
        name=file.name,
        soname=soname,
        version=version,
        cuda_major=major if file.name in ("cudart", "cublas", "cublasLt", "nvJitLink") else None,
        path=f"{file.folder}/{soname}" if file.folder else "",
        origin=_origin(file.folder),
        found_by=found_by,
        wins=bool(found_by),
    )


def _led(folder: str, path: list[str]) -> str:
    if folder and any(entry.rstrip("/") == folder for entry in path):
        return LD_LIBRARY_PATH
    return "default folders" if folder in DEFAULT_FOLDERS else ""


def _origin(folder: str) -> str:
    if "-packages/nvidia/" in folder or "-packages\\nvidia\\" in folder:
        return "wheel"
    if "conda" in folder or "/envs/" in folder:
        return "conda"
    return "toolkit" if "/cuda" in folder else "system" if folder in DEFAULT_FOLDERS else "other"


def _of_wheel(package: Package) -> Library | None:
    """Return the library of a wheel, where TensorFlow looks first; CUDA 13's names bear no number."""
    name = re.sub(r"-cu\d\d\Z", "", package.name)
    if name == "nvidia-cuda-runtime":
        told = _of_release(".".join(package.version.split(".")[:2]))
    elif name == "nvidia-cudnn" and (cuda := re.search(r"-cu(\d\d)\Z", package.name)):
        soname = f"libcudnn.so.{package.version.partition('.')[0]}"
        told = _packaged("cudnn", soname, package.version, int(cuda[1]))
    else:
        return None
    return None if told is None else structs.replace(told, origin="wheel", found_by="RUNPATH")


def _of_package(name: str, version: str) -> Library | None:
    """Return the library that a package brings: its folder is one of the loader's by the package's own doing."""
    numbers = re.match(NUMBERS, version)
    if numbers is None:
        return None
    cudnn = re.match(CUDNN, name)
    if cudnn is not None:
        have = ".".join(numbers[1].split(".")[:3])
        cuda = cudnn["cuda"] or (found[1] if (found := re.search(FOR_CUDA, version)) else None)
        return _packaged("cudnn", f"libcudnn.so.{have.partition('.')[0]}", have, int(cuda) if cuda else None)
    by_name, by_version = re.match(RUNTIME, name), re.match(RUNTIME_BY_VERSION, name)
    if by_name is None and by_version is None:
        return None
    return _of_release(by_name["release"].replace("-", ".") if by_name else ".".join(numbers[1].split(".")[:2]))


def _of_release(release: str) -> Library | None:
    """Return the runtime of a CUDA release."""
    try:
        soname = compat.runtime_soname(release)
    except (compat.NotCovered, ValueError):
        return None
    return _packaged("cudart", soname, release, int(release.partition(".")[0]))


def _packaged(name: str, soname: str, version: str, cuda_major: int | None) -> Library:
    return Library(
        name=name,
        soname=soname,
        version=Known(version, "the package's version"),
        cuda_major=cuda_major,
        origin="system",
        found_by="a package of the system",
        wins=True,
    )
