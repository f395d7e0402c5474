"""ignore-expired."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.policy.model import Ignore
from gpudoctor.rules.registry import Draft, Rule, rule

REMOVE = Remedy(
    summary="Remove the expired entry from ignore in the policy, or give it a later date.",
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.NOTE,
    asks="expired",
    message="the policy ignored {ignored} until {until} only: its findings count again",
)
def ignore_expired(self: Rule, _: Facts, asked: tuple[Ignore, ...]) -> Iterator[Draft]:
    """A rule was ignored until a date that has passed.

    Why it matters: the gate fails again where it passed before, and a reader should know why.
    How to fix: remove the entry from the policy if the fault is mended, or give it a later date.
    """
    for item in asked:
        yield self.finding((), remedies=(REMOVE,), ignored=item.rule, until=str(item.until))
