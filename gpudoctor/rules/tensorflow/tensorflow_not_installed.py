"""tensorflow-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, FactUnavailable, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, imported, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

TENSORFLOW = "tensorflow"
# What is left of an installation, or stands in its place: not the same as none.
BROKEN = ("files-missing", "hollow", "shadowed")
GPU_PACKAGE = "tensorflow-gpu"
BEARS_NAME = (TENSORFLOW, "tensorflow-cpu", GPU_PACKAGE, "tf-nightly")
POINT_AT_IT = Remedy(
    summary="If TensorFlow is in another environment, activate that environment first, or name its interpreter.",
    commands=("gpudoctor check --python path/to/your/environment/bin/python",),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.TENSORFLOW,
    message="TensorFlow is not installed in {python}",
    variants={
        "own": "TensorFlow is not installed in {python}, the environment of gpudoctor itself; no other environment was "
        "named or active",
        "name": "Python finds no module {module}: its name is tensorflow, in small letters, whatever package brings it",
        "long-path": "pip could not install TensorFlow: one of its files has a longer path than Windows allows (260 "
        "characters)",
        "memory": "pip could not install TensorFlow: it had too little memory",
        "space": "pip could not install TensorFlow: the disk, or this user's share of it, is full",
        "denied": "pip could not install TensorFlow: the system refused it to write ({reason})",
        "managed": "pip did not install: this system lets it change nothing in its own Python",
        "log": "the Python that ran this program finds no TensorFlow: it is not installed there",
    },
)
def tensorflow_not_installed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow is not installed in the Python environment that was looked at.

    Why it matters: `import tensorflow` fails there. Often it is installed in another environment than the one that
    runs the script.
    How to fix: activate the right environment or point at it with --python; else install TensorFlow into this one.
    """
    refused = None if imported(facts) else _refused(self, facts)
    if refused is not None:
        yield refused
        return
    logged = tuple(event for event in events(facts, "no-module") if event.parameters.get("module") == TENSORFLOW)
    logged = logged or events(facts, "tensorflow-not-in-r")
    # A version in the text may be one that was asked for.
    unknown = isinstance(facts.tensorflow.version, Unknown) or isinstance(facts.tensorflow.distribution, Absent)
    if logged and unknown and not isinstance(facts.tensorflow.version, Absent):
        yield self.finding(
            (*seen(logged), "python.version"), variant="log", remedies=(POINT_AT_IT, *tensorflow_that_fits(facts))
        )
        return
    if not isinstance(facts.tensorflow.version, Absent) or not isinstance(facts.tensorflow.distribution, Absent):
        facts.tensorflow.version.require()
        return
    if any(problem.kind in BROKEN and problem.name in BEARS_NAME for problem in facts.python.problems.get() or ()):
        raise FactUnavailable("parts of TensorFlow are there: see tf-package-conflict")
    if any(item.name == GPU_PACKAGE for item in facts.python.packages.get() or ()):
        raise FactUnavailable("a package without TensorFlow stands for it: see tensorflow-gpu-package-removed")
    own = facts.python.chosen_by.get() == "own"
    yield self.finding(
        ("tensorflow.version", "python.executable", "python.chosen_by", "python.version"),
        variant="own" if own else None,
        # Nobody said that this is the environment to look at: that it lacks TensorFlow tells little.
        severity=Severity.WARNING if own else Severity.ERROR,
        confidence=Confidence.LIKELY if own else Confidence.CERTAIN,
        remedies=((POINT_AT_IT,) if own else ()) + tensorflow_that_fits(facts),
        python=facts.python.executable.get() or "the target interpreter",
    )


