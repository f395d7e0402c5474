"""tensorboard-missing-for-callback."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    message="{function} needs TensorBoard, which is not installed: TensorFlow no longer brings it",
)
def tensorboard_missing_for_callback(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorBoard is asked for and not installed.

    Why it matters: from 2.21 on TensorFlow does not require TensorBoard. The Keras callback of that name can be made,
    and the training ends at the first summary with TBNotInstalledError.
    How to fix: install tensorboard, or leave the callback out.
    """
    logged = events(facts, "tensorboard-missing") or tuple(
        event for event in events(facts, "no-module") if event.parameters.get("module") == "tensorboard"
    )
    if logged:
        remedies = install(facts, "tensorboard", "Install TensorBoard.", of="tensorflow")
        function = logged[0].parameters.get("function", "tf.summary")
        yield self.finding(seen(logged), remedies=remedies, function=function)
        return
    # Absent and never asked for it is no fault: most trainings do without.
    facts.tensorflow.events.require()
