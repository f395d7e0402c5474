"""tensorflow-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

POINT_AT_IT = Remedy(
    summary="If TensorFlow is in another environment, activate that environment first, or name its interpreter.",
    commands=("gpudoctor check --python path/to/your/environment/bin/python",),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.TENSORFLOW,
    message="TensorFlow is not installed in {python}",
    variants={
        "own": "TensorFlow is not installed in {python}, the environment of gpudoctor itself; no other environment was "
        "named or active"
    },
)
def tensorflow_not_installed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow is not installed in the Python environment that was looked at.

    Why it matters: `import tensorflow` fails there. Often it is installed in another environment than the one that
    runs the script.
    How to fix: activate the right environment or point at it with --python; else install TensorFlow into this one.
    """
    if not isinstance(facts.tensorflow.version, Absent) or not isinstance(facts.tensorflow.distribution, Absent):
        facts.tensorflow.version.require()
        return
    own = facts.python.chosen_by.get() == "own"
    yield self.finding(
        ("tensorflow.version", "python.executable", "python.chosen_by", "python.version"),
        variant="own" if own else None,
        # Nobody said that this is the environment to look at: that it lacks TensorFlow tells little.
        severity=Severity.WARNING if own else Severity.ERROR,
        confidence=Confidence.LIKELY if own else Confidence.CERTAIN,
        remedies=((POINT_AT_IT,) if own else ()) + tensorflow_that_fits(facts),
        python=facts.python.executable.get() or "the target interpreter",
    )
