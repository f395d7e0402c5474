"""keras-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.compat.specifiers import satisfies
from gpudoctor.facts.model import Absent, Conflict, Facts, LogEvent, Package
from gpudoctor.findings import Capability, Confidence, Evidence, Remedy, Severity
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import (
    at_least,
    conflict,
    events,
    imported,
    minor,
    older,
    package,
    seen,
    told,
    unexplained_exception,
)
from gpudoctor.rules.registry import Draft, Rule, rule

# tf.keras is Keras 3 from here on, and Keras 2 is the package tf-keras.
FIRST_WITH_KERAS_3 = "2.16"
# Seen: 2.15 works with Keras 3, which then is tf.keras, though its metadata forbid it; 2.14 fails.
FIRST_THAT_BEARS_KERAS_3 = "2.15"
KERAS_3 = "3.0"
# Before, Keras is a part of TensorFlow, whatever package of that name there is and whatever the metadata ask for.
FIRST_WITH_KERAS_APART = "2.6"
LEGACY = "TF_USE_LEGACY_KERAS"
# Messages of a program, or of a saved model, that was written for another Keras than the one that is there.
OTHER_GENERATION = (
    "keras-generations",
    "keras-arguments",
    "keras-import-name",
    "keras-saved-model",
    "keras-of-another",
)
# Where a part of Keras is not there, it is of another version than the program or TensorFlow was written for.
PARTS = ("keras.", "tensorflow.keras.", "tensorflow.python.keras")


Sources = tuple[str | Evidence, ...]


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="Keras {keras} does not work with TensorFlow {version}, which needs Keras {need}: tf.keras fails",
    variants={
        "missing": "TensorFlow {version} finds no Keras: the package keras is not installed, and tf.keras fails",
        "legacy": "TF_USE_LEGACY_KERAS asks for Keras 2, and the package that brings it, tf-keras, is not installed",
        "legacy-minor": "tf-keras {keras} does not belong to TensorFlow {version}: both have to be of one minor "
        "version",
        "declared": "TensorFlow {version} requires Keras {need}, and {keras} is installed",
        "wanted": "the program wants Keras 2, and the package that brings it to TensorFlow{version}, tf-keras, is not "
        "installed",
        "generations": "code or a model for one generation of Keras meets the other: Keras 2 and Keras 3 differ",
        "absent": "the program imports keras, which is not installed in this environment",
        "import": "tf.keras finds no Keras that it can import",
    },
)
def keras_version_mismatch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The Keras that is found does not fit this TensorFlow, or code for Keras 2 meets Keras 3.

    Why it matters: tf.keras is the package keras: Keras 2 up to TensorFlow 2.15, Keras 3 from 2.16 on. With the wrong
    one models cannot be built, loaded or trained, on whatever device.
    How to fix: install the Keras that TensorFlow requires. For code that is written for Keras 2, install tf-keras of
    TensorFlow's own minor version and set TF_USE_LEGACY_KERAS=1, or stay with TensorFlow 2.15.
    """
    logged = list(_from_log(self, facts))
    yield from logged
    version = facts.tensorflow.version.require()
    if logged or older(version, FIRST_WITH_KERAS_APART):
        return
    facts.python.packages.require()
    legacy = at_least(version, FIRST_WITH_KERAS_3) and facts.tensorflow.keras_generation.get() == 2  # noqa: PLR2004
    yield from _legacy(self, facts, version) if legacy else _installed(self, facts, version)


def _legacy(self: Rule, facts: Facts, version: str) -> Iterator[Draft]:
    """Find what is wrong with tf-keras, where the environment asks for it."""
    found = package(facts, "tf-keras") or package(facts, "tf-keras-nightly")
    evidence: Sources = (f"python.environment[{LEGACY}]", *told(found), "tensorflow.version")
    if found is None:
        yield self.finding(evidence, variant="legacy", remedies=_tf_keras(facts))
    elif minor(found.version) != minor(version) and "dev" not in found.version:
        yield self.finding(
            evidence,
            variant="legacy-minor",
            severity=Severity.NOTE if imported(facts) else Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=_tf_keras(facts),
            keras=found.version,
            version=version,
        )


