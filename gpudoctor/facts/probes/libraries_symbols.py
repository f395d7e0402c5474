"""Symbol versions in ELF files: those that a library defines, and those that it needs. Pure over bytes.

They are read from the tables that the loader itself compares (DT_VERDEF, DT_VERNEED). A search through the file for
"GLIBCXX_3.4.30" would find the texts of both kinds, and of libstdc++ reads 2 MB where these tables are a few KB.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from gpudoctor.facts.probes import libraries_elf as elf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpudoctor.facts.probes.libraries_elf import Reader

_VERDEF, _VERDEF_COUNT = 0x6FFFFFFC, 0x6FFFFFFD
_VERNEED, _VERNEED_COUNT = 0x6FFFFFFE, 0x6FFFFFFF
_DEFINED = struct.Struct("<HHHHIII")
_NEEDED, _NEEDED_NAME = struct.Struct("<HHIII"), struct.Struct("<IHHII")
# A reference that the loader only warns of.
_WEAK = 0x2
# libstdc++ defines some 60 versions, TensorFlow needs some 40 of ten libraries.
_TABLE_LIMIT, _MOST = 64 * 1024, 1024
_STRINGS_LIMIT, _NAME_LIMIT = 1 << 20, 64
VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)\Z")


def defined(read: Reader) -> tuple[str, ...]:
    """Return the newest version of each family that a library defines: GLIBCXX_3.4.30, CXXABI_1.3.13.

    Raises ValueError for what is no 64-bit little-endian ELF file.
    """
    return _newest(read, _VERDEF, _VERDEF_COUNT, _defined)


def needed(read: Reader) -> tuple[str, ...]:
    """Return the newest version of each family that a library needs of others. Raises ValueError as `defined` does."""
    return _newest(read, _VERNEED, _VERNEED_COUNT, _needed)


def newest(names: Iterable[str]) -> tuple[str, ...]:
    """Return the newest of each family among versions; other names (CXXABI_TM_1) are left out."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for name in names:
        match = VERSION.match(name)
        if match is not None:
            numbers = tuple(map(int, match[2].split(".")))
            found[match[1]] = max(found.get(match[1], ((), "")), (numbers, name))
    return tuple(found[family][1] for family in ("GLIBC", "GLIBCXX", "CXXABI") if family in found)


def _newest(read: Reader, tag: int, counted: int, walk: Callable[[bytes, int], list[int]]) -> tuple[str, ...]:
    own = elf.dynamic(read)
    table, strings = own.offset(tag), own.offset(elf.DT_STRTAB)
    if table is None or strings is None:
        return ()
    try:
        at = walk(read(table, _TABLE_LIMIT), min(own.tags.get(counted, 0), _MOST))
    except struct.error as exc:
        raise ValueError("damaged table of versions") from exc
    return newest(_texts(read, strings, at))


def _defined(data: bytes, count: int) -> list[int]:
    """Return where the names of the defined versions lie, as offsets among the texts."""
    found, place = [], 0
    for _ in range(count):
        _, _, _, _, _, first, following = _DEFINED.unpack_from(data, place)
        found.append(struct.unpack_from("<I", data, place + first)[0])
        place += following
        if not following:
            break
    return found


def _needed(data: bytes, count: int) -> list[int]:
    """Return where the names of the versions that must be there lie, as offsets among the texts."""
    found, place = [], 0
    for _ in range(count):
        _, names, _, first, following = _NEEDED.unpack_from(data, place)
        entry = place + first
        for _ in range(min(names, _MOST)):
            _, flags, _, name, next_name = _NEEDED_NAME.unpack_from(data, entry)
            if not flags & _WEAK:
                found.append(name)
            entry += next_name
        place += following
        if not following:
            break
    return found


def _texts(read: Reader, strings: int, offsets: list[int]) -> list[str]:
    """Return the texts at offsets: linkers put those of the versions side by side, so one reading mostly serves."""
    if not offsets:
        return []
    low, high = min(offsets), max(offsets)
    if high - low > _STRINGS_LIMIT:
        return [_text(read(strings + offset, _NAME_LIMIT), 0) for offset in offsets]
    data = read(strings + low, high - low + _NAME_LIMIT)
    return [_text(data, offset - low) for offset in offsets]


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    return data[start : end if end >= 0 else start].decode("ascii", "replace")
