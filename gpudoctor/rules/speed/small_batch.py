"""small-batch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._training import LAUNCH_BOUND, limit

# From here on a larger batch seldom helps, and costs updates.
LARGE = 256


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="a batch of {batch} is too small for this GPU: twice the images take hardly longer",
)
def small_batch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The GPU spends its time on starting steps, since each of them holds few images.

    Why it matters: the same step with twice the images would take hardly longer.
    How to fix: double the batch until images/s stop growing or memory ends. Larger batches mean fewer updates in an
    epoch: train more epochs, and be careful with a higher learning rate.
    """
    if limit(facts) != LAUNCH_BOUND:
        return
    batch = facts.training.batch_size.require()
    if batch >= LARGE:
        return
    double = Remedy(summary=f"Try a batch of {batch * 2}, and double it while images/s grow and memory lasts.")
    yield self.finding(("training.limit", "training.batch_size"), remedies=(double,), batch=batch)
