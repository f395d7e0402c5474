"""small-batch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import AUGMENTING, GENERATING, complains, said
from gpudoctor.rules.speed._training import LAUNCH_BOUND, limit

# From here on a larger batch seldom helps, and costs updates.
LARGE = 256


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="a batch of {batch} is too small for this GPU: twice the images take hardly longer",
    variants={
        "text": "a batch of {batch} keeps this GPU at {load} % only: steps hold too few images",
        "said": "batches are said to be small, or larger ones to be faster: steps hold too little for this GPU",
    },
)
def small_batch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The GPU spends its time on starting steps, since each of them holds few images.

    Why it matters: the same step with twice the images would take hardly longer.
    How to fix: double the batch until images/s stop growing or memory ends. Larger batches mean fewer updates in an
    epoch: train more epochs, and be careful with a higher learning rate.
    """
    told = tuple(_in_text(self, facts))
    if told:
        yield from told
        return
    if limit(facts) != LAUNCH_BOUND:
        return
    batch = facts.training.batch_size.require()
    if batch >= LARGE:
        return
    double = Remedy(summary=f"Try a batch of {batch * 2}, and double it while images/s grow and memory lasts.")
    yield self.finding(("training.limit", "training.batch_size"), remedies=(double,), batch=batch)


DOUBLE = Remedy(
    summary="Double the batch, and again while images/s grow and memory lasts: what a step takes hardly longer for is "
    "free."
)
# What tells that the input is slow explains an idle GPU better.
DATA = (*AUGMENTING, "slow-storage", "said-reading-slow")
TINY = 8
IDLE_PERCENT = 50
SHORT_STEP_SECONDS = 0.05


def _in_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it where a text tells the batch, the load of the GPU, and that steps are short."""
    training = facts.training
    batch, load, step = training.batch_size.get(), training.gpu_utilization_percent.get(), training.step_seconds.get()
    if isinstance(training.limit, Known):
        return
    words = said(facts, "said-larger-batch") if batch is None or batch < LARGE else ()
    # An idle GPU that a generator feeds waits for data, whatever the batch.
    fed = events(facts, "said-gpu-idle") or load is not None
    if words and complains(facts) and not events(facts, *DATA, *(GENERATING if fed else ())):
        yield self.finding(
            (*seen(words), "training.batch_size", "training.gpu_utilization_percent"),
            variant="said",
            confidence=Confidence.LIKELY,
            remedies=(DOUBLE,),
        )
        return
    if batch is None or load is None or batch > TINY or load >= IDLE_PERCENT:
        return
    if step is not None and step >= SHORT_STEP_SECONDS:
        return  # steps as long as that wait for something else
    double = Remedy(summary=f"Try a batch of {batch * 4}, and double it while images/s grow and memory lasts.")
    yield self.finding(
        ("training.batch_size", "training.gpu_utilization_percent", "training.step_seconds"),
        variant="text",
        confidence=Confidence.LIKELY,
        remedies=(double,),
        batch=batch,
        load=round(load),
    )
