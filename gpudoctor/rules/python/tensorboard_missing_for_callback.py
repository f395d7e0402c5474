"""tensorboard-missing-for-callback."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Package
from gpudoctor.findings import Severity
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import at_least, events, seen, told
from gpudoctor.rules.registry import Draft, Rule, rule

# From here on TensorFlow does not require it.
FIRST_WITHOUT = "2.21"
PROVIDERS = ("tensorboard", "tb-nightly")


@rule(
    Severity.ERROR,
    message="{function} needs TensorBoard, which is not installed: TensorFlow no longer brings it",
    variants={
        "beside": "{beside} is installed without TensorBoard, which TensorFlow {version} no longer brings: its "
        "callback fails at its first summary",
    },
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
    beside = _meant_for_it(facts)
    version = facts.tensorflow.version.get()
    if beside is not None and version is not None and at_least(version, FIRST_WITHOUT):
        yield self.finding(
            (*told(beside), "tensorflow.version"),
            variant="beside",
            severity=Severity.NOTE,
            remedies=install(facts, "tensorboard", "Install TensorBoard.", of="tensorflow"),
            beside=f"{beside.name} {beside.version}",
            version=version,
        )
        return
    # Absent and never asked for it is no fault: most trainings do without.
    facts.tensorflow.events.require()


def _meant_for_it(facts: Facts) -> Package | None:
    """Return a package that is of use with TensorBoard only, where TensorBoard itself is not installed."""
    packages = facts.python.packages.get() or ()
    if any(item.name in PROVIDERS for item in packages):
        return None
    return next((item for item in packages if item.name.startswith("tensorboard-")), None)
