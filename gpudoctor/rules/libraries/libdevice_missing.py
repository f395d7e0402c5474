"""libdevice-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts, Known, LogEvent
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.libraries._remedies import toolchain
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# Keras compiles its optimizers with XLA from here on; before, XLA runs only where it is asked for.
XLA_SINCE = "2.11"


@rule(
    Severity.ERROR,
    needs=(Capability.CUDA_LIBS, Capability.CUDNN),
    message="XLA did not find libdevice, which it needs to compile for the GPU",
    variants={
        "likely": "XLA could not compile for the GPU and does not say why: as a rule it finds no libdevice",
        "files": "XLA will not find libdevice when it compiles for the GPU: there is {searched}",
    },
)
def libdevice_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """XLA finds no libdevice.10.bc.

    Why it matters: XLA, which Keras uses for optimizers and for jit_compile, links each program with this file of the
    CUDA toolkit. Without it training ends in "libdevice not found", though the GPU is listed.
    How to fix: install the compiler's package beside TensorFlow (the extra and-cuda brings it from 2.14 on), or name
    the folder of a CUDA toolkit in XLA_FLAGS=--xla_gpu_cuda_data_dir.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    told = events(facts, "libdevice-not-found")
    if not told and (failed := _not_compiled(facts)):
        yield self.finding(seen(failed), variant="likely", confidence=Confidence.LIKELY, remedies=toolchain(facts))
        return
    libdevice = facts.libraries.libdevice
    if not told:
        if not isinstance(libdevice, Absent):
            libdevice.require()
            return
        if not facts.gpus or compat.version(facts.tensorflow.version.require()) < compat.version(XLA_SINCE):
            return
    yield self.finding(
        (*seen(told), "libraries.libdevice", "tensorflow.version"),
        variant=None if told else "files",
        severity=Severity.ERROR if told else Severity.WARNING,
        remedies=toolchain(facts),
        searched=libdevice.source if isinstance(libdevice, Absent) else "",
    )


# What tells better why XLA did not compile.
REASONS = ("ptxas-too-old", "ptxas-failed", "ptxas-not-found", "invalid-ptx", "out-of-memory", "no-kernel-image")


def _not_compiled(facts: Facts) -> tuple[LogEvent, ...]:
    """Return where a text tells that XLA did not compile, and nothing tells why."""
    in_text = not isinstance(facts.libraries.libdevice, Known)
    return events(facts, "xla-did-not-compile") if in_text and not events(facts, *REASONS) else ()
