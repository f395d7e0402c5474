"""tensorflow-import-fails."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, FactUnavailable, LogEvent, RunOutcome
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, failed_import, imported, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import pip_install

_WORDINGS = {
    RunOutcome.EXCEPTION: "exception",
    RunOutcome.SIGNAL: "signal",
    RunOutcome.NO_ANSWER: "hang",
    RunOutcome.EXIT: "exit",
}
# Other rules say so: old builds are linked to CUDA; and Horovod's import is not TensorFlow's.
_SAID_ELSEWHERE = ("cuda-library-not-linked", "horovod-extension-missing")


# Lines that name the cause: the rule for that cause tells it, and this one has nothing to add.
_EXPLAINED = (
    "libstdcxx-too-old",
    "glibc-too-old",
    "cpu-instructions-missing",
    "numpy-abi",
    "protobuf-descriptors",
    "protobuf-generated-code",
    "protobuf-too-old",
    "protobuf-halves",
    "driver-part-missing",
)


@rule(
    Severity.ERROR,
    breaks=Capability.TENSORFLOW,
    needs=(Capability.PYTHON,),
    message="`import tensorflow` fails: {detail}",
    variants={
        "exception": "`import tensorflow` fails: {detail}",
        "signal": "`import tensorflow` crashes the interpreter: it {detail}",
        "hang": "`import tensorflow` hangs: it {detail}",
        "exit": "`import tensorflow` ends the interpreter: it {detail}",
        "architecture": "TensorFlow's library, or one that it loads, is built for another processor than this Python: "
        "Apple's and Intel's are mixed",
        "source": "TensorFlow is imported from its source folder, or its compiled part did not load",
        "kernel": "the notebook's process ends when TensorFlow is imported; its terminal says why",
        "openmp": "the process ends because two copies of OpenMP's library are loaded into it ({library}): two "
        "packages each bring one",
        "log": "TensorFlow's native library did not load",
        "tf1": "the program is written for TensorFlow 1 and meets TensorFlow 2, which does not have what it asks for",
    },
)
def tensorflow_import_fails(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow is installed, and importing it fails, crashes or hangs.

    Why it matters: no script that uses TensorFlow runs in this environment, on whatever device.
    How to fix: the last lines of its log name what is missing or broken. A clean virtual environment with only
    TensorFlow in it tells whether the machine or the environment is at fault.
    """
    run, logged = failed_import(facts), events(facts, "native-runtime-not-loaded")
    if not imported(facts) and (draft := _other_ways(self, facts)):
        yield draft
        return
    if (run is not None or logged) and events(facts, *_EXPLAINED):
        raise FactUnavailable("its log names the cause")
    if run is None and logged and not imported(facts):
        if not events(facts, *_SAID_ELSEWHERE):
            yield self.finding(seen(logged), variant="log", remedies=_clean(facts))
        return
    if run is None and (draft := _said_to_crash(self, facts)):
        yield draft
        return
    if run is None and (old := _written_for_1(facts)):
        yield self.finding((*seen(old), "tensorflow.version"), variant="tf1", remedies=(UPGRADE_CODE,))
        return
    facts.tensorflow.run.require()
    if run is None:
        return
    if isinstance(facts.tensorflow.version, Absent):
        raise FactUnavailable("TensorFlow is not installed")
    if events(facts, *_SAID_ELSEWHERE):
        return
    yield self.finding(
        ("tensorflow.run", "tensorflow.version", "python.executable"),
        variant=_WORDINGS[run.outcome],
        remedies=_clean(facts),
        detail=run.detail or "no reason was given",
    )


ONE_PROCESSOR = Remedy(
    summary="Use one kind throughout: in a terminal without Rosetta the first command has to print arm64 twice. Then "
    "make a new environment with that Python, and install TensorFlow into it.",
    commands=(
        "uname -m; python3 -c 'import platform; print(platform.machine())'",
        "python3 -m venv tf-env",
        "tf-env/bin/python -m pip install tensorflow",
    ),
    applicability=Applicability.SAFE,
)
OUTSIDE_A_NOTEBOOK = Remedy(
    summary="Import it in a terminal, with the notebook's own Python: what ends the process is printed there. "
    '"Illegal instruction" means that the processor lacks AVX.',
    commands=("python -X faulthandler -c 'import tensorflow'",),
    applicability=Applicability.SAFE,
)
ELSEWHERE = Remedy(
    summary="Start Python in another folder than the one with TensorFlow's source, and import it there.",
    commands=("cd; python3 -c 'import tensorflow; print(tensorflow.__file__)'",),
    applicability=Applicability.SAFE,
)


