"""protobuf-mismatch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Conflict, Facts, Known
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._pip import install, pip_commands
from gpudoctor.rules.python._state import (
    at_least,
    conflict,
    events,
    failed_import,
    imported,
    older,
    package,
    resolved_by_conda,
    seen,
    told,
)
from gpudoctor.rules.registry import Draft, Rule, rule

# Code that an old protoc wrote, as it is in older wheels, does not run with protobuf 4 and newer.
FIRST_WITH_PROTOBUF_4 = "2.12"
PROTOBUF_4 = "4.0"
# Code of protoc 5.26 and newer refuses a protobuf that is older than itself.
FIRST_THAT_CHECKS = "5.26"
PURE_PYTHON = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
LEAST = r">=(\d[\w.]*)"


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="protobuf {protobuf} does not fit TensorFlow {version}, which needs protobuf {need}: importing it fails",
    variants={
        "new": "protobuf{protobuf} is too new for TensorFlow{version}: importing it fails",
        "old": "protobuf{protobuf} is older than TensorFlow{version} needs: importing it fails",
        "halves": "code that protoc wrote does not fit the protobuf package{protobuf}, or the package is mixed of two: "
        "importing it fails",
        "broken": "the compiled part of the protobuf package does not load: it is damaged, mixed of two releases, or "
        "made for another system",
        "gone": "the protobuf package, without which TensorFlow is not imported, is not installed, or another package "
        "called google hides it",
        "declared": "TensorFlow {version} requires protobuf {need}, and {protobuf} is installed",
    },
)
def protobuf_mismatch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The protobuf package does not fit this TensorFlow.

    Why it matters: TensorFlow's generated code and the protobuf package must be of matching versions; if not,
    `import tensorflow` ends with "Descriptors cannot be created directly" or "mismatched Protobuf Gencode/Runtime".
    How to fix: install the protobuf that TensorFlow requires. PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python is a
    slow way out for TensorFlow 2.11 and older.
    """
    if not imported(facts) and (found := _from_log(self, facts) or _broken(self, facts)):
        yield found
        return
    version, protobuf = facts.tensorflow.version.require(), package(facts, "protobuf")
    facts.python.packages.require()
    declared = conflict(facts, "protobuf")
    if protobuf is None:
        return
    need = _need(facts, version, protobuf.version, declared)
    if need is None and (declared is None or declared.installed is None):
        return
    yield self.finding(
        (*told(protobuf, declared), "tensorflow.version", "tensorflow.run"),
        variant=None if need else "declared",
        # A declared limit alone is no fault: TensorFlow 2.16 runs with protobuf 5 and 6, which it forbids.
        severity=Severity.ERROR if need and not imported(facts) else Severity.NOTE,
        confidence=Confidence.CERTAIN if failed_import(facts) or not need else Confidence.LIKELY,
        remedies=_remedies(facts, declared, "protobuf<3.20"),
        protobuf=protobuf.version,
        version=version,
        need=need or (declared.specifier if declared else ""),
    )


def _need(facts: Facts, version: str, protobuf: str, declared: Conflict | None) -> str | None:
    """Return what TensorFlow needs where this protobuf is known to break it."""
    if resolved_by_conda(facts, "protobuf"):
        return None  # its TensorFlow 2.10 and 2.11 are built for protobuf 4
    if older(version, FIRST_WITH_PROTOBUF_4) and at_least(protobuf, PROTOBUF_4):
        pure = (facts.python.environment.get() or {}).get(PURE_PYTHON) == "python"
        return None if pure else declared.specifier if declared else "below 3.20"
    least = re.search(LEAST, declared.specifier) if declared else None
    if declared and least and at_least(least[1], FIRST_THAT_CHECKS) and older(protobuf, least[1]):
        return declared.specifier
    return None


def _from_log(self: Rule, facts: Facts) -> Draft | None:
    """Return the finding for what a failed import printed."""
    names = (
        "protobuf-descriptors",
        "protobuf-generated-code",
        "protobuf-too-old",
        "protobuf-too-new",
        "protobuf-halves",
    )
    found = events(facts, *names)
    if not found:
        return None
    protobuf, version = package(facts, "protobuf"), facts.tensorflow.version.get()
    have = protobuf.version if protobuf else found[0].parameters.get("runtime")
    halves = found[0].message == "protobuf-halves"
    new = halves or found[0].message in ("protobuf-descriptors", "protobuf-too-new")
    generated = found[0].parameters.get("generated")
    otherwise = "protobuf<3.20" if new else f"protobuf>={generated or FIRST_THAT_CHECKS}"
    own = isinstance(facts.tensorflow.version, Known)
    return self.finding(
        (*seen(found), *told(protobuf), "tensorflow.version", "tensorflow.run"),
        variant="halves" if halves else "new" if new else "old",
        confidence=Confidence.CERTAIN if (own and not halves) or generated else Confidence.LIKELY,
        remedies=_remedies(facts, conflict(facts, "protobuf"), otherwise),
        protobuf=f" {have}" if have else "",
        version=f" {version}" if version else "",
    )


def _broken(self: Rule, facts: Facts) -> Draft | None:
    """Return the finding for a protobuf whose own library does not load."""
    broken = events(facts, "protobuf-broken")
    gone = tuple(e for e in events(facts, "no-module") if e.parameters.get("module") == "google.protobuf")
    if gone and not broken:
        return self.finding(
            seen(gone),
            variant="gone",
            confidence=Confidence.LIKELY,
            remedies=_remedies(facts, conflict(facts, "protobuf"), "protobuf"),
        )
    if not broken:
        return None
    again = (*pip_commands(facts, "uninstall -y", "protobuf"), pip_commands(facts, "install", "protobuf")[-1])
    remedy = Remedy(summary="Install protobuf anew.", commands=again, applicability=Applicability.UNSAFE)
    return self.finding(seen(broken), variant="broken", confidence=Confidence.LIKELY, remedies=(remedy,))


def _remedies(facts: Facts, declared: Conflict | None, otherwise: str) -> tuple[Remedy, ...]:
    requirement = f"protobuf{declared.specifier}" if declared and declared.specifier else otherwise
    return install(facts, requirement, f"Install the protobuf that TensorFlow needs ({requirement}).", of="protobuf")
