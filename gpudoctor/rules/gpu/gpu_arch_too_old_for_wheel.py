"""gpu-arch-too-old-for-wheel."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu, Known
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.gpu._code import another_runs, capability_of, gpu_code, is_hidden, shown_name
from gpudoctor.rules.gpu._log import is_newer_than_build, of_gpu
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

ANOTHER_GPU = Remedy(
    summary="No published TensorFlow wheel has code for this GPU and fits this machine: use a newer GPU, or train on "
    "the CPU.",
    commands=("gpudoctor check --expect cpu",),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    breaks=Capability.KERNELS,
    message="TensorFlow {version} has no code for {gpu}: it has {carries}",
    variants={
        "ignored": "TensorFlow leaves out {gpu}: this build serves compute capability {minimum} and newer",
        "no-image": "TensorFlow or one of its libraries has no code that {gpu} can run",
    },
)
def gpu_arch_too_old_for_wheel(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The TensorFlow wheel has no code that this older GPU runs.

    Why it matters: TensorFlow ignores the GPU, or fails at the first kernel with "no kernel image is available". New
    releases drop old GPUs: Kepler ends with TensorFlow 2.14, Maxwell with 2.16.
    How to fix: install the newest TensorFlow whose wheel still has code for this GPU, or use a newer GPU.
    """
    told = tuple(_from_log(self, facts, gpu))
    if told:
        yield from told
        return
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
        remedies=() if spared else tensorflow_that_fits(facts) or (ANOTHER_GPU,),
        version=facts.tensorflow.version.require(),
        gpu=shown_name(gpu, cc),
        carries=answer.reason.partition(" has ")[2] or answer.reason,
    )


def _is_older(facts: Facts, cc: str) -> bool:
    """Whether newer GPUs than this one are served: a GPU above all of them is too new instead."""
    carried = facts.tensorflow.compute_capabilities.get() or ()
    return not carried or compat.capability(cc) < max(compat.capability(entry) for entry in carried)


def _from_log(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Find what TensorFlow and CUDA said of this GPU."""
    if isinstance(facts.tensorflow.computations, Known):
        return  # it was tried here: what came of that outweighs words
    ignored = of_gpu(events(facts, "ignoring-gpu-capability"), facts, gpu)
    # XLA names no GPU: beside a device that was made, it speaks of another one, for the display.
    xla = () if events(facts, "created-device") else events(facts, "xla-capability")
    failed = of_gpu((*events(facts, "no-kernel-image", "invalid-kernel-image"), *xla), facts, gpu)
    if not ignored and (not failed or is_newer_than_build(facts, gpu)):
        return
    name = gpu.name.get() or "the GPU"
    cc = gpu.compute_capability.get()
    yield self.finding(
        (*seen(ignored or failed), "gpu.name", "gpu.compute_capability", "tensorflow.version"),
        variant="ignored" if ignored else "no-image",
        confidence=Confidence.CERTAIN if ignored else Confidence.LIKELY,
        remedies=tensorflow_that_fits(facts),
        gpu=f"{name} (compute capability {cc})" if cc else name,
        minimum=ignored[0].parameters.get("minimum", "") if ignored else "",
    )