def _other_ways(self: Rule, facts: Facts) -> Draft | None:
    """Find ways to fail that the last line of a traceback does not tell."""
    if twice := events(facts, "openmp-twice"):
        library = twice[0].parameters.get("library", "libiomp5")
        return self.finding(seen(twice), variant="openmp", remedies=(ONE_OPENMP,), library=library)
    if refused := events(facts, "macos-library-refused"):
        return self.finding(seen(refused), variant="architecture", remedies=(ONE_PROCESSOR,))
    if source := events(facts, "tensorflow-source-folder"):
        return self.finding(
            seen(source), variant="source", confidence=Confidence.LIKELY, remedies=(ELSEWHERE, *_clean(facts))
        )
    died = events(facts, "kernel-died")
    others = [event for event in facts.tensorflow.events.get() or () if event.message not in ("kernel-died", *_NOTES)]
    if died and not others and events(facts, "import-said"):
        return self.finding(
            seen(died), variant="kernel", confidence=Confidence.POSSIBLE, remedies=(OUTSIDE_A_NOTEBOOK,)
        )
    return None


def _said_to_crash(self: Rule, facts: Facts) -> Draft | None:
    """Find an import that somebody, or a shell, says to have ended the interpreter."""
    crashed, violation = events(facts, "import-crash-said"), events(facts, "process-access-violation")
    if violation and events(facts, "import-said"):
        crashed += violation
    if not crashed or imported(facts) or events(facts, *_SAID_ELSEWHERE):
        return None
    return self.finding(
        seen(crashed),
        variant="signal",
        confidence=Confidence.LIKELY,
        remedies=_clean(facts),
        detail=f"is said to end with {'an access violation' if violation else 'a segmentation fault'}",
    )


# Events that explain nothing.
_NOTES = ("import-said", "onednn-notice", "cpu-features-notice", "said-slow", "no-module")
ONE_OPENMP = Remedy(
    summary="Let one source bring all packages: make a new environment and install TensorFlow, PyTorch, NumPy and "
    "Matplotlib all with pip, or all with conda. KMP_DUPLICATE_LIB_OK=TRUE only hides it, and results may be wrong.",
    applicability=Applicability.MANUAL,
)
UPGRADE_CODE = Remedy(
    summary="Convert the program, or put `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()` in place of its "
    "import. What used tf.contrib needs TensorFlow 1, or the packages that took its place (tf_slim, "
    "tensorflow-addons).",
    commands=("tf_upgrade_v2 --intree OLD --outtree NEW",),
    applicability=Applicability.MANUAL,
)


def _written_for_1(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the events that tell of a program for TensorFlow 1, where nothing else that is printed is at fault."""
    parts = ("tensorflow.contrib", "tensorflow.examples")
    old = events(facts, "tensorflow-1-code") + tuple(
        event for event in events(facts, "no-module") if event.parameters.get("module", "").startswith(parts)
    )
    others = [event for event in facts.tensorflow.events.get() or () if event not in old]
    return (
        old
        if all(event.message in ("listed-device", "onednn-notice", "cpu-features-notice") for event in others)
        else ()
    )


def _clean(facts: Facts) -> tuple[Remedy, ...]:
    version = facts.tensorflow.version.get()
    return (
        Remedy(
            summary="Install the same TensorFlow into a new virtual environment and import it there; if that works, "
            "the old environment is at fault.",
            commands=(
                "python3 -m venv tf-clean",
                pip_install("tf-clean/bin/python", f"tensorflow=={version}" if version else "tensorflow"),
                "tf-clean/bin/python -c 'import tensorflow'",
            ),
            applicability=Applicability.SAFE,
        ),
    )
