"""gpu-arch-too-old-for-wheel."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.gpu._code import another_runs, capability_of, gpu_code, is_hidden, shown_name
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    breaks=Capability.KERNELS,
    message="TensorFlow {version} has no code for {gpu}: it has {carries}",
)
def gpu_arch_too_old_for_wheel(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The TensorFlow wheel has no code that this older GPU runs.

    Why it matters: TensorFlow ignores the GPU, or fails at the first kernel with "no kernel image is available". New
    releases drop old GPUs: Kepler ends with TensorFlow 2.14, Maxwell with 2.16.
    How to fix: install the newest TensorFlow whose wheel still has code for this GPU, or use a newer GPU.
    """
    if not facts.tensorflow.cuda_build.require():
        return
    answer = gpu_code(facts, gpu)
    cc, evidence = capability_of(gpu)
    if answer.code is not compat.GpuCode.NONE or not _is_older(facts, cc):
        return
    spared = is_hidden(gpu) or another_runs(facts, gpu)
    yield self.finding(
        (*evidence, "tensorflow.compute_capabilities", "tensorflow.version"),
        severity=Severity.NOTE if spared else None,
        remedies=() if spared else tensorflow_that_fits(facts),
        version=facts.tensorflow.version.require(),
        gpu=shown_name(gpu, cc),
        carries=answer.reason.partition(" has ")[2] or answer.reason,
    )


def _is_older(facts: Facts, cc: str) -> bool:
    """Whether newer GPUs than this one are served: a GPU above all of them is too new instead."""
    carried = facts.tensorflow.compute_capabilities.get() or ()
    return not carried or compat.capability(cc) < max(compat.capability(entry) for entry in carried)
