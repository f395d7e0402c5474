"""What several rules about the Python environment ask."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Conflict, Facts, LogEvent, Package, RunOutcome, TensorFlowRun
from gpudoctor.findings import Evidence

FAILED = (RunOutcome.EXCEPTION, RunOutcome.SIGNAL, RunOutcome.NO_ANSWER, RunOutcome.EXIT)
IMPORTING = "importing"
SHOWN_EVENTS = 3
# What a failed import printed that names the package at fault.
NAMES_THE_CAUSE = (
    "numpy-abi",
    "numpy-attribute-removed",
    "protobuf-descriptors",
    "protobuf-generated-code",
    "protobuf-too-old",
    "keras-backend-unknown",
    "libstdcxx-too-old",
    "glibc-too-old",
    "cpu-instructions-missing",
)


def failed_import(facts: Facts) -> TensorFlowRun | None:
    """Return how TensorFlow's import failed; None where it did not, or nobody tried."""
    run = facts.tensorflow.run.get()
    failed = run is not None and run.outcome in FAILED and run.stage.startswith(IMPORTING)
    return run if failed else None


def unexplained_exception(facts: Facts) -> bool:
    """Whether TensorFlow's import raised, and nothing that it printed names the cause: then a suspicion weighs more."""
    run = failed_import(facts)
    return run is not None and run.outcome is RunOutcome.EXCEPTION and not events(facts, *NAMES_THE_CAUSE)


def imported(facts: Facts) -> bool:
    """Whether TensorFlow was seen to be imported: started here, or a log that shows it at work."""
    run = facts.tensorflow.run.get()
    if run is not None:
        return run.outcome is RunOutcome.OK or (run.stage != "" and not run.stage.startswith(IMPORTING))
    return bool(events(facts, "created-device"))


def events(facts: Facts, *messages: str) -> tuple[LogEvent, ...]:
    """Return the events of these messages in TensorFlow's log, or in a text, and then in the kernel's log."""
    logs = (facts.tensorflow.events, facts.driver.kernel_events)
    return tuple(event for log in logs for event in log.get() or () if event.message in messages)


def seen(found: tuple[LogEvent, ...]) -> tuple[Evidence, ...]:
    """Return events as evidence: the first few."""
    return tuple(
        Evidence(
            fact="tensorflow.events",
            value=_told(event),
            source=f"{event.source or 'the log'}, line {event.line}",
        )
        for event in found[:SHOWN_EVENTS]
    )


def _told(event: LogEvent) -> str:
    """Return an event in a line: with its parameters, or with the words of a person."""
    if "words" in event.parameters:
        return f'{event.message}: "{event.parameters["words"]}"'
    return ", ".join([event.message, *(f"{name} {value}" for name, value in event.parameters.items() if value)])


def package(facts: Facts, name: str) -> Package | None:
    """Return the installed package of a name that is loaded: the first on the search path."""
    return next((item for item in facts.python.packages.get() or () if item.name == name), None)


def resolved_by_conda(facts: Facts, *names: str) -> bool:
    """Whether conda installed TensorFlow and these packages: its builds differ from the wheels, and it fits them."""
    wanted = (facts.tensorflow.distribution.get() or "tensorflow", *names)
    found = [package(facts, name) for name in wanted]
    return all(item is not None and item.installer == "conda" for item in found)


def conflict(facts: Facts, *names: str) -> Conflict | None:
    """Return TensorFlow's own requirement of one of these packages, if it does not hold."""
    for item in facts.python.conflicts.get() or ():
        if item.name in names and item.package.startswith(("tensorflow", "tf-nightly", "intel-tensorflow")):
            return item
    return None


def told(*items: Package | Conflict | None) -> tuple[Evidence, ...]:
    """Return packages and requirements as evidence, each in a few words; None is left out."""
    found = []
    for item in items:
        if isinstance(item, Package):
            found.append(
                Evidence(
                    fact="python.packages", value=f"{item.name} {item.version}", source=item.location or "the list"
                )
            )
        elif item is not None:
            text = f"{item.package} {item.version} requires {item.name}{item.specifier}"
            found.append(Evidence(fact="python.conflicts", value=text, source="package metadata"))
    return tuple(found)


def older(text: str | None, than: str) -> bool:
    """Whether a version is known and older than another: 2.18rc0 and 2.18 are alike here."""
    try:
        return text is not None and compat.version(text).release < compat.version(than).release
    except compat.NotCovered:
        return False


def at_least(text: str | None, bound: str) -> bool:
    """Whether a version is known and not older than another."""
    try:
        return text is not None and compat.version(text).release >= compat.version(bound).release
    except compat.NotCovered:
        return False


def minor(text: str | None) -> str | None:
    """Return major and minor number: 2.16 of 2.16.1; None where they are not known."""
    try:
        release = compat.version(text).release if text else ()
    except compat.NotCovered:
        return None
    return ".".join(map(str, release[:2])) if len(release) > 1 else None
