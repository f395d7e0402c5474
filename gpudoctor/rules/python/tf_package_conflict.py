"""tf-package-conflict."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Conflict, Facts, LogEvent, Package, PackageProblem
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python import _again
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import events, failed_import, imported, seen, told, unexplained_exception
from gpudoctor.rules.registry import Draft, Rule, rule

PROVIDERS = r"(tensorflow|tf-nightly|intel-tensorflow)(-(cpu|gpu|intel|macos|rocm|aarch64|cpu-aws|avx512))?$"
# Packages with a rule of their own.
ELSEWHERE = ("numpy", "protobuf", "keras", "keras-nightly", "tensorflow")
VARIANTS = {"duplicate": "copies", "broken-metadata": "metadata", "unrecorded": "unrecorded"}
RENAME = Remedy(
    summary="Rename your own file or folder of that name, and delete __pycache__ beside it.",
    applicability=Applicability.MANUAL,
)
ALONE = Remedy(
    summary="Ask for TensorFlow first and alone in a new environment, without versions for what it requires itself "
    "(keras, numpy, protobuf, tensorflow-intel); then for the rest.",
    commands=("python3 -m venv tf-env", "tf-env/bin/python -m pip install tensorflow"),
    applicability=Applicability.SAFE,
)
# What uv and poetry name: torch==2.5.1, tensorflow (2.18.0); not the libraries that they differ about.
ASKED = r"(?<![\w.-])(?!nvidia-)[A-Za-z][\w.-]{1,40}(?:\[[\w,-]{1,40}\])?(?:[=<>!~]{1,2}[\w.*]{1,20}| \(\d[^)]{0,20}\))"
CUDA_WHEEL = r"nvidia-[a-z-]+-cu\d\d"
APART = Remedy(
    summary="Give TensorFlow and the other package an environment each: one cuDNN cannot serve both.",
    commands=("python -m venv tf-env",),
    applicability=Applicability.SAFE,
)
SAME_BUILD = Remedy(
    summary="Install the release of that package that was made for this TensorFlow (for tensorflow-addons, "
    "tensorflow-text and tensorflow-io their tables tell), or build it against this TensorFlow. Published packages do "
    "not fit a TensorFlow that was built from source or by conda.",
    applicability=Applicability.MANUAL,
)
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
    yield from (logged := tuple(_from_log(self, facts)))
    if not logged:
        yield from _providers(self, facts)
    problems = facts.python.problems.require()
    for problem in problems:
        yield from _problem(self, facts, problem)
    yield from _leftovers(self, facts, tuple(problem for problem in problems if problem.kind == "leftover"))
    yield from _requirements(self, facts)


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


FAMILY = r"(?<![\w-])(?:tensorflow|keras|tf[_-])"


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what pip's resolver printed, and what Python says of a package that is none."""
    shadowed, hollow = events(facts, "tensorflow-shadowed"), events(facts, "tensorflow-hollow")
    if shadowed:
        name = shadowed[0].parameters.get("module") or shadowed[0].parameters.get("file", "tensorflow")
        yield self.finding(seen(shadowed), variant="hidden-log", remedies=(RENAME,), name=name)
    elif hollow:
        yield self.finding(
            seen(hollow),
            variant="hollow-log",
            confidence=Confidence.LIKELY,
            remedies=_again.once(facts, ("tensorflow",), None),
        )
    elif mixed := events(facts, "tensorflow-mixed") + _parts_missing(facts):
        yield self.finding(
            seen(mixed),
            variant="mixed-log",
            confidence=Confidence.LIKELY,
            remedies=_again.once(facts, ("tensorflow",), facts.tensorflow.version.get()),
        )
    if not (shadowed or hollow) and (lacks := _other_build(facts)):
        told = lacks[0].parameters
        yield self.finding(
            seen(lacks),
            variant="symbol",
            confidence=Confidence.LIKELY,
            remedies=(SAME_BUILD,),
            file=told.get("file", "a library"),
            symbol=told.get("symbol", ""),
        )
    yield from _impossible(self, facts)
    yield from _pinned(self, facts, bool(_of_providers(facts)))
    named = _of_providers(facts)
    providers = {_name(event, "package"): event.parameters["version"] for event in named}
    if len(providers) > 1:
        yield self.finding(
            seen(tuple(named)),
            remedies=_again.once(facts, tuple(providers), _again.newest(tuple(providers.values()))),
            packages=" and ".join(f"{name} {version}" for name, version in providers.items()),
        )
    elif named := named or _of_family(facts):
        others = [item for item in named if _name(item, "name") not in ELSEWHERE]
        # Of what has a rule of its own, nothing but the resolver speaks here.
        event = others[0] if others else named[0] if facts.python.conflicts.get() is None else None
        if event is not None:
            yield self.finding(
                seen((event,)),
                variant="log",
                severity=Severity.NOTE if imported(facts) else Severity.WARNING,
                confidence=Confidence.LIKELY,
                package=event.parameters["package"],
                version=event.parameters["version"],
                requirement=event.parameters["requirement"],
                installed=event.parameters["installed"],
            )


