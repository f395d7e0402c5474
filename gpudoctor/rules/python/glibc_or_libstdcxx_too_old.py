"""glibc-or-libstdcxx-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, failed_import, imported, resolved_by_conda, seen
from gpudoctor.rules.python._wheels import platform_of
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

USE_ANOTHER_SYSTEM = Remedy(
    summary="Use a container or a newer distribution; the C library of a system cannot be replaced. Or install an "
    "older "
    "TensorFlow, or that of conda-forge.",
    applicability=Applicability.MANUAL,
)
NEWER_LIBSTDCXX = Remedy(
    summary="Put a newer libstdc++ first: that of conda (package libstdcxx-ng), or of a newer GCC; or use a container.",
    commands=(
        "conda install -c conda-forge libstdcxx-ng",
        'export LD_LIBRARY_PATH="$CONDA_PREFIX/lib:$LD_LIBRARY_PATH"',
    ),
    applicability=Applicability.MANUAL,
)
NO_MUSL = Remedy(
    summary="Use a distribution with glibc: in a container, for instance the image python:3.11-slim in place of an "
    "Alpine image.",
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="{libc} is older than {need}, which the wheel of TensorFlow {version} needs",
    variants={
        "libc-log": "the system's C library is too old for this TensorFlow, which needs {need}",
        "libstdcxx": "the C++ library libstdc++ that is loaded is too old for this TensorFlow, which needs {need}",
        "musl": "the system's C library is musl, for which no TensorFlow wheel is published",
        "older-only": "{libc} is older than {need}, which TensorFlow {version} needs: pip takes an older release",
    },
)
def glibc_or_libstdcxx_too_old(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The system's C or C++ library is older than the TensorFlow wheel needs.

    Why it matters: the loader refuses TensorFlow's libraries ("version `GLIBC_2.27' not found"); pip on such a system
    finds old releases only, and on musl (Alpine) none.
    How to fix: a newer distribution or a container; for libstdc++ a newer copy of it first on LD_LIBRARY_PATH.
    """
    if imported(facts):
        return
    yield from (logged := tuple(_from_log(self, facts)))
    if logged:
        return
    libc = facts.host.libc.require()
    evidence = ("host.libc", "tensorflow.version", "host.machine", "tensorflow.run")
    absent = isinstance(facts.tensorflow.version, Absent)
    if libc.startswith("musl"):
        severity = Severity.ERROR if absent or failed_import(facts) else Severity.NOTE
        yield self.finding(
            evidence, variant="musl", severity=severity, confidence=Confidence.LIKELY, remedies=(NO_MUSL,)
        )
        return
    if resolved_by_conda(facts):
        return  # built for an older C library than the wheels
    version = compat.newest_release() if absent else facts.tensorflow.version.require()
    need = compat.wheel(version, "tensorflow", platform_of(facts)).glibc
    if not libc.startswith("glibc ") or not need:
        return
    if compat.version(libc.removeprefix("glibc ")) >= compat.version(need):
        return
    yield self.finding(
        evidence,
        variant="older-only" if absent else None,
        severity=Severity.NOTE if absent else Severity.ERROR,
        confidence=Confidence.LIKELY,
        remedies=tensorflow_that_fits(facts) or (USE_ANOTHER_SYSTEM,),
        libc=libc,
        need=f"glibc {need}",
        version=version,
    )


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what the loader printed."""
    evidence = ("host.libc", "host.distribution", "tensorflow.run")
    for message, variant, remedy in (
        ("glibc-too-old", "libc-log", USE_ANOTHER_SYSTEM),
        ("libstdcxx-too-old", "libstdcxx", NEWER_LIBSTDCXX),
    ):
        found = events(facts, message)
        if found:
            need = found[-1].parameters.get("needed", "a newer one")
            yield self.finding((*seen(found), *evidence), variant=variant, remedies=(remedy,), need=need)
