"""tensorflow-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, FactUnavailable, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

TENSORFLOW = "tensorflow"
# What is left of an installation, or stands in its place: not the same as none.
BROKEN = ("files-missing", "hollow", "shadowed")
BEARS_NAME = (TENSORFLOW, "tensorflow-cpu", "tensorflow-gpu", "tf-nightly")
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
        "named or active",
        "log": "the Python that ran this program finds no TensorFlow: it is not installed there",
    },
)
def tensorflow_not_installed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow is not installed in the Python environment that was looked at.

    Why it matters: `import tensorflow` fails there. Often it is installed in another environment than the one that
    runs the script.
    How to fix: activate the right environment or point at it with --python; else install TensorFlow into this one.
    """
    logged = tuple(event for event in events(facts, "no-module") if event.parameters.get("module") == TENSORFLOW)
    # A version in the text may be one that was asked for.
    unknown = isinstance(facts.tensorflow.version, Unknown) or isinstance(facts.tensorflow.distribution, Absent)
    if logged and unknown and not isinstance(facts.tensorflow.version, Absent):
        yield self.finding(
            (*seen(logged), "python.version"), variant="log", remedies=(POINT_AT_IT, *tensorflow_that_fits(facts))
        )
        return
    if not isinstance(facts.tensorflow.version, Absent) or not isinstance(facts.tensorflow.distribution, Absent):
        facts.tensorflow.version.require()
        return
    if any(problem.kind in BROKEN and problem.name in BEARS_NAME for problem in facts.python.problems.get() or ()):
        raise FactUnavailable("parts of TensorFlow are there: see tf-package-conflict")
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
