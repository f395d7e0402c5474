"""A text with its recognised lines marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.logs.formats import said
from gpudoctor.logs.glued import lines_of
from gpudoctor.logs.reader import LogReader
from gpudoctor.logs.seen import Seen
from gpudoctor.logs.text import TextReader, plain_line

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
    """Yield the text in blocks of lines; before each recognised one the names of its messages, or of its format."""
    tap = _Tap()
    log = LogReader("", tap)
    formats = _Formats()
    found: dict[int, list[str]] = {}
    rest = b""
    for piece in _with_end(pieces):
        for event in log.finish() if piece is None else log.feed(piece):
            found.setdefault(event.line, []).append(event.message)
        while tap.blocks:
            text, line = tap.blocks.pop(0)
            whole = rest + text
            end = len(whole) if piece is None and not tap.blocks else whole.rfind(b"\n") + 1
            yield _marked(whole[:end], line - rest.count(b"\n"), found, formats)
            rest = whole[end:] if len(whole) - end < HELD_BYTES else b""


def _with_end(pieces: Iterable[bytes]) -> Iterator[bytes | None]:
    yield from pieces
    yield None


class _Formats:
    """Tells which readers of formats take something from a line."""

    def __init__(self) -> None:
        reader = TextReader()
        self._seen = Seen()
        self._sentences = reader.format(said.Reader)
        self._others = [(name, each) for name, each in reader.formats() if each is not self._sentences]

    def names(self, text: str, at: str) -> Iterator[str]:
        """Yield the names of messages that a line says in words, and of formats that read it."""
        assert isinstance(self._sentences, said.Reader)  # noqa: S101 (it is the class that was asked for)
        for part in lines_of(text):
            yield from self._sentences.messages(part, at, self._seen)
            for name, reader in self._others:
                before = self._seen.recognised
                reader.line(part, at, self._seen)
                if self._seen.recognised != before:
                    yield name


def _marked(text: bytes, line: int, found: dict[int, list[str]], formats: _Formats) -> str:
    lines = []
    for number, raw in enumerate(text.split(b"\n")[: -1 if text.endswith(b"\n") else None], line):
        shown = plain_line(raw[:SHOWN])
        names = ", ".join(dict.fromkeys([*found.pop(number, []), *formats.names(shown, f":{number}")]))
        lines.append(f"{f'[{names}] ' if names else '  '}{shown}\n")
    return "".join(lines)
