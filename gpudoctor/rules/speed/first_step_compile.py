"""first-step-compile."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._training import measured

# Shorter waits need no explanation.
LONG_SECONDS = 5.0
MANY_STEPS = 20


@rule(
    Severity.NOTE,
    message="the first step took {first} s, each later one {later} s: tracing, and on a GPU loading and choosing its "
    "kernels, happen once",
)
def first_step_compile(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Only the first step is slow.

    Why it matters: it looks like a hang or a slow GPU, and is neither. Short trainings are judged by it wrongly.
    How to fix: nothing to fix; measure from the second epoch on. XLA and GPU code that is compiled at start make it
    longer.
    """
    training = measured(facts)
    first, later = training.first_step_seconds.require(), training.step_seconds.require()
    if first < LONG_SECONDS or first < MANY_STEPS * later:
        return
    yield self.finding(
        ("training.first_step_seconds", "training.step_seconds"), first=round(first, 1), later=round(later, 3)
    )
