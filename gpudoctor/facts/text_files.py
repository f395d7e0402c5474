"""Where texts come from: files and standard input, in UTF-8 or UTF-16, notebooks, and gpudoctor's own files."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from gpudoctor.facts.model import Facts

PIECE_BYTES = 1024 * 1024
# JSON has to be read whole: larger files are read as text.
JSON_BYTES = 32 * 1024 * 1024
MOST_CELLS = 5000


class Part(Struct, frozen=True):
    """A text, or a part of one, with the name by which its lines are told."""

    name: str
    pieces: Iterable[bytes]
    facts: Facts | None = None


class _Output(Struct):
    text: str | list[str] = ""
    data: dict[str, msgspec.Raw] = {}
    traceback: list[str] = []


class _Cell(Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    outputs: list[_Output] = []


class _Notebook(Struct):
    cells: list[_Cell]


def parts_of(file: BinaryIO, name: str) -> Iterator[Part]:
    """Yield the parts of a file. Raises OSError where it cannot be read, and nothing for what stands in it."""
    head = file.read(PIECE_BYTES)
    if head.lstrip()[:1] == b"{" and (b'"cells"' in head or b'"facts"' in head or b'"schema"' in head):
        whole = head + file.read(JSON_BYTES)
        if len(whole) < JSON_BYTES:
            found = list(_notebook(whole, name) if b'"nbformat"' in whole else _own(whole, name))
            yield from found or [Part(name, [whole])]
            return
        head = whole
    yield Part(name, _utf_8(_pieces(head, file)))


def _pieces(head: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield head
    while piece := file.read(PIECE_BYTES):
        yield piece


def _utf_8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same text in UTF-8; PowerShell writes UTF-16."""
    head = next(pieces, b"")
    encoding = ""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    elif _mostly_zero(head[1:200:2]):
        encoding = "utf-16-le"
    elif _mostly_zero(head[0:200:2]):
        encoding = "utf-16-be"
    if not encoding:
        yield _typed(head.removeprefix(codecs.BOM_UTF8))
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(head).encode("utf-8", "replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


# What word processors, browsers and web pages make of characters that were typed.
_TYPESET = (
    ("\u00a0", " "), ("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'), ("&#39;", "'"),
    ("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
)  # fmt: skip


def _typed(text: bytes) -> bytes:
    """Return a short text in the characters that the software printed; a log of megabytes is no paste."""
    if len(text) >= PIECE_BYTES:
        return text
    for shown, meant in _TYPESET:
        text = text.replace(shown.encode(), meant.encode())
    return text


def _mostly_zero(text: bytes) -> bool:
    """Whether two of three bytes are zero, as every second one is in UTF-16."""
    return len(text) > 1 and text.count(0) * 3 > len(text) * 2


def _own(raw: bytes, name: str) -> Iterator[Part]:
    """Yield the facts of a facts file, or of a report."""
    from gpudoctor.facts import codec

    with contextlib.suppress(codec.FactsFileError):
        yield Part(name, (), codec.decode(raw))
        return
    try:
        facts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).get("facts")
        if facts is not None:
            yield Part(name, (), codec.decode(bytes(facts)))
    except (msgspec.DecodeError, codec.FactsFileError, RecursionError, UnicodeDecodeError):
        return


def _notebook(raw: bytes, name: str) -> Iterator[Part]:
    """Yield the cells of a notebook: what was typed, as at a prompt, and what came of it."""
    try:
        notebook = msgspec.json.decode(raw, type=_Notebook, strict=False)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return
    for number, cell in enumerate(notebook.cells[:MOST_CELLS], 1):
        if cell.cell_type != "code":
            continue
        typed = [
            f">>> {line}" if not line.startswith("!") else f"$ {line[1:]}" for line in _text(cell.source).splitlines()
        ]
        printed = [_text(output.text) + _plain(output) + "\n".join(output.traceback) for output in cell.outputs]
        text = "\n".join([*typed, *printed]) + "\n"
        yield Part(f"{name}, cell {number}", [text.encode("utf-8", "replace")])


def _plain(output: _Output) -> str:
    raw = output.data.get("text/plain")
    if raw is None:
        return ""
    try:
        return _text(msgspec.json.decode(raw, type=str | list[str]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
