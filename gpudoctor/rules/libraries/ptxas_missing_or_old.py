"""ptxas-missing-or-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.libraries._remedies import capabilities, toolchain
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# Until here XLA takes the first ptxas that it finds, however old it is.
OLD_TAKEN_BEFORE = "2.17"
XLA_SINCE = "2.11"


@rule(
    Severity.WARNING,
    needs=(Capability.CUDA_LIBS, Capability.CUDNN, Capability.KERNELS),
    message="XLA could not compile for the GPU with ptxas: the one that it finds is too old",
    variants={
        "failed": "XLA could not compile for the GPU: ptxas ended with an error",
        "absent": "XLA finds no ptxas: the driver compiles in its place, or compilation fails",
        "old": "ptxas {have} in {folder}, which XLA takes, compiles up to compute capability {highest}; the GPU "
        "has {cc}",
    },
)
def ptxas_missing_or_old(self: Rule, facts: Facts) -> Iterator[Draft]:
    """XLA finds no ptxas, or one that is too old for this GPU.

    Why it matters: ptxas turns what XLA and TensorFlow generate into code for the GPU. Without it the driver does so,
    more slowly, or compilation ends with an error; an old one knows no newer GPU ("Value 'sm_86' is not defined").
    How to fix: install the compiler's package of TensorFlow's CUDA version, and take an older toolkit out of PATH.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    told = events(facts, "ptxas-too-old", "ptxas-failed", "ptxas-not-found")
    if events(facts, "ptxas-on-windows") and all(event.message == "ptxas-not-found" for event in told):
        return  # TensorFlow before 2.4 calls none there, wherever it is
    if told:
        kinds = {event.message for event in told}
        variant = None if "ptxas-too-old" in kinds else "failed" if "ptxas-failed" in kinds else "absent"
        yield self.finding((*seen(told), "libraries.ptxas"), variant=variant, remedies=toolchain(facts))
        return
    version = compat.version(facts.tensorflow.version.require())
    if isinstance(facts.libraries.ptxas, Absent):
        compiles = any(item.name == "nvJitLink" and item.wins for item in facts.libraries.found.get() or ())
        if facts.gpus and version >= compat.version(XLA_SINCE) and not compiles:
            yield self.finding(("libraries.ptxas",), variant="absent", remedies=toolchain(facts))
        return
    path, have = facts.libraries.ptxas.require(), facts.libraries.ptxas_version.require()
    if version >= compat.version(OLD_TAKEN_BEFORE):
        return
    highest, _ = compat.highest_capability(have)
    newest = max(capabilities(facts), key=compat.capability, default=None)
    if newest is not None and compat.capability(newest) > compat.capability(highest):
        yield self.finding(
            ("libraries.ptxas", "libraries.ptxas_version", "tensorflow.version"),
            variant="old",
            # Before 2.11 Keras compiles nothing with XLA: the driver does what little there is, with a noisy log.
            severity=None if version >= compat.version(XLA_SINCE) else Severity.NOTE,
            remedies=toolchain(facts),
            have=have,
            folder=path.rpartition("/")[0],
            highest=highest,
            cc=newest,
        )
