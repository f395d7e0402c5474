"""wrong-keras-backend."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, FactUnavailable, Known, LogEvent
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import at_least, events, older, package, seen, told
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "KERAS_BACKEND"
TENSORFLOW = "tensorflow"
# The package without which a back-end of Keras 3 cannot be loaded.
BACKENDS = {"jax": "jax", "torch": "torch", "numpy": "jax", "openvino": "openvino"}
KERAS_3 = "3.0"
# Keras 2.4 to 2.15 know TensorFlow only, and do not ask.
FIRST_WITHOUT_CHOICE = "2.4"
USE_TENSORFLOW = Remedy(
    summary="Let Keras compute with TensorFlow. The variable outweighs keras.json.",
    commands=(f"export {VARIABLE}={TENSORFLOW}",),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="{where} names the back-end {backend}, which Keras {keras} does not have: importing Keras fails, and "
    "TensorFlow with it",
    variants={
        "missing": "{where} names the back-end {backend}, for which the package {package} is not installed: importing "
        "Keras fails",
        "other": "{where} lets Keras compute with {backend}, not with TensorFlow: TensorFlow's GPU does not serve it",
        "log": "Keras has no back-end called {backend}",
        "log-other": "Keras computes with {backend}, not with TensorFlow",
    },
)
def wrong_keras_backend(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Keras is told to compute with another library than TensorFlow, or with one that is gone.

    Why it matters: with another back-end what TensorFlow does on the GPU does not matter for Keras; with one that is
    gone (theano, cntk) Keras cannot be imported, and from 2.16 on TensorFlow neither.
    How to fix: set KERAS_BACKEND=tensorflow, or change the entry "backend" in keras.json.
    """
    logged = events(facts, "keras-backend-unknown", "keras-backend-old", "keras-backend-told", "keras-json-backend")
    if logged and not isinstance(facts.python.environment, Known):
        yield _from_log(self, logged)
        return
    if draft := _set_in_text(self, facts):
        yield draft
        return
    facts.python.packages.require()
    keras = package(facts, "keras") or package(facts, "keras-nightly")
    if keras is None:
        raise FactUnavailable("Keras is not installed")
    chosen = _chosen(facts)
    if chosen is None or chosen[0] == TENSORFLOW or not _has_a_choice(keras.version):
        if logged:
            yield _from_log(self, logged)
        return
    backend, where, evidence = chosen
    variant, lacking = _variant(facts, backend)
    yield self.finding(
        (*seen(logged), evidence, *told(keras)),
        variant=variant,
        severity=Severity.WARNING if variant == "other" else Severity.ERROR,
        confidence=Confidence.LIKELY if variant == "other" else Confidence.CERTAIN,
        remedies=(USE_TENSORFLOW,),
        where=where,
        backend=backend,
        keras=keras.version,
        package=lacking,
    )


def _set_in_text(self: Rule, facts: Facts) -> Draft | None:
    """Find a back-end that a text shows to be set, where it does not tell which packages there are."""
    if isinstance(facts.python.packages, Known):
        return None
    read = facts.python.keras_json_backend
    missing = {event.parameters.get("module", "").partition(".")[0] for event in events(facts, "no-module")}
    if isinstance(read, Known) and read.value in missing:
        return self.finding(
            ("python.keras_json_backend", *seen(events(facts, "no-module"))),
            variant="log",
            confidence=Confidence.LIKELY,
            remedies=(USE_TENSORFLOW,),
            backend=read.value,
        )
    named = (facts.python.environment.get() or {}).get(VARIABLE)
    if not named or named == TENSORFLOW:
        return None
    return self.finding(
        (f"python.environment[{VARIABLE}]",),
        variant="log-other",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        remedies=(USE_TENSORFLOW,),
        backend=named,
    )


def _from_log(self: Rule, logged: tuple[LogEvent, ...]) -> Draft:
    """Return the finding for what Keras printed."""
    gone, told = logged[0].message == "keras-backend-unknown", logged[0].parameters
    return self.finding(
        seen(logged),
        variant="log" if gone else "log-other",
        severity=Severity.ERROR if gone else Severity.WARNING,
        remedies=(USE_TENSORFLOW,),
        backend=told.get("backend") or told.get("written", "that"),
    )


def _chosen(facts: Facts) -> tuple[str, str, str] | None:
    """Return the back-end that is asked for, by whom, and the fact that tells it."""
    variable = facts.python.environment.require().get(VARIABLE, "")
    if variable:
        return variable, VARIABLE, f"python.environment[{VARIABLE}]"
    named = facts.python.keras_json_backend
    return (named.value, named.source, "python.keras_json_backend") if isinstance(named, Known) else None


def _has_a_choice(keras: str) -> bool:
    return at_least(keras, KERAS_3) or older(keras, FIRST_WITHOUT_CHOICE)


def _variant(facts: Facts, backend: str) -> tuple[str | None, str]:
    """Return the wording for a back-end, and the package that it lacks."""
    needed = BACKENDS.get(backend)
    if needed is None:
        return None, ""
    return ("other", "") if needed == "openvino" or package(facts, needed) else ("missing", needed)
