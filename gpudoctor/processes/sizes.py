"""Sizes of memory as they stand in a sentence or a list."""

from __future__ import annotations

MIB = 1024 * 1024
GIB = 1024 * MIB


def size_text(count: int | None, unknown: str = "an unknown size") -> str:
    """Return a size in bytes as people write it: 200 MiB, 1.2 GiB. One that is not known is not 0."""
    if count is None:
        return unknown
    return f"{count / MIB:.0f} MiB" if count < GIB else f"{count / GIB:.1f} GiB"
