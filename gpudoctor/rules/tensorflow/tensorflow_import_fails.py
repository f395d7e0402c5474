"""tensorflow-import-fails."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, RunOutcome
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import pip_install

_IMPORTING = "importing"
_FAILED = {
    RunOutcome.EXCEPTION: "exception",
    RunOutcome.SIGNAL: "signal",
    RunOutcome.NO_ANSWER: "hang",
    RunOutcome.EXIT: "exit",
}


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
    },
)
def tensorflow_import_fails(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow is installed, and importing it fails, crashes or hangs.

    Why it matters: no script that uses TensorFlow runs in this environment, on whatever device.
    How to fix: the last lines of its log name what is missing or broken. A clean virtual environment with only
    TensorFlow in it tells whether the machine or the environment is at fault.
    """
    run = facts.tensorflow.run.require()
    facts.tensorflow.version.require()
    if run.outcome not in _FAILED or not run.stage.startswith(_IMPORTING):
        return
    version = facts.tensorflow.version.require()
    clean = Remedy(
        summary="Install the same TensorFlow into a new virtual environment and import it there; if that works, the "
        "old environment is at fault.",
        commands=(
            "python3 -m venv tf-clean",
            pip_install("tf-clean/bin/python", f"tensorflow=={version}"),
            "tf-clean/bin/python -c 'import tensorflow'",
        ),
        applicability=Applicability.SAFE,
    )
    yield self.finding(
        ("tensorflow.run", "tensorflow.version", "python.executable"),
        variant=_FAILED[run.outcome],
        remedies=(clean,),
        detail=run.detail or "no reason was given",
    )
