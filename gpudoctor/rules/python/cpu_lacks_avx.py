"""cpu-lacks-avx."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, FactUnavailable, RunOutcome
from gpudoctor.findings import Applicability, Capability, Confidence, Evidence, Remedy, Severity
from gpudoctor.rules.python._state import events, failed_import, imported, seen
from gpudoctor.rules.registry import Draft, Rule, rule

AVX, AVX2 = "avx", "avx2"
ILLEGAL_INSTRUCTION = "SIGILL"
X86 = ("x86_64", "AMD64", "amd64")
ELSEWHERE = Remedy(
    summary="No published TensorFlow wheel runs on this processor. Run it on a machine whose processor has AVX (made "
    "since "
    "about 2012; many Celeron, Pentium and Atom lack it), or build TensorFlow from source without AVX. In a virtual "
    "machine, let the processor type be that of the host.",
    applicability=Applicability.MANUAL,
)

NATIVE_PYTHON = Remedy(
    summary="Use a Python for Apple chips: in a terminal without Rosetta the first command has to print arm64. If it "
    "prints x86_64, install Python anew (from python.org, or Miniforge for arm64), and TensorFlow into it. On an Intel "
    "Mac without AVX no published wheel runs.",
    commands=(
        "python3 -c 'import platform; print(platform.machine())'",
        "python3 -m venv tf-env",
        "tf-env/bin/python -m pip install tensorflow",
    ),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="the processor ({cpu}) has no AVX, which every published TensorFlow wheel needs: importing it ends with "
    "an illegal instruction",
    variants={
        "named": "the processor ({cpu}) lacks {instructions}, which this TensorFlow was compiled to use",
        "crash": "importing TensorFlow ends with an illegal instruction: the processor ({cpu}) lacks what this build "
        "needs, mostly AVX",
        "rosetta": "importing TensorFlow ends with an illegal instruction: on a Mac with an Apple chip, a Python for "
        "Intel runs under Rosetta, which lacks what this build needs, mostly AVX",
        "avx2": "importing TensorFlow ends with an illegal instruction: the processor ({cpu}) has AVX, but not AVX2, "
        "which "
        "this build seems to need",
    },
)
def cpu_lacks_avx(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The processor lacks instructions that TensorFlow was compiled to use.

    Why it matters: TensorFlow's wheels use AVX since 1.6; on a processor without it the interpreter is ended at import
    ("Illegal instruction"), whatever the GPU.
    How to fix: use another machine, or a TensorFlow built for this processor. A virtual machine may hide AVX of its
    host: change its processor type.
    """
    if imported(facts):
        return
    cpu = facts.host.cpu_model.get() or "of unknown model"
    named = events(facts, "cpu-instructions-missing")
    if named:
        instructions = named[0].parameters.get("instructions", "instructions")
        yield self.finding(
            (*seen(named), "host.cpu_model"), variant="named", remedies=(ELSEWHERE,), cpu=cpu, instructions=instructions
        )
        return
    if crash := _crash(facts):
        yield _illegal_instruction(self, facts, crash)
        return
    if AVX in facts.host.cpu_flags.require() or facts.host.machine.require() not in X86:
        return
    if failed_import(facts) is not None:
        raise FactUnavailable("TensorFlow's import failed in another way")
    absent = isinstance(facts.tensorflow.version, Absent)
    yield self.finding(
        _PROCESSOR,
        severity=Severity.WARNING if absent else Severity.ERROR,
        confidence=Confidence.LIKELY,
        remedies=(ELSEWHERE,),
        cpu=cpu,
    )


_PROCESSOR = ("host.cpu_model", "host.cpu_flags", "tensorflow.run")


def _crash(facts: Facts) -> tuple[str | Evidence, ...]:
    """Return what shows that an illegal instruction ended the import; nothing where none did."""
    run = failed_import(facts)
    killed = run is not None and run.outcome is RunOutcome.SIGNAL and ILLEGAL_INSTRUCTION in run.detail
    if run is not None and not killed:
        return ()
    logged = events(facts, "illegal-instruction", "process-illegal-instruction")
    return (*seen(logged), *_PROCESSOR) if killed or logged else ()


def _illegal_instruction(self: Rule, facts: Facts, evidence: tuple[str | Evidence, ...]) -> Draft:
    """Say of an import that ended with an illegal instruction what the processor lacks."""
    if facts.host.os.get() == "macos":
        return self.finding(evidence, variant="rosetta", confidence=Confidence.LIKELY, remedies=(NATIVE_PYTHON,))
    flags = facts.host.cpu_flags.get()
    return self.finding(
        evidence,
        variant=_variant(flags),
        confidence=Confidence.CERTAIN if flags is not None and AVX not in flags else Confidence.LIKELY,
        remedies=(ELSEWHERE,),
        cpu=facts.host.cpu_model.get() or "of unknown model",
    )


def _variant(flags: tuple[str, ...] | None) -> str | None:
    """Return the wording for a crash by what the processor has."""
    if flags is None:
        return "crash"
    if AVX not in flags:
        return None
    return "crash" if AVX2 in flags else "avx2"
