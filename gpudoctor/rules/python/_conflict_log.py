"""What pip, uv and Poetry print of requirements that cannot be met, and Python of a TensorFlow that is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Facts, LogEvent
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.python import _again
from gpudoctor.rules.python._pip import install
from gpudoctor.rules.python._state import events, imported, seen
from gpudoctor.rules.registry import Draft, Rule

# Packages with a rule of their own.
ELSEWHERE = ("numpy", "protobuf", "keras", "keras-nightly", "tensorflow")
PROVIDERS = r"(tensorflow|tf-nightly|intel-tensorflow)(-(cpu|gpu|intel|macos|rocm|aarch64|cpu-aws|avx512))?$"
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
CLEAR = Remedy(
    summary="Delete the folders in site-packages whose names begin with ~ or - and end in ensorflow or with it and a "
    "suffix, then install TensorFlow anew. On Windows end every Python first: it keeps files open.",
    commands=("python -m pip install --force-reinstall tensorflow",),
    applicability=Applicability.MANUAL,
)
SAME_BUILD = Remedy(
    summary="Install the release of that package that was made for this TensorFlow (for tensorflow-addons, "
    "tensorflow-text and tensorflow-io their tables tell), or build it against this TensorFlow. Published packages do "
    "not fit a TensorFlow that was built from source or by conda.",
    applicability=Applicability.MANUAL,
)
FAMILY = r"(?<![\w-])(?:tensorflow|keras|tf[_-])"


def from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
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
    yield from _unfulfilled(self, facts)
    yield from _remains(self, facts)


# What pip prints beside it; whatever else a text tells weighs more than what a removal left.
BESIDE_REMAINS = ("pip-remains", "pip-conflict", "import-said")


def _remains(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a TensorFlow that pip did not remove to the end, where nothing else is told."""
    remains = events(facts, "pip-remains")
    others = [item for item in facts.tensorflow.events.get() or () if item.message not in BESIDE_REMAINS]
    if not remains or others or imported(facts):
        return
    told = remains[0].parameters
    yield self.finding(
        seen(remains),
        variant="remains",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        remedies=(CLEAR,),
        path=f"{told.get('name', '')} in {told.get('folder', 'site-packages')}",
    )


def _unfulfilled(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find requirements that pip found not to hold."""
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
                remedies=_fulfil(facts, event),
                package=event.parameters["package"],
                version=event.parameters["version"],
                requirement=event.parameters["requirement"],
                installed=event.parameters["installed"],
            )


def _fulfil(facts: Facts, event: LogEvent) -> tuple[Remedy, ...]:
    requirement, package = event.parameters["requirement"], event.parameters["package"]
    summary = (
        f"Install what {package} requires ({requirement}); where another package needs the version that is there, "
    )
    return install(facts, requirement, f"{summary}give each an environment of its own.", of=_name(event, "name"))


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
    impossible, wants = events(facts, "pip-impossible"), events(facts, "pip-depends")
    if impossible and wants:  # pip names lines of a file, and below what they ask for
        packages = f"{wants[0].parameters['package']} {wants[0].parameters['version']} and the other packages"
        yield self.finding(
            (*seen(impossible[:1]), *seen(wants[:1])), variant="impossible", remedies=(ALONE,), packages=packages
        )
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
    *(
        "tensorflow.python.",
        "tensorflow.keras.",
        "tensorflow.compat.",
        "tensorflow.core.",
        "tensorflow._api.",
        "tensorflow.tools.",
    ),
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
