"""What sentences of people say: the reader of the rows, one a thing said, that the modules beside it hold.

A row is looked at where one part of a word of each of its groups stands on the line, in small letters: a pattern is
compiled and tried for few. What is said under a condition, or as advice, says nothing of the machine at hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.logs.seen import compiled
from gpudoctor.logs.sentences import idle, input, machine, memory, several, training  # noqa: A004 (a topic)


class Sentence(Struct, frozen=True):
    """One thing that a person may say. event: name of the row in gpudoctor.logs.rows.said.

    words: groups of parts of words; ways: patterns, of which one has to fit; unless: what makes it mean something else.
    """

    event: str
    words: tuple[tuple[str, ...], ...]
    ways: tuple[str, ...]
    unless: str = ""


_ENDS = r"(?<=[.?!;])\s+|[\u3002\uff1f\uff01\uff1b]"
_ADVICE = (
    r"(?<!wonder )(?<!wondering )(?<!know )(?<!sure )\bif (?:the|your|you|a|an|it)\b"
    r"|\byou (?:can|may|might|could|should|need|must|want)\b|\bwe (?:recommend|suggest)\b|\b(?:it is|are) recommended\b"
    r"|\bto avoid\b|\bmake sure\b|\btends? to\b|\bcan (?:be|lead|cause|result|help|make)\b"
)
_ADVICE_WORDS = ("if ", "you ", "we ", "recommended", "to avoid", "make sure", "tend", "can ")

SENTENCES: tuple[Sentence, ...] = tuple(
    Sentence(*row) for topic in (idle, training, input, memory, several, machine) for row in topic.ROWS
)


def sentences_of(line: str) -> list[tuple[int, int]]:
    """Return where the sentences of a line begin and end."""
    ends = [(match.start(), match.end()) for match in compiled(_ENDS).finditer(line)]
    return list(zip([0, *(end for _, end in ends)], [*(begin for begin, _ in ends), len(line)], strict=True))


def said_in(low: str) -> Iterator[tuple[str, int, int]]:
    """Yield what a line says: the name, and where the sentence begins and ends. low: the line, in small letters."""
    found = [row for row in SENTENCES if all(any(word in low for word in group) for group in row.words)]
    if not found:
        return
    for start, end in sentences_of(low):
        sentence = low[start:end]
        if any(word in sentence for word in _ADVICE_WORDS) and compiled(_ADVICE).search(sentence):
            continue
        for row in found:
            fits = any(compiled(way).search(sentence) for way in row.ways)
            if fits and not (row.unless and compiled(row.unless).search(sentence)):
                yield row.event, start, end
