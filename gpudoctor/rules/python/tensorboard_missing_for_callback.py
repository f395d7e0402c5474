"""tensorboard-missing-for-callback."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Remedy, Severity
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import at_least, events, package, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# Up to 2.20 TensorFlow requires TensorBoard.
FIRST_WITHOUT = "2.21"


@rule(
    Severity.ERROR,
    message="{function} needs TensorBoard, which is not installed: TensorFlow no longer brings it",
    variants={
        "absent": "TensorBoard is not installed, and TensorFlow {version} does not bring it: the Keras callback "
        "TensorBoard "
        "and tf.summary would fail"
    },
)
def tensorboard_missing_for_callback(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorBoard is asked for and not installed.

    Why it matters: from 2.21 on TensorFlow does not require TensorBoard. The Keras callback of that name can be made,
    and the training ends at the first summary with TBNotInstalledError.
    How to fix: install tensorboard, or leave the callback out.
    """
    logged = events(facts, "tensorboard-missing")
    if logged:
        function = logged[0].parameters.get("function", "tf.summary")
        yield self.finding(seen(logged), remedies=_remedies(facts), function=function)
        return
    version = facts.tensorflow.version.require()
    facts.python.packages.require()
    if at_least(version, FIRST_WITHOUT) and not any(package(facts, name) for name in ("tensorboard", "tb-nightly")):
        yield self.finding(
            ("tensorflow.version",),
            variant="absent",
            severity=Severity.NOTE,
            remedies=_remedies(facts),
            version=version,
        )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    return install(facts, "tensorboard", "Install TensorBoard.", of="tensorflow")
