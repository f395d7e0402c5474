"""python-generator-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import waits_in_text
from gpudoctor.rules.speed._training import USE_TF_DATA, waits


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the training waits for a Python generator, which prepares one image after the other: it gives {input} "
    "images/s, the model alone could take {compute}; without the wait it would be {gain} times as fast",
    variants={"text": "the training waits for data, which come from a Python generator, one after the other"},
)
def python_generator_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Images come from Python code (ImageDataGenerator, a Sequence, py_function), and the model waits for them.

    Why it matters: Python runs on one core at a time, however many there are. More workers seldom help: threads wait
    for each other, and processes pay for copying each batch.
    How to fix: let tf.data decode; its operations run on all cores.
    """
    yield from waits_in_text(self, facts, USE_TF_DATA)
    yield from waits(self, facts, "training.input_pipeline", remedies=(USE_TF_DATA,))
