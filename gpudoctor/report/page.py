"""A page for a terminal: lines of a width, words never lost, colours where they are wanted. Imports nothing heavy."""

from __future__ import annotations

import re

from gpudoctor.report.clean import clean

Part = tuple[str, str]
"""Text and its style: "bold red", "dim", or nothing."""

_LEAST_WIDTH = 20
_WORD = re.compile(r"\s*\S+\s*")
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}


class Page:
    """Collects the lines of a page."""

    def __init__(self, width: int, *, color: bool = False) -> None:
        self.width = width
        self._color = color
        self._lines: list[str] = []

    def text(self) -> str:
        """Return the page."""
        return "\n".join(line.rstrip() for line in self._lines) + "\n"

    def heading(self, *parts: Part) -> None:
        """Write a line after an empty one."""
        self._lines.append("")
        self.parts(*parts)

    def parts(self, *parts: Part, indent: int = 0) -> None:
        """Write parts one after the other, broken over lines where they are too long."""
        whole = "".join(text for text, _ in parts)
        for start, end in wrapped(whole, max(1, self.width - indent)):
            self._lines.append(" " * indent + self._styled(parts, start, end))

    def paragraph(self, text: str, indent: int = 2, style: str = "") -> None:
        """Write a text of its own."""
        self.parts((clean(text), style), indent=indent)

    def hanging(self, parts: tuple[Part, ...], text: str) -> None:
        """Write parts, and beside them a text whose further lines stand below its first."""
        start = sum(width_of(part) for part, _ in parts)
        text = clean(text)
        for number, (first, end) in enumerate(wrapped(text, max(_LEAST_WIDTH, self.width - start))):
            head = " " * start if number else self._styled(parts, 0, sum(len(part) for part, _ in parts))
            self._lines.append(head + text[first:end])

    def command(self, text: str, style: str = "bold") -> None:
        """Write a command. It is never broken over lines: it has to survive being pasted."""
        shown = f"       {clean(text)}"
        self._lines.append(self._styled(((shown, style),), 0, len(shown)))

    def _styled(self, parts: tuple[Part, ...], start: int, end: int) -> str:
        """Return the characters from start to end of parts, each in its style."""
        shown, offset = [], 0
        for text, style in parts:
            piece = text[max(0, start - offset) : max(0, end - offset)]
            offset += len(text)
            if piece and style and self._color:
                codes = ";".join(_CODES[word] for word in style.split())
                piece = f"\x1b[{codes}m{piece}\x1b[0m"
            shown.append(piece)
        return "".join(shown)


def width_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(sign) for sign in text)


def _columns(sign: str) -> int:
    import unicodedata

    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Return where the lines of a text begin and end, without the spaces at their ends; at least one line."""
    breaks, column = [0], 0
    for match in _WORD.finditer(text):
        word = match[0]
        needed = width_of(word.rstrip())
        if column + needed > width and needed <= width and match.start():
            breaks.append(match.start())
            column = 0
        elif column + needed > width and needed > width:
            column = _fold(match, width, breaks)
            continue
        column += width_of(word)
    ends = [*breaks[1:], len(text)]
    return [(start, start + len(text[start:end].rstrip())) for start, end in zip(breaks, ends, strict=True)]


def _fold(match: re.Match[str], width: int, breaks: list[int]) -> int:
    """Break a word that is longer than a line; return the column after it."""
    position, column = match.start(), 0
    if position:
        breaks.append(position)
    for sign in match[0]:
        columns = _columns(sign)
        if column + columns > width and not sign.isspace():
            breaks.append(position)
            column = 0
        column += columns
        position += 1
    return column
