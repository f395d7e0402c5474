"""keras-version-not-allowed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.policy._asked import another_machine, version_outside
from gpudoctor.rules.registry import Draft, Rule, rule

KEY = "keras"


@rule(
    Severity.ERROR,
    asks=KEY,
    message="Keras is {have}, and the policy asks for {need}",
    variants={"absent": "Keras is not there, and the policy asks for {need}"},
)
def keras_version_not_allowed(self: Rule, facts: Facts, asked: str) -> Iterator[Draft]:
    """Keras has a version that the policy does not allow.

    Why it matters: Keras 2 and 3 differ in what they load, save and compute.
    How to fix: install a version that the policy allows into the environment that runs the training.
    """
    have = version_outside(facts.tensorflow.keras_version, asked)
    if have is not None:
        yield self.finding(
            ("tensorflow.keras_version",),
            variant=None if have else "absent",
            remedies=(another_machine(KEY),),
            have=have,
            need=asked,
        )
