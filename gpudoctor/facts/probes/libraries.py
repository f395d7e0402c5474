"""CUDA libraries that the target's TensorFlow would load, in the order in which it and the loader of glibc find them.

The order is the loader's own (ld.so(8)), for a dlopen called from TensorFlow's library: its DT_RPATH where it has no
DT_RUNPATH, LD_LIBRARY_PATH, its DT_RUNPATH, the cache of ldconfig, the default folders. A library that another one
needs is looked for from that one: cuSPARSE finds nvJitLink so. Seen to be so with LD_DEBUG=libs and TensorFlow 2.10,
2.15, 2.16 and 2.21. A library that the program itself loads first (PyTorch's) wins over all of it; files cannot tell.

Paths of the Python environment come from the interpreter that was asked. Below a folder that stands for a machine they
are looked up below that folder too; where TensorFlow does not lie there, nothing is said of its libraries.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts.model import Known, Library, LibraryFacts, Unknown
from gpudoctor.facts.probes import libraries_elf as elf
from gpudoctor.facts.probes import libraries_xla as xla
from gpudoctor.facts.probes.libraries_files import Files

if TYPE_CHECKING:
    from gpudoctor.facts.host import Host
    from gpudoctor.facts.model import PythonFacts, TensorFlowFacts

# A name to be asked for has at most two numbers (libcudart.so.11.0); longer ones are the files behind it.
NAME = re.compile(
    r"lib(?P<name>cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cudnn(?:_[a-z_]{1,40})?|nccl|nvJitLink|cupti)"
    r"\.so\.(?P<number>\d+(?:\.\d+)?)\Z"
)
# Of TensorFlow's own libraries the one that opens the CUDA libraries: the first of these that is there.
OPENERS = ("libtensorflow_framework.so.2", "python/_pywrap_tensorflow_internal.so", "libtensorflow_framework.so.1")
OPENER_BEFORE_2_11 = "python/_pywrap_tensorflow_internal.so"
FRAMEWORK_SINCE = (2, 11)
CACHE = "/etc/ld.so.cache"
CACHE_LIMIT = 8 << 20
DEFAULT_FOLDERS = ("/lib/{triplet}", "/usr/lib/{triplet}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
# Where toolkits lie that nothing leads the loader to: a remedy can name them.
TOOLKIT_FOLDERS = ("/usr/local", "/opt")
TOOLKIT = re.compile(r"cuda(-\d+(\.\d+)?)?\Z")
ELSEWHERE = ("/usr/lib/wsl/lib", "/usr/lib/cuda/lib64")
NOT_SEARCHED = ""
DEFAULT = "default folders"
NO_TENSORFLOW = "TensorFlow is not installed: nothing would load CUDA libraries"
SOURCE = "files, in the loader's order"


class Place(Struct, frozen=True):
    """One folder, and what leads the loader there (nothing: empty)."""

    folder: str
    found_by: str


def read_libraries(host: Host, python: PythonFacts, tensorflow: TensorFlowFacts) -> LibraryFacts:
    """Return the libraries of a target environment. Never raises; takes about 10 ms."""
    location = tensorflow.location.get()
    if not isinstance(python.search_path, Known):
        return _unread(python.search_path)
    if not location:
        return _unread(tensorflow.location if isinstance(tensorflow.location, Unknown) else Unknown(NO_TENSORFLOW))
    if not host.is_real and not host.exists(location):
        return _unread(Unknown(f"{location} is not below the folder that stands for this machine"))
    files, version, variables = Files(host, python), tensorflow.version.get() or "", python.environment.get() or {}
    own = opener(files, location, version, python.prefix.get())
    if own is None:
        return _unread(Unknown("TensorFlow's own library was not found: where it looks for others is not known"))
    found = _in_order(files, _places(own, variables), _cached(host, own.machine))
    found += _needed_by(files, found)
    found += _not_searched(files, found, python)
    ptxas, ptxas_version = xla.ptxas(files, location, version, variables)
    return LibraryFacts(
        found=Known(tuple(_with_winners(found)), SOURCE),
        ptxas=ptxas,
        ptxas_version=ptxas_version,
        libdevice=xla.libdevice(files, location, version, variables),
    )


def _unread(reason: object) -> LibraryFacts:
    unknown = reason if isinstance(reason, Unknown) else Unknown(NO_TENSORFLOW)
    return LibraryFacts(found=unknown, ptxas=unknown, ptxas_version=unknown, libdevice=unknown)


def opener(files: Files, location: str, version: str, prefix: str | None) -> elf.SearchPath | None:
    """Return the search path of the library of TensorFlow that opens the CUDA libraries, with folders in full."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    names = OPENERS if not numbers or numbers >= FRAMEWORK_SINCE else (OPENER_BEFORE_2_11, *OPENERS)
    paths = [f"{location}/{name}" for name in names]
    if prefix is not None:  # conda-forge's builds keep it there
        paths.append(f"{prefix}/lib/{OPENERS[0]}")
    return next((found for path in paths if (found := files.search_path(path)) is not None), None)