# Other names that people import: the package is tensorflow-gpu, the module is not.
OTHER_NAMES = ("tensorflow_gpu", "tensorflow_cpu", "tensorflow_intel", "tf")
SHORTER_PATHS = Remedy(
    summary="Let Windows take long paths: as administrator run the command, then start anew. Or make the environment "
    "in a short folder, such as C:\\tf, with a Python from python.org in place of that from the Store.",
    commands=(
        "reg add HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1 /f",
        "python -m pip install --force-reinstall tensorflow",
    ),
    applicability=Applicability.UNSAFE,
)
MORE_SPACE = Remedy(
    summary="Make room: TensorFlow with its CUDA libraries takes about 5 GB. Empty pip's cache, and let it unpack "
    "where there is space.",
    commands=(
        "python3 -m pip cache purge",
        "df -h ~ /tmp",
        "TMPDIR=$HOME/tmp python3 -m pip install --no-cache-dir tensorflow",
    ),
    applicability=Applicability.MANUAL,
)
LESS_MEMORY = Remedy(
    summary="Let pip keep no copy of what it downloads: it reads the whole file into memory for that. On a small board "
    "add swap space.",
    commands=("python3 -m pip install --no-cache-dir tensorflow",),
    applicability=Applicability.SAFE,
)
OWN_ENVIRONMENT = Remedy(
    summary="Install into a virtual environment of your own.",
    commands=("python3 -m venv tf-env", "tf-env/bin/python -m pip install tensorflow"),
    applicability=Applicability.SAFE,
)
CLOSE_PROGRAMS = Remedy(
    summary="Close the programs and notebooks that use this environment, and install into a virtual environment of "
    "your own.",
    applicability=Applicability.MANUAL,
)
IN_SMALL_LETTERS = Remedy(
    summary="Write `import tensorflow as tf`. The packages tensorflow, tensorflow-gpu and tensorflow-cpu all bring the "
    "module of that name.",
    applicability=Applicability.MANUAL,
)
NOT_FOUND = ("Errno 2", "Errno 22", "WinError 3", "WinError 206")
FULL = ("Errno 28", "Errno 122", "WinError 112")


def _refused(self: Rule, facts: Facts) -> Draft | None:
    """Find why it could not be installed, or not be found under the name that was asked for."""
    failed, full = events(facts, "pip-os-error"), events(facts, "pip-no-space")
    told = failed[-1].parameters if failed else {}
    error, path = told.get("error", ""), told.get("path", "")
    long = events(facts, "windows-long-path")
    if long or (error in NOT_FOUND and "\\" in path):
        return self.finding(
            seen((*long, *failed)),
            variant="long-path",
            confidence=Confidence.CERTAIN if long else Confidence.LIKELY,
            remedies=(SHORTER_PATHS,),
        )
    if full or error in FULL:
        return self.finding(seen((*full, *failed)), variant="space", remedies=(MORE_SPACE,))
    if failed and error:
        remedy = CLOSE_PROGRAMS if error.startswith("WinError") else OWN_ENVIRONMENT
        reason = told.get("reason", error)
        return self.finding(seen(failed), variant="denied", remedies=(remedy,), reason=reason)
    if memory := events(facts, "pip-no-memory"):
        return self.finding(seen(memory), variant="memory", confidence=Confidence.LIKELY, remedies=(LESS_MEMORY,))
    if denied := events(facts, "pip-denied"):
        return self.finding(
            seen(denied), variant="denied", remedies=(OWN_ENVIRONMENT,), reason=denied[0].parameters.get("path", "")
        )
    if managed := events(facts, "pip-managed-elsewhere"):
        return self.finding(seen(managed), variant="managed", remedies=(OWN_ENVIRONMENT,))
    named = tuple(event for event in events(facts, "no-module") if _is_other_name(event.parameters.get("module", "")))
    if named:
        module = named[0].parameters["module"]
        return self.finding(seen(named), variant="name", remedies=(IN_SMALL_LETTERS,), module=module)
    return None


def _is_other_name(module: str) -> bool:
    return module in OTHER_NAMES or (module != TENSORFLOW and module.lower() == TENSORFLOW)