def _of_providers(facts: Facts) -> list[LogEvent]:
    """Return the requirements of TensorFlow's own packages that pip found not to hold."""
    return [event for event in events(facts, "pip-conflict") if re.match(PROVIDERS, _name(event, "package"))]


def _impossible(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what resolvers print that find no set of versions."""
    for event in events(facts, "pip-impossible", "resolver-impossible"):
        if event.message == "resolver-impossible" and events(facts, *TOLD_ELSEWHERE):
            continue
        text = " ".join(event.parameters.values())
        packages = event.parameters.get("packages", "")
        if event.message == "resolver-impossible":
            packages = " and ".join(dict.fromkeys(re.findall(ASKED, text)))
        if packages and re.search(FAMILY, text.lower()):
            yield self.finding(seen((event,)), variant="impossible", remedies=(ALONE,), packages=packages)
            return
    if unsolved := _unsolved(facts):
        named = next(
            (event.parameters["package"] for event in unsolved if event.parameters.get("package")), "tensorflow"
        )
        yield self.finding(
            seen(unsolved), variant="unsolved", confidence=Confidence.LIKELY, remedies=(ALONE,), package=named
        )


def _pinned(self: Rule, facts: Facts, named: bool) -> Iterator[Draft]:
    """Find another package that pins a CUDA library which TensorFlow needs as well: PyTorch does."""
    found = [e for e in events(facts, "pip-conflict") if re.match(CUDA_WHEEL, _name(e, "name"))]
    of_others = [event for event in found if not re.match(PROVIDERS, _name(event, "package"))]
    if of_others and not named and facts.tensorflow.version.get() is not None:
        event = of_others[0]
        yield self.finding(
            seen((event,)),
            variant="pinned",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=(APART,),
            **{key: event.parameters[key] for key in ("package", "version", "name", "requirement", "installed")},
        )


def _name(event: LogEvent, key: str) -> str:
    return event.parameters.get(key, "").lower().replace("_", "-")


def _of_family(facts: Facts) -> list[LogEvent]:
    """Return what pip says of packages beside TensorFlow that require it, or share its requirements."""
    return [event for event in events(facts, "pip-conflict") if re.match(FAMILY, _name(event, "package"))]


# What tells of one package and one Python: python-version-unsupported and conda-virtual-cuda-missing say it.
TOLD_ELSEWHERE = (
    *("installer-no-wheel", "conda-python-refused", "conda-python-conflicts", "channel-lacks"),
    *("python-not-satisfied", "conda-cuda-missing"),
)


def _unsolved(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what a resolver printed that failed with TensorFlow among what was asked for."""
    failed, asked = events(facts, "resolver-failed"), events(facts, "resolver-names")
    if not failed or not asked or events(facts, *TOLD_ELSEWHERE) or imported(facts):
        return ()
    return (*failed, *asked)


# Parts of every TensorFlow: where one is not there, what is there is of several releases, or half removed.
OWN_PARTS = (
    *("tensorflow.python.", "tensorflow.compat.", "tensorflow.core.", "tensorflow._api.", "tensorflow.tools."),
    *("tensorflow_core.", "tensorflow.tsl."),
)


def _parts_missing(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the events that tell that a part of TensorFlow itself is not there. Keras has a rule of its own."""
    found = [(event, f"{event.parameters.get('module', '')}.") for event in events(facts, "no-module")]
    return tuple(
        event
        for event, module in found
        if module.startswith(OWN_PARTS) and not module.startswith("tensorflow.python.keras")
    )


def _other_build(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the events of libraries that look for a symbol of TensorFlow in vain. Horovod has a rule of its own."""
    return tuple(
        event
        for event in events(facts, "undefined-symbol")
        if re.search(r"tensorflow|^_Z14tf_|TF_|xla|tsl", event.parameters.get("symbol", ""))
        and not event.parameters.get("file", "").startswith("mpi_lib")
    )
