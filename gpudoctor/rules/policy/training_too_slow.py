"""training-too-slow."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.policy._asked import unread
from gpudoctor.rules.registry import Draft, Rule, rule

MEASURE = Remedy(
    summary="Measure again while the machine is idle; the report of the benchmark says what limits it.",
    commands=("gpudoctor bench -o json=bench.json",),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    asks="min_images_per_second",
    message="the benchmark trained {have} images a second here, and the policy asks for {need}",
)
def training_too_slow(self: Rule, facts: Facts, asked: float) -> Iterator[Draft]:
    """The stored benchmark of this machine is slower than the policy asks for.

    Why it matters: a GPU that is throttled, shared or fed too slowly is found by no version check.
    How to fix: measure again while the machine is idle; the report of `gpudoctor bench` says what limits it.
    """
    rate = facts.training.images_per_second
    unread(rate, "no benchmark result is at hand (benchmark = FILE in the policy, from gpudoctor bench -o json=FILE)")
    have = rate.require()
    if have < asked:
        yield self.finding(("training.images_per_second",), remedies=(MEASURE,), have=f"{have:.4g}", need=f"{asked:g}")
