"""tf-package-conflict."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Conflict, Facts, Known, Package, PackageProblem
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python import _again
from gpudoctor.rules.python._conflict_log import ELSEWHERE, PROVIDERS, from_log
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import events, failed_import, imported, seen, told, unexplained_exception
from gpudoctor.rules.registry import Draft, Rule, rule

VARIANTS = {"duplicate": "copies", "broken-metadata": "metadata", "unrecorded": "unrecorded"}
REMAINS = ("hollow", "files-missing")


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="{packages} are installed side by side: each provides `import tensorflow`, and they overwrite each other's "
    "files",
    variants={
        "hidden": "{path} hides the package {name}: `import {name}` loads that file",
        "hidden-here": "{path} hides the package {name} from scripts and notebooks that are started in this folder",
        "hidden-log": "a file of your own bears the name of the package {name}, and is imported in its place",
        "hollow-log": "what is imported as tensorflow is no whole TensorFlow: remains of one, or a file or folder "
        "of that name",
        "mixed-log": "parts of TensorFlow, or packages that it works with, are of different versions",
        "remains": "TensorFlow is half removed: {path}",
        "leftover": "pip left remains of a package that it could not remove: {path}",
        "missing": "{package} {version} requires {name}, which is not installed",
        "requires": "{package} {version} requires {name} {specifier}, and {installed} is installed",
        "pinned": "{package} {version} and TensorFlow ask for different versions of {name}: {package} requires "
        "{requirement}, and {installed} is installed",
        "impossible": "the resolver finds no versions that fit together: what {packages} require contradicts itself",
        "unsolved": "the installer finds no versions that fit together with {package}",
        "log": "packages of TensorFlow's family do not fit together: {package} {version} requires {requirement}, and "
        "{installed} is installed",
        "symbol": "{file} was built against another TensorFlow than the one installed: it lacks a symbol ({symbol})",
        "metadata": "the metadata of {name} are broken: pip can neither upgrade nor remove it ({path})",
        "unrecorded": "{name} lies in {path} without package metadata: pip does not know of it, and neither upgrades "
        "nor removes it",
        "copies": "{name} is installed more than once: {path}",
    },
)
def tf_package_conflict(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Packages of TensorFlow's family stand in each other's way.

    Why it matters: two packages that provide `tensorflow` overwrite each other's files, a half-removed one leaves a
    folder that is no TensorFlow, a script called tensorflow.py hides the real one: then the import fails, or loads
    something else than pip says.
    How to fix: uninstall everything that provides TensorFlow, delete what remains, and install one package. Rename a
    script that bears the name of a package. Best start with a new virtual environment.
    """
    yield from (logged := tuple(from_log(self, facts)))
    if not logged:
        yield from _said(self, facts)
        yield from _providers(self, facts)
    problems = facts.python.problems.require()
    for problem in problems:
        yield from _problem(self, facts, problem)
    yield from _leftovers(self, facts, tuple(problem for problem in problems if problem.kind == "leftover"))
    yield from _requirements(self, facts)


