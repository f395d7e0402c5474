"""What the dynamic loader of glibc reads: search paths in ELF files and the cache of ldconfig. Pure over bytes."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # (offset, length) -> bytes of a file; fewer at its end.
    Reader = Callable[[int, int], bytes]

_PT_LOAD, _PT_DYNAMIC = 1, 2
DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 5, 15, 29
_HEADER_BYTES = 64
_MACHINES = {62: "x86_64", 183: "aarch64"}
_DYNAMIC_LIMIT = 64 * 1024
# TensorFlow 2.21 carries 27 KB of search path, most of it repeated.
_PATH_LIMIT = 256 * 1024

CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = struct.Struct("=20sIIB3xI12x")
_CACHE_ENTRY = struct.Struct("=iIIIQ")
# Type ELF of libc6 (3) with the machine in the second byte: x86-64 (3), AArch64 (10).
CACHE_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}


class SearchPath(Struct, frozen=True):
    """DT_RPATH and DT_RUNPATH of a file, as written there, without repetitions; and the machine that it is for."""

    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    machine: str = "x86_64"


class Dynamic(Struct, frozen=True):
    """The dynamic section of a file: value by tag, and where its addresses and its texts lie in the file."""

    machine: str
    tags: dict[int, int]
    loads: tuple[tuple[int, int, int], ...] = ()
    """Address, offset in the file and length of each part that is loaded."""

    def offset(self, tag: int) -> int | None:
        """Return where in the file what a tag points at begins; None if there is no such tag or it points nowhere."""
        address = self.tags.get(tag, -1)
        return next((address - start + at for start, at, length in self.loads if 0 <= address - start < length), None)


def dynamic(read: Reader) -> Dynamic:
    """Return the dynamic section of a 64-bit little-endian ELF file, without tags if it has none. Raises ValueError."""
    try:
        return _dynamic(read)
    except struct.error as exc:
        raise ValueError("damaged ELF file") from exc


def _dynamic(read: Reader) -> Dynamic:
    header = read(0, _HEADER_BYTES)
    if len(header) < _HEADER_BYTES or header[:4] != b"\x7fELF" or header[4:6] != b"\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    machine = _MACHINES.get(struct.unpack_from("<H", header, 18)[0], "unknown")
    (table,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    segments = [struct.unpack("<IIQQQQ", entry[:40]) for entry in _split(read(table, size * count), size)]
    place = next(((offset, length) for kind, _, offset, _, _, length in segments if kind == _PT_DYNAMIC), None)
    if place is None:
        return Dynamic(machine, {})
    raw = read(place[0], min(place[1], _DYNAMIC_LIMIT))
    tags = dict(struct.unpack("<QQ", entry) for entry in _split(raw, 16))
    return Dynamic(machine, tags, tuple((v, o, n) for kind, _, o, v, _, n in segments if kind == _PT_LOAD))


def search_path(read: Reader) -> SearchPath:
    """Return the search paths of a 64-bit little-endian ELF file; empty ones if it has none. Raises ValueError."""
    own = dynamic(read)
    strings = own.offset(DT_STRTAB)

    def paths(tag: int) -> tuple[str, ...]:
        if tag not in own.tags or strings is None:
            return ()
        text = read(strings + own.tags[tag], _PATH_LIMIT).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        return tuple(dict.fromkeys(part for part in text.split(":") if part))

    # The loader ignores DT_RPATH where there is a DT_RUNPATH.
    runpath = paths(_DT_RUNPATH)
    return SearchPath(() if runpath else paths(_DT_RPATH), runpath, own.machine)


def _split(data: bytes, size: int) -> Iterator[bytes]:
    if size < 16:  # noqa: PLR2004 (no entry of a table is shorter)
        raise ValueError("damaged ELF header")
    return (data[start : start + size] for start in range(0, len(data) - size + 1, size))


def expand(entry: str, origin: str) -> str | None:
    """Return a search path entry with $ORIGIN replaced; None if it holds another variable ($LIB, $PLATFORM)."""
    text = entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
    return None if "$" in text else text


def cached_libraries(data: bytes, machine: str, wanted: re.Pattern[str]) -> list[tuple[str, str]]:
    """Return (soname, path) of the cache's libraries for a machine, in its order; none of an older or damaged cache."""
    start = data.find(CACHE_MAGIC)
    flags = CACHE_FLAGS.get(machine)
    if start < 0 or flags is None or len(data) < start + _CACHE_HEADER.size:
        return []
    (_, count, _, _, _) = _CACHE_HEADER.unpack_from(data, start)
    table = data[start + _CACHE_HEADER.size : start + _CACHE_HEADER.size + count * _CACHE_ENTRY.size]
    found = []
    # Offsets count from the start of the new format.
    for kind, key, value, _, _ in _CACHE_ENTRY.iter_unpack(
        table[: len(table) // _CACHE_ENTRY.size * _CACHE_ENTRY.size]
    ):
        if kind == flags:
            name = _text_at(data, start + key)
            if wanted.match(name):
                found.append((name, _text_at(data, start + value)))
    return found


def _text_at(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    return data[start : end if end >= 0 else start].decode("utf-8", "surrogateescape")
