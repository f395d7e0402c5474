"""Notes on lines of TensorFlow's log that alarm and mean nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule


def note(rule: Rule, facts: Facts, *messages: str) -> Iterator[Draft]:
    """Yield one finding if the log holds one of these messages. Raises FactUnavailable where there is no log."""
    facts.tensorflow.events.require()
    told = events(facts, *messages)
    if told:
        yield rule.finding(seen(told))
