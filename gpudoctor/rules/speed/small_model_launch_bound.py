"""small-model-launch-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._training import LAUNCH_BOUND, limit
from gpudoctor.rules.speed.small_batch import LARGE


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the model is too small for this GPU: even with a batch of {batch}, starting a step takes longer than "
    "computing it",
)
def small_model_launch_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Steps are so short that the GPU waits for orders most of the time.

    Why it matters: Python and TensorFlow need some tenths of a millisecond to start a step, whatever the GPU.
    How to fix: several steps in one execution (steps_per_execution in compile()), XLA (jit_compile=True), or train
    such a model on the CPU.
    """
    if limit(facts) != LAUNCH_BOUND:
        return
    batch = facts.training.batch_size.require()
    if batch < LARGE:
        return
    remedy = Remedy(summary="Pass steps_per_execution=8 and jit_compile=True to compile(), or train on the CPU.")
    yield self.finding(("training.limit", "training.batch_size"), remedies=(remedy,), batch=batch)
