"""Reads texts of any size in one pass: messages by the log reader, whole lines by the readers of formats."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from gpudoctor.facts.model import LogEvent
from gpudoctor.logs.glued import lines_of
from gpudoctor.logs.margins import without_margins
from gpudoctor.logs.reader import read_log
from gpudoctor.logs.seen import Seen, compiled
from gpudoctor.logs.unwrapped import unwrapped

# So much from the beginning of a text is read line by line, and so much of its end.
WHOLE_BYTES = 512 * 1024
END_BYTES = 64 * 1024
# After an opener so much is read line by line; all such parts together at most LOOK_BYTES, then one a block.
PART_BYTES = 12 * 1024
SMALL_PART_BYTES = 2 * 1024
LOOK_BYTES = 2 * 1024 * 1024
# A line is read up to here, and so many updates of a progress bar on it.
LINE_BYTES = 4096
FIRST_UPDATES, LAST_UPDATES = 160, 40
MOST_ITEMS = 2000
# Epochs in a block, around which updates of the progress bar are looked at, and how far.
EPOCHS_PER_BLOCK = 4
BEFORE_EPOCH, AFTER_EPOCH = 400, 800
# Up to this size a text is read at once, and words are found that stand apart by several spaces, or by colours.
SMALL_BYTES = 256 * 1024
# Of one message so many events are kept from the beginning of a text, and so many from its end.
FIRST_EVENTS, LAST_EVENTS = 40, 20

# With or without the escape character, which pastes often lose.
_ANSI = re.compile(
    r"\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b?\[[0-9;?]{1,12}m|\x1b\[[0-9;?]{0,12}[A-Za-z]|\x1b[()][A-Z0-9]"
)
_QUOTE = re.compile(r"(?:> ){1,8}")
_UPDATE = re.compile(rb"\r+|\x08+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_COLOUR = re.compile(rb"\x1b\[[0-9;]{0,12}[A-Za-z]")
_SPACES = re.compile(rb" {2,}")


class Format(Protocol):
    """A reader of one format."""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line; at: its source, log.txt:12."""


@functools.cache
def _modules() -> tuple[tuple[type[Format], ...], tuple[bytes, ...]]:
    """Return the classes of all formats, and the fixed texts that announce them."""
    package = importlib.import_module("gpudoctor.logs.formats")
    found = [
        importlib.import_module(f"{package.__name__}.{item.name}") for item in pkgutil.iter_modules(package.__path__)
    ]
    openers = dict.fromkeys(opener for module in found for opener in module.OPENERS)
    return tuple(module.Reader for module in found), tuple(openers)


