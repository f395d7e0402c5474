"""retracing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said

SAME_SHAPES = Remedy(
    summary="Give the function tensors of the same shape and type: pad or bucket lengths, declare varying axes as None "
    "in an input signature, set reduce_retracing=True, make functions and models outside loops, pass tensors in "
    "place of Python numbers."
)

CLEAR = Remedy(
    summary="Make the model once, outside the loop; where each round needs a new one, call "
    "tf.keras.backend.clear_session() before it, or run each round in a process of its own."
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="a function is traced again and again: {count} of its last {calls} calls made a new graph",
    variants={
        "said": "a function is said to be traced again and again: each trace makes a new graph",
        "models": "a new model is made again and again: all of them stay in memory, and each makes the rest slower",
    },
)
def retracing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """A tf.function is traced again and again.

    Why it matters: each trace takes as long as many steps, and memory grows with the graphs.
    How to fix: call it with tensors of the same shape and type, and make it once, outside of loops.
    """
    told = events(facts, "retracing")
    if not told and (words := said(facts, "said-retracing")):
        yield self.finding(seen(words), variant="said", confidence=Confidence.LIKELY, remedies=(SAME_SHAPES,))
        return
    if not told and (made := said(facts, "said-new-models")) and events(facts, "said-slow"):
        yield self.finding(seen(made), variant="models", confidence=Confidence.POSSIBLE, remedies=(CLEAR,))
        return
    if not told:
        facts.tensorflow.events.require()
        return
    last = told[-1].parameters
    yield self.finding(
        seen(told),
        variant=None if "count" in last else "said",
        remedies=(SAME_SHAPES,),
        count=last.get("count", ""),
        calls=last.get("calls", ""),
    )
