"""python-version-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.python._state import events, imported, minor, seen
from gpudoctor.rules.python._wheels import newest_by_python, oldest_and_newest_python, platform_of
from gpudoctor.rules.python._wheels_here import that_fits
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

CPYTHON = "cpython"
BITS = 64
# Modules that Python 3.12 no longer has.
GONE_FROM_PYTHON = ("imp", "distutils")


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="no TensorFlow wheel is published for Python {python} ({platform}): TensorFlow {newest} has wheels for "
    "Python "
    "{first} to {last}",
    variants={
        "implementation": "TensorFlow wheels are published for CPython only, and this is {implementation}",
        "bits": "this Python is a {bits}-bit one, and TensorFlow wheels are published for 64-bit Python only",
        "none": "pip finds no {requirement} for {python}: no release of it has a wheel for this Python and platform",
        "other": "pip finds no {requirement} for {python}: what it has for this Python is {offered}",
        "channels": "conda's channels have no {requirement} for this platform",
        "conda": "conda has no TensorFlow build for the Python of this environment, or for what else is asked for",
        "refused": "pip refuses {requirement} on {python}",
        "too-new": "this Python no longer has {module}, which this TensorFlow, or a package beside it, still uses",
        "held-back": "TensorFlow {version} is the newest for Python {python}; {newest} needs Python {first} or newer",
    },
)
def python_version_unsupported(self: Rule, facts: Facts) -> Iterator[Draft]:
    """No TensorFlow wheel is published for this Python, or only an old one.

    Why it matters: pip ends with "No matching distribution found for tensorflow (from versions: none)", or takes an old
    release without a word.
    How to fix: make an environment with a Python that TensorFlow has wheels for.
    """
    logged = tuple(_from_log(self, facts))
    yield from logged
    if logged:
        return
    absent = isinstance(facts.tensorflow.version, Absent) and isinstance(facts.tensorflow.distribution, Absent)
    own, platform = minor(facts.python.version.require()), platform_of(facts)
    if own is None:
        return
    if not absent:
        facts.tensorflow.version.require()
        yield from _held_back(self, facts, own, platform)
    else:
        yield from _nothing_for(self, facts, own, platform)


def _nothing_for(self: Rule, facts: Facts, own: str, platform: str) -> Iterator[Draft]:
    """Find why pip can install no TensorFlow into this interpreter."""
    bits, implementation = facts.python.bits.get(), facts.python.implementation.get()
    if bits is not None and bits != BITS:
        variant: str | None = "bits"
    elif implementation not in (None, CPYTHON):
        variant = "implementation"
    elif own in newest_by_python(platform):
        return
    else:
        variant = None
    first, last = oldest_and_newest_python(platform)
    named = facts.python.chosen_by.get() != "own"
    yield self.finding(
        ("python.version", "python.implementation", "python.bits", "python.executable", "host.machine"),
        variant=variant,
        # Nobody said that this is the environment to look at: as in tensorflow-not-installed.
        severity=Severity.ERROR if named else Severity.WARNING,
        remedies=tensorflow_that_fits(facts),
        python=own,
        platform=platform,
        newest=max(newest_by_python(platform).values(), key=compat.version),
        first=first,
        last=last,
        bits=bits or BITS,
        implementation=implementation or "",
    )


def _held_back(self: Rule, facts: Facts, own: str, platform: str) -> Iterator[Draft]:
    """Note that only a newer Python brings a newer TensorFlow."""
    version, here = facts.tensorflow.version.require(), newest_by_python(platform).get(own)
    newest = max(newest_by_python(platform).values(), key=compat.version, default=None)
    if here is None or newest is None or compat.version(version) != compat.version(here) or here == newest:
        return
    first, _ = oldest_and_newest_python(platform)
    if compat.version(own) < compat.version(first):
        yield self.finding(
            ("python.version", "tensorflow.version"),
            variant="held-back",
            severity=Severity.NOTE,
            version=version,
            python=own,
            newest=newest,
            first=first,
        )


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what pip printed. Without a way to the index it prints the same."""
    refused = events(facts, "pip-python-refused", "wheel-not-supported", "conda-python-refused", "installer-no-wheel",
                     "python-not-satisfied")  # fmt: skip
    if refused and not imported(facts):
        parameters = refused[-1].parameters
        yield self.finding(
            (*seen(refused), "python.version"),
            variant="refused",
            remedies=that_fits(facts),
            requirement=parameters.get("package") or parameters.get("wheel") or "the package",
            python=f"Python {parameters['python']}" if "python" in parameters else "this Python or platform",
        )
        return
    if (conda := _from_conda(self, facts)) is not None:
        yield conda
        return
    gone = events(facts, "python-too-new") + tuple(
        event for event in events(facts, "no-module") if event.parameters.get("module") in GONE_FROM_PYTHON
    )
    if gone and not imported(facts):
        yield self.finding(
            (*seen(gone), "python.version", "tensorflow.version"),
            variant="too-new",
            confidence=Confidence.LIKELY,
            remedies=that_fits(facts),
            module=gone[0].parameters.get("module", "async"),
        )
        return
    yield from _nothing_found(self, facts)


def _nothing_found(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a release that pip looked for and did not find."""
    found = events(facts, "pip-no-distribution") or events(facts, "pip-no-match")
    found = found or (() if facts.tensorflow.distribution.get() else events(facts, "pip-link-skipped"))
    if not found or imported(facts):
        return
    own, versions = minor(facts.python.version.get()), found[-1].parameters.get("versions", "")
    nothing = versions in ("", "none")
    if found[-1].message == "pip-no-distribution" and events(facts, "pip-os-error"):
        return
    yield self.finding(
        (*seen(found), "python.version"),
        variant="none" if nothing else "other",
        confidence=Confidence.LIKELY,
        remedies=that_fits(facts),
        requirement=found[-1].parameters.get("requirement", "tensorflow"),
        python=f"Python {own}" if own else "this Python",
        offered=_shown(versions),
    )


def _from_conda(self: Rule, facts: Facts) -> Draft | None:
    """Find what conda's solvers printed of TensorFlow."""
    lacks = events(facts, "channel-lacks")
    if lacks and not imported(facts):
        told = lacks[0].parameters
        requirement = next((value for value in told.values() if value), "tensorflow")
        return self.finding(
            seen(lacks),
            variant="channels",
            confidence=Confidence.LIKELY,
            remedies=that_fits(facts),
            requirement=requirement,
        )
    failed, named = events(facts, "resolver-failed", "conda-python-conflicts"), events(facts, "resolver-names")
    conflicts = events(facts, "conda-python-conflicts")
    if conflicts and failed and (named or "tensorflow" in str(conflicts)) and not imported(facts):
        return self.finding(
            (*seen(conflicts), "python.version"),
            variant="conda",
            confidence=Confidence.LIKELY,
            remedies=that_fits(facts),
        )
    return None


def _shown(versions: str) -> str:
    """Return the first and the last of pip's list; the list may be cut short."""
    found = [text.strip() for text in versions.split(",") if text.strip()]
    return f"{found[0]} and newer" if len(found) > 1 else versions