class TextReader:
    """Reads one text after the other into Seen."""

    def __init__(self) -> None:
        self.seen = Seen()
        classes, self.OPENERS = _modules()
        self._formats = [each() for each in classes]
        self._source = ""
        self._whole = 0
        self._looked = 0
        self._until = 0  # bytes of the next block that still belong to a part

    def format(self, kind: type[Format]) -> Format:
        """Return the reader of this class."""
        return next(item for item in self._formats if type(item) is kind)

    def formats(self) -> Iterator[tuple[str, Format]]:
        """Yield the name and the reader of each format: nvidia-smi-table."""
        for reader in self._formats:
            yield type(reader).__module__.rpartition(".")[2].replace("_", "-"), reader

    def read(self, pieces: Iterable[bytes], source: str) -> None:
        """Read a text that arrives in pieces. Never raises for what the bytes are."""
        self._source, self._whole, self._looked, self._until = source, 0, 0, 0
        rest, head = iter(pieces), bytearray()
        for piece in rest:
            head += piece
            if len(head) > SMALL_BYTES:
                self._events(read_log(itertools.chain((bytes(head),), rest), source, self))
                return
        whole = unwrapped(bytes(head))
        self.block(whole, 1, [], last=True)
        self._events(read_log((_without_gaps(whole),), source))
        if joined := without_margins(whole):
            known = {event.message for event in self.seen.events}
            self._events(event for event in read_log((joined,), source) if event.message not in known)

    def _events(self, events: Iterable[LogEvent]) -> None:
        """Keep events: of each message the first and the last."""
        kept: dict[str, int] = {}
        late: dict[str, deque[LogEvent]] = {}
        for event in events:
            name = event.message
            kept[name] = kept.get(name, 0) + 1
            if kept[name] <= FIRST_EVENTS:
                self.seen.events.append(event)
            else:
                late.setdefault(name, deque(maxlen=LAST_EVENTS)).append(event)
        self.seen.recognised += sum(kept.values())
        for more in late.values():
            self.seen.events.extend(more)

    def block(self, text: bytes, line: int, opened: list[int], last: bool) -> None:
        """Take the next part of the text; see reader.Listener."""
        if self._whole < WHOLE_BYTES:
            end = WHOLE_BYTES - self._whole
            self._whole += len(text)
            if len(text) <= end:
                self._lines(text, line)
                return
            cut = text.rfind(b"\n", 0, end) + 1 or end
            self._lines(text[:cut], line)
            line += text.count(b"\n", 0, cut)
            opened = [position - cut for position in opened if position >= cut]
            text = text[cut:]
        self._parts(text, line, opened)
        self._epochs(text, line)
        if last and text:
            start = max(0, len(text) - END_BYTES)
            start = text.find(b"\n", start) + 1 if start else 0
            self._lines(text[start:], line + text.count(b"\n", 0, start))

    def _parts(self, text: bytes, line: int, opened: list[int]) -> None:
        """Read what follows openers."""
        free = self._looked < LOOK_BYTES
        size = PART_BYTES if free else SMALL_PART_BYTES
        done, self._until = 0, min(self._until, len(text))
        if self._until:
            self._lines(text[: self._until], line)
            done, self._until = self._until, 0
        for position in opened if free else opened[-1:]:
            if position < done:
                continue
            start = text.rfind(b"\n", 0, position) + 1
            start = max(start, done, position - LINE_BYTES)
            end = text.find(b"\n", start + size)
            end = len(text) if end < 0 else end
            end = min(end, start + size + LINE_BYTES)
            self._lines(text[start:end], line + text.count(b"\n", 0, start))
            self._looked += end - start
            done = end
            if end == len(text):
                self._until = SMALL_PART_BYTES

    def _epochs(self, text: bytes, line: int) -> None:
        """Look at updates of the progress bar around the heads of epochs."""
        position = text.find(b"Epoch ")
        for _ in range(EPOCHS_PER_BLOCK):
            if position < 0:
                break
            start = max(text.rfind(b"\n", 0, position - BEFORE_EPOCH), position - BEFORE_EPOCH, 0)
            self._lines(text[start : position + AFTER_EPOCH], line + text.count(b"\n", 0, start))
            position = text.find(b"Epoch ", position + AFTER_EPOCH)

    def _lines(self, text: bytes, line: int) -> None:
        for number, raw in enumerate(text.split(b"\n"), line):
            at = f"{self._source}:{number}"
            if b'[{"name": "' in raw:  # a list of packages as JSON stands on one line
                updates = raw.split(b"}, ", MOST_ITEMS)
            elif b"\r" in raw or b"\x08" in raw:
                updates = _UPDATE.split(
                    raw if len(raw) < 64 * LINE_BYTES else raw[: 32 * LINE_BYTES] + raw[-32 * LINE_BYTES :]
                )
                if len(updates) > FIRST_UPDATES + LAST_UPDATES:
                    updates = updates[:FIRST_UPDATES] + updates[-LAST_UPDATES:]
            else:
                updates = [raw]
            for update in updates:
                shown = plain_line(update[:LINE_BYTES])
                if shown or len(updates) == 1:
                    for part in lines_of(shown):
                        for reader in self._formats:
                            reader.line(part, at, self.seen)


def _without_gaps(text: bytes) -> bytes:
    """Return a text without colours, and with one space where a viewer has put several; tables stay as they are."""
    if b"\x1b" in text:
        text = _COLOUR.sub(b"", text)
    if b"  " not in text:
        return text
    lines = text.split(b"\n")
    return b"\n".join(_SPACES.sub(b" ", line) if b"  " in line and line[:1] != b"|" else line for line in lines)


# What container engines, kubectl, the journal, mpirun, srun and logging put before each line.
_STAMP = (
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\s(?:std(?:out|err) [FP] )?"
    r"|[T ]\d\d:\d\d:\d\d(?:[,.]\d{3,6})?\s(?:- )?(?:[\w.]{1,40} - )?\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\]?"
    r"(?: -|:)? )"
)
_JOURNAL = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,60} [\w.@/-]{1,40}(?:\[\d{1,8}\])?: "
_RANK = r"\[\d{1,4}(?:,\d{1,4})?\]<std(?:err|out)>: ?"
_SERVICE = r"[\w.-]{1,40}\s{1,20}\| "
_TASK = r"\s{0,3}\d{1,4}: "
_NUMBER = r"\s{0,7}\d{1,7}\t"


def _prefixes(text: str) -> Iterator[str]:
    """Yield the patterns of what may stand before a line of this look."""
    first = text[:1]
    if first.isdigit() and text[4:5] == "-" and text[26:28] != ": ":  # that is TensorFlow's own
        yield _STAMP
    if first == "[" and ">:" in text[:22]:
        yield _RANK
    if text[3:4] == " " and text[9:10] == ":" and first.isupper():
        yield _JOURNAL
    if first != "|" and " | " in text[:62] and not first.isspace():
        yield _SERVICE
    if "\t" in text[:8] and text.lstrip()[:1].isdigit():
        yield _NUMBER
    if ": " in text[:8] and text[:4].strip()[:1].isdigit():
        yield _TASK


def _without_prefix(text: str) -> str:
    """Return a line without what a tool that carried it has put before it."""
    for pattern in _prefixes(text):
        match = compiled(pattern).match(text)
        if match is not None:
            return text[match.end() :]
    return text


def plain_line(raw: bytes) -> str:
    """Return a line without colours, control characters, marks of quotation, and what a tool put before it."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text or "[" in text:
        text = _ANSI.sub("", text)
    if text.startswith("> "):
        text = _QUOTE.sub("", text, count=1)
    return _without_prefix(_CONTROL.sub("", text).rstrip())
