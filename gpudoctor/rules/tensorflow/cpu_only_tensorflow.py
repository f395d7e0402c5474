"""cpu-only-tensorflow."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits


@rule(
    Severity.ERROR,
    breaks=Capability.DEVICE_INIT,
    # On Windows itself there is no other build to install: native-windows-no-gpu explains this one.
    needs=(Capability.CUDA_LIBS,),
    message="the installed TensorFlow {version} ({distribution}) is built without CUDA: it cannot use an NVIDIA GPU",
)
def cpu_only_tensorflow(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The installed TensorFlow is a build for the CPU only.

    Why it matters: no driver or CUDA library makes such a build use the GPU. tensorflow-cpu, tensorflow-intel, the CPU
    variant of conda-forge, every wheel for aarch64, and most builds from source are of this kind.
    How to fix: uninstall it, and install a build with CUDA.
    """
    if facts.tensorflow.cuda_build.require():
        return
    yield self.finding(
        ("tensorflow.cuda_build", "tensorflow.distribution", "tensorflow.version"),
        remedies=tensorflow_that_fits(facts),
        version=facts.tensorflow.version.get() or "of unknown version",
        distribution=facts.tensorflow.distribution.get() or "unknown package",
    )