def _said(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find that somebody says that two packages are installed, where no list of packages tells."""
    said = events(facts, "said-two-packages")
    if said and not isinstance(facts.python.packages, Known) and not seen_gpu_devices(facts):
        names = ("tensorflow", "tensorflow-gpu")
        yield self.finding(
            seen(said),
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=_again.once(facts, names, None),
            packages=" and ".join(names),
        )


def _providers(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find packages that install the same folder. One without files of its own only requires the other."""
    found: dict[str, list[Package]] = {}
    for item in facts.python.packages.require():
        if re.match(PROVIDERS, item.name) and not item.empty:
            found.setdefault(item.location, []).append(item)
    for items in found.values():
        if len({item.name for item in items}) < 2:  # noqa: PLR2004 (two make a conflict)
            continue
        mixed = len({item.version for item in items}) > 1
        severity = Severity.ERROR if failed_import(facts) or (mixed and not imported(facts)) else Severity.WARNING
        # Of one release these two hold the same files, from 2.1 on.
        same = {item.name for item in items} == {"tensorflow", "tensorflow-gpu"} and not failed_import(facts)
        works = (imported(facts) or same) and not mixed
        yield self.finding(
            (*told(*items), "tensorflow.distribution", "tensorflow.run"),
            severity=Severity.NOTE if works else severity,
            confidence=Confidence.CERTAIN if mixed or failed_import(facts) else Confidence.LIKELY,
            remedies=_again.once(facts, tuple(item.name for item in items), _newest_stable(items)),
            packages=" and ".join(f"{item.name} {item.version}" for item in items),
        )


def _newest_stable(items: list[Package]) -> str | None:
    return _again.newest(tuple(item.version for item in items))


def _problem(self: Rule, facts: Facts, problem: PackageProblem) -> Iterator[Draft]:
    """Turn one problem of the environment into a finding: as bad as what comes of it."""
    evidence = ("python.problems", "tensorflow.run", "tensorflow.location")
    match problem.kind:
        case "shadowed":
            yield self.finding(
                evidence, variant="hidden", remedies=_rename(problem), path=problem.detail, name=problem.name
            )
        case "shadowed-here":
            yield self.finding(
                evidence,
                variant="hidden-here",
                severity=Severity.WARNING,
                confidence=Confidence.LIKELY,
                remedies=_rename(problem),
                path=problem.detail,
                name=problem.name,
            )
        case kind if kind in REMAINS and re.match(PROVIDERS, problem.name):
            works = imported(facts)
            yield self.finding(
                evidence,
                variant="remains",
                severity=Severity.NOTE if works else Severity.ERROR,
                remedies=() if works else _again.after_removal(facts, problem),
                path=f"{problem.detail} is there, its files are not" if kind == "hollow" else problem.detail,
            )
        case "broken-metadata" | "duplicate" | "unrecorded":
            yield self.finding(
                evidence,
                variant=VARIANTS[problem.kind],
                severity=Severity.NOTE,
                name=problem.name,
                path=problem.detail,
            )


def _leftovers(self: Rule, facts: Facts, found: tuple[PackageProblem, ...]) -> Iterator[Draft]:
    """Tell of all that pip left behind at once: it tells why a TensorFlow is gone."""
    if not found:
        return
    ill = failed_import(facts) is not None or isinstance(facts.tensorflow.version, Absent)
    of_tensorflow = any("ensorflow" in problem.name for problem in found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    yield self.finding(
        ("python.problems", "tensorflow.run", "tensorflow.location"),
        variant="leftover",
        severity=Severity.WARNING if ill and of_tensorflow else Severity.NOTE,
        remedies=_again.delete(tuple(problem.detail for problem in found)),
        path=f"{found[0].detail}{more}",
    )


def _rename(problem: PackageProblem) -> tuple[Remedy, ...]:
    summary = (
        f"Rename {problem.detail}, and delete __pycache__ beside it; a script must not bear the name of a package."
    )
    return (Remedy(summary=summary, applicability=Applicability.MANUAL),)


def _requirements(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find requirements that do not hold. Alone they are notes: many hold by habit only."""
    missing = {event.parameters.get("module", "").partition(".")[0] for event in events(facts, "no-module")}
    for item in facts.python.conflicts.get() or ():
        if item.name in ELSEWHERE:
            continue
        named = item.installed is None and item.name.replace("-", "_") in missing and failed_import(facts)
        suspect = unexplained_exception(facts) and item.installed is not None
        yield self.finding(
            (*told(item), "tensorflow.run"),
            variant="missing" if item.installed is None else "requires",
            severity=Severity.ERROR if named else Severity.WARNING if suspect else Severity.NOTE,
            confidence=Confidence.LIKELY if suspect else Confidence.CERTAIN,
            remedies=_fulfil(facts, item),
            package=item.package,
            version=item.version,
            name=item.name,
            specifier=item.specifier,
            installed=item.installed or "",
        )


def _fulfil(facts: Facts, item: Conflict) -> tuple[Remedy, ...]:
    requirement = f"{item.name}{item.specifier}"
    return install(facts, requirement, f"Install what {item.package} requires ({requirement}).", of=item.name)
