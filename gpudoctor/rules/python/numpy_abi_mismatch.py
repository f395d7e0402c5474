"""numpy-abi-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, LogEvent
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._pip import install
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

# Wheels are built for NumPy 2 from here on. Older ones break with it, whether or not their metadata say so.
FIRST_WITH_NUMPY_2 = "2.18"
NUMPY_2 = "2.0"
REMOVED_IN_1_24 = ("object", "bool", "int", "float", "complex", "str")


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="NumPy {numpy} is installed, and TensorFlow {version} was built for NumPy 1: importing it fails",
    variants={
        "log": "{who} was built for another NumPy than the one that is installed: importing it fails",
        "attribute": "{who} uses `numpy.{attribute}`, which the installed NumPy does not have: importing it fails",
        "declared": "TensorFlow {version} requires NumPy {specifier}, and {numpy} is installed",
    },
)
def numpy_abi_mismatch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """NumPy is of another generation than the one that TensorFlow was built for.

    Why it matters: compiled code for NumPy 1 does not run with NumPy 2, and NumPy drops old names: `import tensorflow`
    ends with "_ARRAY_API not found", "numpy.core.umath failed to import" or a missing attribute.
    How to fix: install the NumPy that TensorFlow requires (below 2 for TensorFlow 2.17 and older), or TensorFlow 2.18
    or newer, which runs with NumPy 2. A package that needs NumPy 2 belongs into another environment.
    """
    numpy, version = package(facts, "numpy"), facts.tensorflow.version.get()
    broken = numpy is not None and older(version, FIRST_WITH_NUMPY_2) and at_least(numpy.version, NUMPY_2)
    broken = broken and not resolved_by_conda(facts, "numpy")
    declared = conflict(facts, "numpy")
    logged = () if imported(facts) else _printed(facts, suspect=broken or declared is not None or numpy is None)
    if not logged:
        facts.tensorflow.version.require()
        facts.python.packages.require()
    attribute = next((event.parameters["attribute"] for event in logged if "attribute" in event.parameters), "")
    if not broken and not logged and (declared is None or declared.installed is None):
        return
    only_bfloat16 = bool(logged) and not broken and all(event.message == "bfloat16-not-converted" for event in logged)
    seen_to_fail = bool(logged) or failed_import(facts) is not None
    yield self.finding(
        (*seen(logged), *told(numpy, declared), "tensorflow.version", "tensorflow.run"),
        variant=None if broken else "declared" if not logged else "attribute" if attribute else "log",
        # A declared limit alone is no fault: many hold by habit only.
        severity=Severity.ERROR if (broken or logged) and not imported(facts) else Severity.NOTE,
        confidence=Confidence.LIKELY if (broken and not seen_to_fail) or only_bfloat16 else Confidence.CERTAIN,
        remedies=_remedies(facts, "numpy<1.24" if attribute in REMOVED_IN_1_24 else "numpy<2"),
        who=f"TensorFlow {version}" if version else "TensorFlow, or a library that it uses,",
        numpy=numpy.version if numpy else "",
        version=version or "",
        attribute=attribute,
        specifier=declared.specifier if declared else "",
    )


def _printed(facts: Facts, *, suspect: bool) -> tuple[LogEvent, ...]:
    """Return what a failed import printed. suspect: this NumPy may not fit; else bfloat16 tells nothing of it."""
    names = (
        "numpy-abi",
        "numpy-attribute-removed",
        "numpy-symbolic",
        *(("bfloat16-not-converted",) if suspect else ()),
    )
    return events(facts, *names)


def _remedies(facts: Facts, otherwise: str) -> tuple[Remedy, ...]:
    """Return the remedy: what the metadata of this TensorFlow require, else what is known to fit."""
    declared, version = conflict(facts, "numpy"), facts.tensorflow.version.get()
    requirement = f"numpy{declared.specifier}" if declared and declared.specifier else otherwise
    what = f"TensorFlow {version} runs with" if version else "it was built for"
    return install(facts, requirement, f"Install a NumPy that {what} ({requirement}).", of="numpy")