def _places(own: elf.SearchPath, variables: dict[str, str]) -> list[Place]:
    """Return the folders that the loader searches, without those that its cache holds."""
    environment = [part for part in re.split("[:;]", variables.get("LD_LIBRARY_PATH", "")) if part.startswith("/")]
    defaults = [folder.format(triplet=f"{own.machine}-linux-gnu") for folder in DEFAULT_FOLDERS]
    order = ((own.rpath, "RPATH"), (environment, "LD_LIBRARY_PATH"), (own.runpath, "RUNPATH"), (defaults, DEFAULT))
    return [Place(folder, found_by) for folders, found_by in order for folder in folders]


def _cached(host: Host, machine: str) -> list[tuple[str, str]]:
    try:
        data = host.read_bytes(CACHE, CACHE_LIMIT)
    except OSError:
        return []
    return elf.cached_libraries(data, machine, NAME)


def _in_order(files: Files, places: list[Place], cached: list[tuple[str, str]]) -> list[Library]:
    """Return what the loader finds, in its order; the cache stands before the default folders."""
    found: list[Library] = []
    seen: set[str] = set()
    before = [place for place in places if place.found_by != DEFAULT]
    for place in before:
        found += files.libraries(place.folder, place.found_by, NAME, seen)
    for _, path in cached:
        library = files.library(path, "ld.so.cache", NAME, seen)
        if library is not None:
            found.append(library)
    for place in places[len(before) :]:
        found += files.libraries(place.folder, place.found_by, NAME, seen)
    return found


def _needed_by(files: Files, found: list[Library]) -> list[Library]:
    """Return nvJitLink as cuSPARSE and cuSOLVER of CUDA 12 and newer find it: by their own search path."""
    more: list[Library] = []
    seen = {files.real(library.path) for library in found}
    for needing in found:
        if needing.name not in ("cusparse", "cusolver"):
            continue
        own = files.search_path(needing.path)
        for folder in () if own is None else (*own.rpath, *own.runpath):
            more += [lib for lib in files.libraries(folder, "RUNPATH", NAME, seen) if lib.name == "nvJitLink"]
    return more


def _not_searched(files: Files, found: list[Library], python: PythonFacts) -> list[Library]:
    """Return the libraries of the usual places that nothing leads the loader to."""
    more: list[Library] = []
    seen = {files.real(library.path) for library in found}
    folders = [folder for site in python.search_path.get() or () for folder in files.wheel_folders(site)]
    prefix = python.prefix.get()
    if prefix and files.is_conda(prefix):
        folders.append(f"{prefix}/lib")
    for base in TOOLKIT_FOLDERS:
        names = [name for name in files.names(base) if TOOLKIT.match(name)]
        folders += [f"{base}/{name}/{lib}" for name in sorted(names, reverse=True) for lib in ("lib64", "lib")]
    for folder in (*folders, *ELSEWHERE):
        more += files.libraries(folder, NOT_SEARCHED, NAME, seen)
    return more


def _with_winners(found: list[Library]) -> list[Library]:
    """Mark the first that the loader meets of each soname."""
    taken: set[str] = set()
    marked = []
    for library in found:
        wins = bool(library.found_by) and library.soname not in taken
        if wins:
            taken.add(library.soname)
        marked.append(replace(library, wins=wins))
    return marked
