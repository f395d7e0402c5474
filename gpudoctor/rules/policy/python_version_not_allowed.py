"""python-version-not-allowed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.policy._asked import another_machine, version_outside
from gpudoctor.rules.registry import Draft, Rule, rule

KEY = "python"


@rule(
    Severity.ERROR,
    asks=KEY,
    message="Python is {have}, and the policy asks for {need}",
    variants={"absent": "Python is not there, and the policy asks for {need}"},
)
def python_version_not_allowed(self: Rule, facts: Facts, asked: str) -> Iterator[Draft]:
    """Python has a version that the policy does not allow.

    Why it matters: TensorFlow has wheels for some versions of Python only, and saved objects may not load in another.
    How to fix: make an environment with a Python that the policy allows.
    """
    have = version_outside(facts.python.version, asked)
    if have is not None:
        yield self.finding(
            ("python.version",),
            variant=None if have else "absent",
            remedies=(another_machine(KEY),),
            have=have,
            need=asked,
        )