def _installed(self: Rule, facts: Facts, version: str) -> Iterator[Draft]:
    """Find what is wrong with the package keras."""
    declared = conflict(facts, "keras", "keras-nightly")
    keras = package(facts, "keras") or package(facts, "keras-nightly")
    evidence: Sources = (*told(keras, declared), "tensorflow.version", "tensorflow.run")
    if keras is None:
        if declared is not None and isinstance(facts.tensorflow.keras_version, Absent):
            yield self.finding(
                evidence,
                variant="missing",
                severity=Severity.WARNING,
                confidence=Confidence.LIKELY,
                remedies=_keras(facts, f"keras{declared.specifier}"),
                version=version,
            )
        return
    too_old = at_least(version, FIRST_WITH_KERAS_3) and older(keras.version, KERAS_3)
    too_new = older(version, FIRST_THAT_BEARS_KERAS_3) and declared is not None and at_least(keras.version, KERAS_3)
    if too_old or too_new:
        need = declared.specifier if declared else ">=3"
        yield self.finding(
            evidence, remedies=_keras(facts, f"keras{need}"), keras=keras.version, version=version, need=need
        )
    elif declared is not None and not _stands_in(keras, declared):
        yield self.finding(
            evidence,
            variant="declared",
            severity=_of_declared(facts, version),
            confidence=Confidence.LIKELY,
            remedies=_keras(facts, f"keras{declared.specifier}"),
            keras=keras.version,
            version=version,
            need=declared.specifier,
        )


def _stands_in(keras: Package, declared: Conflict) -> bool:
    """Whether the package that is there goes by another name than the one that is asked for, and its version fits."""
    return keras.name != declared.name and satisfies(compat.version(keras.version), declared.specifier)


def _of_declared(facts: Facts, version: str) -> Severity:
    """Return how bad a limit is that the metadata declare and that does not hold."""
    if unexplained_exception(facts):
        return Severity.ERROR
    if imported(facts) or at_least(version, FIRST_THAT_BEARS_KERAS_3):
        return Severity.NOTE
    return Severity.WARNING


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what a program printed that met the wrong Keras."""
    version = facts.tensorflow.version.get()
    wanted = events(facts, "tf-keras-missing") + _missing(facts, "tf_keras")
    if wanted:
        own = f" {version}" if version else ""
        yield self.finding(
            (*seen(wanted), "tensorflow.version"), variant="wanted", remedies=_tf_keras(facts), version=own
        )
        return
    other = events(facts, *OTHER_GENERATION) + _parts_missing(facts)
    if other:
        remedies = () if version and older(version, FIRST_WITH_KERAS_3) else _tf_keras(facts)
        yield self.finding(
            (*seen(other), "tensorflow.version", "tensorflow.keras_version"),
            variant="generations",
            confidence=Confidence.LIKELY,
            remedies=remedies,
        )
        return
    absent = tuple(event for event in events(facts, "no-module") if event.parameters.get("module") == "keras")
    if absent and not isinstance(facts.tensorflow.version, Absent):
        yield self.finding(
            (*seen(absent), "tensorflow.version"),
            variant="absent",
            confidence=Confidence.LIKELY,
            remedies=_keras(facts, "keras"),
        )
        return
    broken = events(facts, "keras-not-importable")
    if broken and not events(facts, "keras-backend-unknown"):
        yield self.finding(
            (*seen(broken), "tensorflow.version"),
            variant="import",
            confidence=Confidence.LIKELY,
            remedies=_keras(facts, "keras"),
        )


def _missing(facts: Facts, *modules: str) -> tuple[LogEvent, ...]:
    """Return the events that tell that one of these modules, or a part of it, is not there."""
    return tuple(
        event
        for event in events(facts, "no-module")
        if any(f"{event.parameters.get('module', '')}.".startswith(f"{module}.") for module in modules)
    )


def _parts_missing(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the events that tell that a part of Keras is not there."""
    return tuple(event for event in events(facts, "no-module") if event.parameters.get("module", "").startswith(PARTS))


def _keras(facts: Facts, requirement: str) -> tuple[Remedy, ...]:
    return install(facts, requirement, f"Install the Keras that this TensorFlow needs ({requirement}).", of="keras")


def _tf_keras(facts: Facts) -> tuple[Remedy, ...]:
    own = minor(facts.tensorflow.version.get())
    requirement = f"tf-keras=={own}.*" if own and at_least(own, "2.15") else "tf-keras"
    summary = f"Install Keras 2 for this TensorFlow ({requirement}); TF_USE_LEGACY_KERAS=1 makes it tf.keras."
    return install(facts, requirement, summary, of="keras")
