"""The C++ library that TensorFlow gets in the target environment, and what TensorFlow's own libraries ask of it."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gpudoctor.facts.model import Absent, Fact, Known, Unknown
from gpudoctor.facts.probes import libraries_elf as elf
from gpudoctor.facts.probes import libraries_symbols as symbols
from gpudoctor.facts.probes.libraries import CACHE, CACHE_LIMIT, DEFAULT_FOLDERS, OPENERS, opener
from gpudoctor.facts.probes.libraries_files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpudoctor.facts.host import Host
    from gpudoctor.facts.model import PythonFacts, TensorFlowFacts

NAME = "libstdc++.so.6"
WANTED = re.compile(re.escape(NAME) + r"\Z")
OWN = (*OPENERS, "libtensorflow_cc.so.2")
# How another module of the process finds a copy, which it may bring first.
BESIDE, PRELOAD = "another module's search path", "LD_PRELOAD"
ELSEWHERE = Unknown("the interpreter does not lie below the folder that stands for this machine")


def read_stdcxx(host: Host, python: PythonFacts, tensorflow: TensorFlowFacts) -> tuple[PythonFacts, TensorFlowFacts]:
    """Return both groups with the C++ library and the symbol versions that TensorFlow needs. Never raises.

    Where another module of the process can bring a copy of its own first, as one of conda's does, that one is told
    beside it (`also`): files cannot tell which is loaded first.
    """
    interpreter = python.executable.get()
    if not interpreter or not isinstance(python.search_path, Known):
        reason = python.search_path if isinstance(python.search_path, Unknown) else ELSEWHERE
        return replace(python, libstdcxx=reason, libstdcxx_file=reason), replace(tensorflow, symbol_versions=reason)
    files = Files(host, python)
    own = _own(files, host, python, tensorflow)
    tensorflow = replace(tensorflow, symbol_versions=own)
    if not host.is_real and not host.exists(interpreter):
        return replace(python, libstdcxx=ELSEWHERE, libstdcxx_file=ELSEWHERE), tensorflow
    first: Known[tuple[str, ...]] | None = None
    way, beside = "", dict[str, tuple[str, ...]]()
    for path, found_by in _candidates(host, files, python, tensorflow):
        versions = () if first is not None and found_by != BESIDE else _defined(host, path)
        if versions and found_by == BESIDE:
            beside.setdefault(files.real(path), versions)
        elif versions:
            first, way = Known(versions, path), found_by
    return _told(files, python, first, way, beside), tensorflow


def _told(
    files: Files,
    python: PythonFacts,
    first: Known[tuple[str, ...]] | None,
    way: str,
    beside: dict[str, tuple[str, ...]],
) -> PythonFacts:
    """Fill in the copy that TensorFlow's libraries lead to, and beside it those of other modules."""
    if first is None and beside:
        path = next(iter(beside))
        first, way = Known(beside[path], path), BESIDE
    if first is None:
        absent = Absent(f"no {NAME} where the loader looks")
        return replace(python, libstdcxx=absent, libstdcxx_file=absent)
    taken = files.real(first.source)
    also = tuple((versions, path) for path, versions in beside.items() if path != taken and way != PRELOAD)
    return replace(python, libstdcxx=replace(first, also=also), libstdcxx_file=Known(first.source, way))


def _candidates(
    host: Host, files: Files, python: PythonFacts, tensorflow: TensorFlowFacts
) -> Iterator[tuple[str, str]]:
    """Give the places of the library in the loader's order, those of other modules among them."""
    variables, prefix = python.environment.get() or {}, python.prefix.get()
    location, program = tensorflow.location.get(), files.real(python.executable.require())
    own = opener(files, location, tensorflow.version.get() or "", prefix) if location else None
    base = files.search_path(program) or elf.SearchPath()
    for part in re.split("[: ]", variables.get(PRELOAD, "")):
        if posixpath.basename(part).startswith(NAME):
            yield part, PRELOAD
    # The program's DT_RPATH counts for all that it loads, but not for a library that has a DT_RUNPATH.
    before = base.rpath if own is None or not own.runpath else ()
    for folder in (*(own.rpath if own else ()), *before):
        yield f"{folder}/{NAME}", "RPATH"
    for folder in re.split("[:;]", variables.get("LD_LIBRARY_PATH", "")):
        if folder.startswith("/"):
            yield f"{folder}/{NAME}", "LD_LIBRARY_PATH"
    for folder in own.runpath if own else ():
        yield f"{folder}/{NAME}", "RUNPATH"
    for folder in (*base.rpath, *((f"{prefix}/lib",) if prefix and files.is_conda(prefix) else ())):
        yield f"{folder}/{NAME}", BESIDE
    yield from _of_system(host, base.machine)


def _of_system(host: Host, machine: str) -> Iterator[tuple[str, str]]:
    try:
        cached = elf.cached_libraries(host.read_bytes(CACHE, CACHE_LIMIT), machine, WANTED)
    except OSError:
        cached = []
    for _, path in cached:
        yield path, "ld.so.cache"
    for folder in DEFAULT_FOLDERS:
        yield f"{folder.format(triplet=f'{machine}-linux-gnu')}/{NAME}", "default folders"


def _defined(host: Host, path: str) -> tuple[str, ...]:
    """Return what a copy defines; nothing where it is none that the loader would take."""
    try:
        return symbols.defined(lambda offset, length: host.read_bytes(path, length, offset))
    except (OSError, ValueError):
        return ()


def _own(files: Files, host: Host, python: PythonFacts, tensorflow: TensorFlowFacts) -> Fact[tuple[str, ...]]:
    """Return the newest symbol versions that TensorFlow's libraries need, as the loader compares them."""
    location = tensorflow.location.get()
    if not location:
        return (
            tensorflow.location if isinstance(tensorflow.location, Unknown) else Absent("TensorFlow is not installed")
        )
    prefix = python.prefix.get()
    folders = [location, *([f"{prefix}/lib"] if prefix and files.is_conda(prefix) else [])]
    names: list[str] = []
    first = ""
    for path in (f"{folder}/{name}" for folder in folders for name in OWN):
        try:
            names += symbols.needed(lambda offset, length, path=path: host.read_bytes(path, length, offset))  # type: ignore[misc]
        except (OSError, ValueError):
            continue
        first = first or path
    if not names:
        return Unknown("TensorFlow's own libraries were not found or name no symbol versions")
    return Known(symbols.newest(names), first)
