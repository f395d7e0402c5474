"""mixed-precision-nan."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

KEEP_32 = Remedy(
    summary="Keep the last layer and the loss in float32 (dtype='float32'), let compile() scale the loss "
    "(LossScaleOptimizer in a loop of your own), never set floatx to float16; on compute capability 8.0 and newer "
    "mixed_bfloat16 needs no scaling."
)

MIXED = ("mixed-precision", "mixed-precision-slow-gpu", "said-16-bits")


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the loss is not a number, and the model computes with 16 bits: a number grew too large or too small",
)
def mixed_precision_nan(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The loss becomes NaN in mixed precision.

    Why it matters: nothing is learnt from there on. 16-bit numbers end at 65504 and lose small gradients.
    How to fix: float32 for the last layer and the loss, loss scaling, or bfloat16. If it is NaN in float32 as well, the
    learning rate or the data are at fault.
    """
    lost, mixed = events(facts, "loss-nan", "said-nan"), events(facts, *MIXED)
    if not lost and not mixed:
        facts.tensorflow.events.require()
    if lost and mixed:
        yield self.finding((*seen(lost[:1]), *seen(mixed[:1])), confidence=Confidence.LIKELY, remedies=(KEEP_32,))
