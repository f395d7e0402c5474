"""From text to events: finds the messages that we know, in one pass over bytes that may be anything.

Memory is bounded by a block and work grows linearly with the text: fixed words are looked for first, and a pattern sees
only a window around them, however long the line is.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from gpudoctor.facts.model import LogEvent
from gpudoctor.logs.messages import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    class Listener(Protocol):
        """Reads what only whole lines tell, from the parts of the text that may hold it."""

        OPENERS: tuple[bytes, ...]
        """Fixed texts that begin such a part."""

        def block(self, text: bytes, line: int, opened: list[int], last: bool) -> None:
            """Take the next part of the text; line: number of its first line; opened: where openers begin in it."""


BLOCK_BYTES = 256 * 1024
# From here on a matcher that looks for all words at once wins over looking for each.
MATCHER_FROM_BYTES = 64 * 1024
# How much of a line a pattern sees before and after the fixed words.
BEFORE_BYTES = 512
AFTER_BYTES = 2048
# A line that repeats a message without end tells it so often; the next line starts anew.
HITS_PER_LINE = 64
PARAMETER_CHARACTERS = 200

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}[A-Za-z]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def read_log(pieces: Iterable[bytes], source: str = "", listener: Listener | None = None) -> Iterator[LogEvent]:
    """Yield the known messages of a text in the order in which they stand there. Never raises for what the bytes are.

    pieces: lines, blocks of a file, or any other cuts of one text; an open binary file is an iterable of lines.
    source: name of the text, copied into each event. Lines are counted from 1, at line feeds.
    listener: is given the text as well, block by block, in the same pass.
    """
    reader = LogReader(source, listener)
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.finish()


def read_text(text: str, source: str = "") -> Iterator[LogEvent]:
    """Yield the known messages of a text that is in memory."""
    return read_log((text.encode("utf-8", "replace"),), source)


class LogReader:
    """Reads one text that arrives in pieces. Events come when a block is full, and at finish()."""

    def __init__(self, source: str = "", listener: Listener | None = None) -> None:
        self._source = source
        self._listener = listener
        self._words = _words(listener.OPENERS if listener else ())
        self._buffer = bytearray()
        self._scanned = 0  # where in the buffer the next scan starts; what lies before is context for patterns
        self._line = 1  # of that place
        self._claimed = 0  # end of the last match: words belong to one message only
        self._hits: dict[int, int] = {}  # by row, on the line at hand

    def feed(self, piece: bytes) -> Iterator[LogEvent]:
        """Take a piece of any size and yield what is now known."""
        view = memoryview(piece)
        for start in range(0, len(view), BLOCK_BYTES):
            self._buffer += view[start : start + BLOCK_BYTES]
            if len(self._buffer) >= BLOCK_BYTES:
                line_end = self._buffer.rfind(b"\n", self._scanned) + 1
                yield from self._scan(max(line_end, len(self._buffer) - AFTER_BYTES, self._scanned))

    def finish(self) -> Iterator[LogEvent]:
        """Yield what the last, incomplete block holds."""
        yield from self._scan(len(self._buffer), last=True)

    def _scan(self, end: int, *, last: bool = False) -> Iterator[LogEvent]:
        """Yield the messages that begin before `end`; forget what no later pattern has to see."""
        start, first_line = self._scanned, self._line
        opened: list[int] = []
        for position, row, length in self._candidates(end):
            if row < 0:
                opened.append(position - start)
                continue
            self._count_lines(position)
            if position < self._claimed or self._hits.get(row, 0) >= HITS_PER_LINE:
                continue
            self._hits[row] = self._hits.get(row, 0) + 1
            event = self._match(position, row, length)
            if event is not None:
                yield event
        self._count_lines(end)
        if self._listener is not None:
            self._listener.block(bytes(self._buffer[start:end]), first_line, opened, last)
        drop = max(0, end - BEFORE_BYTES)
        del self._buffer[:drop]
        self._scanned -= drop
        self._claimed = max(0, self._claimed - drop)

    def _candidates(self, end: int) -> list[tuple[int, int, int]]:
        """Return (position, row, length) of every fixed text in the part to be scanned, in the order of the text."""
        start = self._scanned
        words = self._words
        found: list[tuple[int, int, int]] = []
        part = bytes(self._buffer[start : end + words.longest - 1])
        for word, position in words.find(part):
            literal = words.literals[word]
            if start + position < end:
                found.extend((start + position, row, len(literal)) for row in words.rows[word])
        found.sort()
        return found

    def _count_lines(self, position: int) -> None:
        """Move the place up to which lines are counted."""
        lines = self._buffer.count(b"\n", self._scanned, position)
        if lines:
            self._line += lines
            self._hits.clear()
        self._scanned = max(self._scanned, position)

    def _match(self, position: int, row: int, length: int) -> LogEvent | None:
        """Try one message around its fixed text, on that line. Latin-1 keeps one character a byte."""
        first = max(0, position - BEFORE_BYTES, self._claimed)
        first = self._buffer.rfind(b"\n", first, position) + 1 or first
        last = position + AFTER_BYTES
        newline = self._buffer.find(b"\n", position, last)
        window = self._buffer[first : last if newline < 0 else newline].decode("latin-1")
        message = MESSAGES[row]
        if not message.pattern:
            self._claimed = position + length
            return LogEvent(message=message.id, line=self._line, source=self._source)
        for match in _compiled(message.pattern).finditer(window):
            if first + match.end() > position and first + match.start() < position + length:
                self._claimed = first + match.end()
                parameters = {name: _clean(value) for name, value in match.groupdict().items() if value is not None}
                return LogEvent(message=message.id, line=self._line, source=self._source, parameters=parameters)
        return None


class _Words:
    """The fixed texts of all rows, and those of a listener (row -1), with what finds them."""

    def __init__(self, openers: tuple[bytes, ...]) -> None:
        rows: dict[bytes, list[int]] = {}
        for row, message in enumerate(MESSAGES):
            for literal in message.literals:
                rows.setdefault(literal.encode("utf-8"), []).append(row)
        for opener in openers:
            rows.setdefault(opener, []).append(-1)
        self.literals = tuple(rows)
        self.rows = tuple(tuple(found) for found in rows.values())
        self.longest = max(map(len, rows))

    def find(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield (word, position) of each occurrence, in any order; of one word they do not overlap."""
        matcher = self._automaton if len(text) >= MATCHER_FROM_BYTES else None
        if matcher is not None:
            last = [0] * len(self.literals)
            for word, position, end in matcher(text):
                if position >= last[word]:
                    last[word] = end
                    yield word, position
            return
        for word, literal in enumerate(self.literals):
            position = text.find(literal)
            while position >= 0:
                yield word, position
                position = text.find(literal, position + len(literal))

    @functools.cached_property
    def _automaton(self) -> Callable[[bytes], list[tuple[int, int, int]]] | None:
        return _matcher(self.literals)


@functools.cache
def _words(openers: tuple[bytes, ...]) -> _Words:
    return _Words(openers)


def _matcher(literals: tuple[bytes, ...]) -> Callable[[bytes], list[tuple[int, int, int]]] | None:
    """Return what finds all words in one pass (Aho-Corasick); None where its package has no build for this machine."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind
    except ImportError:
        return None
    automaton = BytesAhoCorasick(literals, matchkind=MatchKind.Standard, implementation=Implementation.DFA)
    return functools.partial(automaton.find_matches_as_indexes, overlapping=True)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _clean(value: str) -> str:
    """Return a parameter without control characters, cut to a bearable length."""
    text = _COLOUR.sub("", value.encode("latin-1").decode("utf-8", "replace"))
    return _UNPRINTABLE.sub("", text)[:PARAMETER_CHARACTERS].strip()
