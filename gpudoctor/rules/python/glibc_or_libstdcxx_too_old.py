"""glibc-or-libstdcxx-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts, Known
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.plan import in_quotes, quote
from gpudoctor.rules.python._pip import APT, BY_APT, conda_install
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
NO_MUSL = Remedy(
    summary="Use a distribution with glibc: in a container, for instance the image python:3.11-slim in place of an "
    "Alpine image.",
    applicability=Applicability.MANUAL,
)
VARIABLE = "LD_LIBRARY_PATH"
EVIDENCE = ("host.libc", "tensorflow.symbol_versions", "tensorflow.version", "host.machine", "tensorflow.run")


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="{libc} is older than {need}, which the wheel of TensorFlow {version} needs",
    variants={
        "libc-log": "the system's C library is too old for this TensorFlow, which needs {need}",
        "libc-said": "the system's C library is said to be too old for this TensorFlow",
        "libstdcxx": "the C++ library libstdc++ that is loaded is too old for this TensorFlow, which needs {need}",
        "numbers": "the C++ library {file} goes up to {have}, and TensorFlow {version} needs {need}",
        "one-of-two": "the C++ library {file} goes up to {have}, and TensorFlow {version} needs {need}; {other}, "
        "which another module may load first, has it",
        "none": "no libstdc++.so.6 is found, and TensorFlow {version} needs it",
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
    if said := events(facts, "said-libc-old"):
        yield self.finding(
            seen(said), variant="libc-said", confidence=Confidence.POSSIBLE, remedies=(USE_ANOTHER_SYSTEM,)
        )
        return
    libc = facts.host.libc.require()
    absent = isinstance(facts.tensorflow.version, Absent)
    if libc.startswith("musl"):
        severity = Severity.ERROR if absent or failed_import(facts) else Severity.NOTE
        yield self.finding(
            EVIDENCE, variant="musl", severity=severity, confidence=Confidence.LIKELY, remedies=(NO_MUSL,)
        )
        return
    own = None if absent else facts.tensorflow.symbol_versions.get()
    if own is None and resolved_by_conda(facts):
        return  # built for an older C library than the wheels
    version = compat.newest_release() if absent else facts.tensorflow.version.require()
    needs = _by_family(own if own is not None else compat.symbol_versions(version, platform_of(facts)))
    yield from (found := tuple(_too_old_libc(self, facts, libc, needs, version)))
    if not found and not absent:
        yield from _too_old_libstdcxx(self, facts, needs, version)


def _by_family(versions: tuple[str, ...]) -> dict[str, str]:
    """Return versions by what they are of: GLIBC, GLIBCXX, CXXABI."""
    return {text.partition("_")[0]: text.partition("_")[2] for text in versions}


def _too_old_libc(self: Rule, facts: Facts, libc: str, needs: dict[str, str], version: str) -> Iterator[Draft]:
    need = needs.get("GLIBC")
    if not libc.startswith("glibc ") or need is None:
        return
    if compat.version(libc.removeprefix("glibc ")) >= compat.version(need):
        return
    absent = isinstance(facts.tensorflow.version, Absent)
    yield self.finding(
        EVIDENCE,
        variant="older-only" if absent else None,
        severity=Severity.NOTE if absent else Severity.ERROR,
        confidence=Confidence.LIKELY,
        remedies=tensorflow_that_fits(facts) or (USE_ANOTHER_SYSTEM,),
        libc=libc,
        need=f"glibc {need}",
        version=version,
    )


def _too_old_libstdcxx(self: Rule, facts: Facts, needs: dict[str, str], version: str) -> Iterator[Draft]:
    """Compare numbers; TensorFlow was not seen to start, or not tried."""
    told = facts.python.libstdcxx
    evidence = ("python.libstdcxx", "python.libstdcxx_file", "tensorflow.symbol_versions", "tensorflow.version")
    if isinstance(told, Absent):
        if failed_import(facts):
            yield self.finding(
                evidence,
                variant="none",
                confidence=Confidence.LIKELY,
                remedies=(_any_libstdcxx(facts),),
                version=version,
            )
        return
    too_old = _lacking(told.require(), needs)
    if too_old is None or not isinstance(told, Known):
        return
    other = next((source for value, source in told.also if _lacking(value, needs) is None), None)
    yield self.finding(
        evidence,
        variant="numbers" if other is None else "one-of-two",
        severity=Severity.ERROR if other is None else Severity.NOTE,
        confidence=Confidence.LIKELY if other is None else Confidence.POSSIBLE,
        remedies=(_newer_libstdcxx(facts),) if other is None else (),
        file=facts.python.libstdcxx_file.get() or "libstdc++.so.6",
        have=too_old[0],
        need=too_old[1],
        version=version,
        other=other or "",
    )


def _any_libstdcxx(facts: Facts) -> Remedy:
    """Return the remedy where no C++ library is there at all, as in small images of containers."""
    by_apt = facts.host.distribution_id.get() in BY_APT
    return Remedy(
        summary="Install the system's C++ library: the package libstdc++6 of Debian and Ubuntu, libstdc++ of Fedora, "
        "RHEL and SUSE.",
        commands=("sudo apt-get update", f"{APT} libstdc++6") if by_apt else (),
        applicability=Applicability.UNSAFE if by_apt else Applicability.MANUAL,
    )


def _lacking(versions: tuple[str, ...], needs: dict[str, str]) -> tuple[str, str] | None:
    """Return the newest version there and the one that is needed, of the first family that is too old."""
    have = _by_family(versions)
    for family in ("GLIBCXX", "CXXABI"):
        if family in have and family in needs and compat.version(have[family]) < compat.version(needs[family]):
            return f"{family}_{have[family]}", f"{family}_{needs[family]}"
    return None


def _newer_libstdcxx(facts: Facts) -> Remedy:
    """Return the remedy: without the variable that leads to an old copy, or with a newer one first."""
    folder = (facts.python.libstdcxx_file.get() or "").rpartition("/")[0]
    parts = (facts.python.environment.get() or {}).get(VARIABLE, "").split(":")
    if folder and folder in [part.rstrip("/") for part in parts]:
        rest = ":".join(part for part in parts if part and part.rstrip("/") != folder)
        return Remedy(
            summary=f"Take {folder} out of {VARIABLE}: the copy of the C++ library there comes before the system's.",
            commands=(f"export {VARIABLE}={quote(rest, compat.Os.LINUX)}" if rest else f"unset {VARIABLE}",),
            applicability=Applicability.MANUAL,
        )
    if facts.python.environment_kind.get() not in (None, "conda"):
        return Remedy(
            summary="Use a container or a newer distribution; or lead the loader to the libstdc++ of a newer GCC.",
            applicability=Applicability.MANUAL,
        )
    prefix = facts.python.prefix.get()
    home = "$CONDA_PREFIX" if prefix is None else in_quotes(prefix)
    return Remedy(
        summary="Put a newer libstdc++ first: that of conda (package libstdcxx-ng), or of a newer GCC; or use a "
        "container.",
        commands=(
            conda_install(facts, "libstdcxx-ng", channel="conda-forge"),
            f'export {VARIABLE}="{home}/lib:${VARIABLE}"',
        ),
        applicability=Applicability.MANUAL,
    )


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what the loader printed."""
    evidence = ("host.libc", "host.distribution", "python.libstdcxx", "tensorflow.run")
    for message, variant, remedy in (
        ("glibc-too-old", "libc-log", USE_ANOTHER_SYSTEM),
        ("libstdcxx-too-old", "libstdcxx", _newer_libstdcxx(facts)),
    ):
        found = events(facts, message)
        if found:
            need = found[-1].parameters.get("needed", "a newer one")
            yield self.finding((*seen(found), *evidence), variant=variant, remedies=(remedy,), need=need)
