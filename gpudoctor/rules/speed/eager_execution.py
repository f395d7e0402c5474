"""eager-execution."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import runs_eagerly, said

AS_GRAPH = Remedy(
    summary="Take run_eagerly=True and tf.config.run_functions_eagerly(True) out once the fault is found, and put "
    "@tf.function on the training step of a loop of your own."
)

MAKE_GRAPHS = Remedy(
    summary="Keep eager execution on and make graphs of what runs often: compile() without run_eagerly, @tf.function "
    "on a step of your own, data for fit() and for its validation as batched tf.data datasets."
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="functions are run operation by operation (eagerly), not as graphs: that is for finding faults, and slow",
    variants={
        "loop": "the training loop is one's own, and nothing shows a tf.function around its step: it runs operation by "
        "operation (eagerly), and slowly",
        "said": "the training is said to be slower with eager execution than without",
    },
)
def eager_execution(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The training runs eagerly, operation by operation.

    Why it matters: Python starts each operation by itself; a step takes several times as long as in a graph.
    How to fix: leave run_eagerly off, and decorate the step of an own loop with @tf.function.
    """
    told = events(facts, "eager-on")
    if not told and (words := said(facts, "said-eager-slower")):
        yield self.finding(seen(words), variant="said", confidence=Confidence.LIKELY, remedies=(MAKE_GRAPHS,))
    elif not told and (loop := runs_eagerly(facts)):
        yield self.finding(seen(loop), variant="loop", confidence=Confidence.POSSIBLE, remedies=(AS_GRAPH,))
    elif not told:
        facts.tensorflow.events.require()
    else:
        yield self.finding(seen(told), confidence=Confidence.LIKELY, remedies=(AS_GRAPH,))
