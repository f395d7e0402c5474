"""A text with its recognised lines marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.logs.reader import LogReader
from gpudoctor.logs.text import plain_line

# A line is recognised when what follows it has been read: so many lines are held back.
HELD_BYTES = 4 * 1024 * 1024
SHOWN = 2000


class _Tap:
    """Lets the reader's blocks pass, and keeps them until their events are known."""

    OPENERS: tuple[bytes, ...] = ()

    def __init__(self) -> None:
        self.blocks: list[tuple[bytes, int]] = []

    def block(self, text: bytes, line: int, opened: list[int], last: bool) -> None:
        """Take the next part of the text."""
        del opened, last
        self.blocks.append((text, line))


def marked_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the text in blocks of lines, each recognised line with the names of its messages before it."""
    tap = _Tap()
    log = LogReader("", tap)
    found: dict[int, list[str]] = {}
    rest = b""
    for piece in _with_end(pieces):
        for event in log.finish() if piece is None else log.feed(piece):
            found.setdefault(event.line, []).append(event.message)
        while tap.blocks:
            text, line = tap.blocks.pop(0)
            whole = rest + text
            end = len(whole) if piece is None and not tap.blocks else whole.rfind(b"\n") + 1
            yield _marked(whole[:end], line - rest.count(b"\n"), found)
            rest = whole[end:] if len(whole) - end < HELD_BYTES else b""


def _with_end(pieces: Iterable[bytes]) -> Iterator[bytes | None]:
    yield from pieces
    yield None


def _marked(text: bytes, line: int, found: dict[int, list[str]]) -> str:
    lines = []
    for number, raw in enumerate(text.split(b"\n")[: -1 if text.endswith(b"\n") else None], line):
        names = ", ".join(dict.fromkeys(found.pop(number, [])))
        shown = plain_line(raw[:SHOWN])
        lines.append(f"{f'[{names}] ' if names else '  '}{shown}\n")
    return "".join(lines)
