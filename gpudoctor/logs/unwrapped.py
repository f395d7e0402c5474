"""A log that a terminal has broken into lines of its own width, as copied from the console of Windows."""

from __future__ import annotations

import re

# Narrower terminals are rare. Where no two lines show the width, it is one of the usual ones.
NARROWEST, WIDEST, USUAL = 60, 250, (80, 100, 120)
MOST_PIECES = 20

# TensorFlow's lines begin with a time; what continues one does not.
_LOG = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}: [IWEF] |[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} "
_INSIDE = rb"[\w/.,'-]"


def unwrapped(text: bytes) -> bytes:
    """Return a text with such lines whole again, each followed by as many empty ones as it had pieces more.

    So the numbers of lines stay. Joined are lines of TensorFlow's log only, where they have one and the same length and
    go on in the middle of a word or number.
    """
    if b".cc" not in text:
        return text
    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
    logged = [number for number, line in enumerate(lines) if line[:1].isalnum() and re.match(_LOG, line)]
    broken = [number for number in logged if _goes_on(lines, number)]
    width = _width([len(lines[number]) for number in broken])
    if not width:
        return text
    starts = {number for number in broken if len(lines[number]) == width}
    joined: list[bytes] = []
    number = 0
    while number < len(lines):
        end = _end(lines, number, width, set(logged)) if number in starts else number
        joined.append(b"".join(lines[number : end + 1]))
        joined.extend([b""] * (end - number))
        number = end + 1
    return b"\n".join(joined)


def _width(lengths: list[int]) -> int:
    """Return the width of the terminal, 0 where nothing shows it."""
    found = [length for length in lengths if NARROWEST <= length <= WIDEST]
    common = max(found, key=found.count, default=0)
    return common if found.count(common) > 1 or common in USUAL else 0


def _next(lines: list[bytes], number: int) -> int:
    """Return the line after this one: pages put an empty one between."""
    after = number + 1
    return after + 1 if after + 1 < len(lines) and not lines[after].strip() else after


def _goes_on(lines: list[bytes], number: int) -> bool:
    after = _next(lines, number)
    if after >= len(lines):
        return False
    return bool(re.match(_INSIDE, lines[number][-1:]) and re.match(_INSIDE, lines[after][:1]))


def _end(lines: list[bytes], number: int, width: int, logged: set[int]) -> int:
    """Return the last piece of the line that begins here."""
    for _ in range(MOST_PIECES):
        after = _next(lines, number)
        if len(lines[number]) != width or after >= len(lines) or after in logged or not lines[after].strip():
            break
        number = after
    return number
