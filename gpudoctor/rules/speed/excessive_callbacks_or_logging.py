"""excessive-callbacks-or-logging."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said

# A callback that takes a small part of a step does no harm, though Keras warns of it.
WORTH = 0.1
LESS_OFTEN = Remedy(
    summary="Log and save once an epoch, or every so many batches (update_freq of TensorBoard and its like); write no "
    "histograms and images for each batch; look at what on_train_batch_end does."
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="callbacks slow the training down: {method} takes {callback} s in each step of {batch} s",
    variants={
        "unnumbered": "callbacks slow the training down: {method} takes as long as a step, or longer",
        "said": "callbacks, summaries or checkpoints are said to slow the training down",
    },
)
def excessive_callbacks_or_logging(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Callbacks, or logging, take a good part of each step.

    Why it matters: the GPU waits while they run, in every step.
    How to fix: do it once an epoch, or every hundred steps.
    """
    told = events(facts, "callback-slow")
    if not told and (words := said(facts, "said-logging-slow")):
        yield self.finding(seen(words), variant="said", confidence=Confidence.LIKELY, remedies=(LESS_OFTEN,))
        return
    if not told:
        facts.tensorflow.events.require()
        return
    last = told[-1].parameters
    batch, callback = last.get("batch"), last.get("callback")
    if batch is not None and callback is not None and _number(callback) < WORTH * _number(batch):
        return
    known = batch is not None and callback is not None
    yield self.finding(
        seen(told),
        variant=None if known else "unnumbered",
        remedies=(LESS_OFTEN,),
        method=last.get("method") or last.get("old") or "a callback",
        batch=batch or "",
        callback=callback or "",
    )


def _number(text: str) -> float:
    """Return a number out of digits and points as they come; 0 where they make none."""
    try:
        return float(text)
    except ValueError:
        return 0.0
