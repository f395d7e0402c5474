"""Messages that a person or a mail program has broken into lines behind a margin."""

from __future__ import annotations

import re

WIDEST, LEAST = 240, 30
# What was broken so goes on in small letters.
_GOES_ON = re.compile(rb" {1,12}[a-z(]")
_WHOLE = (b".", b":", b";", b",", b"{", b"(", b"[", b"=", b"\\", b">", b"|", b"!", b"?")


def without_margins(text: bytes) -> bytes:
    """Return a text with such lines joined, each followed by as many empty ones: its lines keep their numbers.

    Empty where nothing was joined.
    """
    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
    joined: list[bytes] = []
    number = 0
    while number < len(lines):
        line, start = lines[number], number
        while number + 1 < len(lines) and _is_broken(lines[number], lines[number + 1]):
            number += 1
            line += b" " + lines[number].lstrip(b" ")
        joined += [line, *[b""] * (number - start)]
        number += 1
    return b"\n".join(joined) if joined != lines else b""


def _is_broken(line: bytes, following: bytes) -> bool:
    return LEAST <= len(line) <= WIDEST and bool(_GOES_ON.match(following)) and not line.rstrip().endswith(_WHOLE)
