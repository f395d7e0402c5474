"""native-code-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.gpu._code import capability_of, gpu_code, is_hidden, shown_name
from gpudoctor.rules.policy._asked import GPU_NEEDS
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

NATIVE = (compat.GpuCode.NATIVE, compat.GpuCode.NATIVE_PARTIAL)


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks="require_native_code",
    needs=(*GPU_NEEDS, Capability.TENSORFLOW, Capability.KERNELS),
    message="TensorFlow {version} has no native code for {gpu}, and the policy asks for it: {reason}",
)
def native_code_missing(self: Rule, facts: Facts, gpu: Gpu, _: bool) -> Iterator[Draft]:
    """TensorFlow has no native code for a GPU, which the policy asks for.

    Why it matters: the driver compiles every kernel at the first start, for minutes, and again on each new node; or
    there is no code at all.
    How to fix: install a TensorFlow whose wheel has native code for this GPU.
    """
    if is_hidden(gpu):
        return
    answer = gpu_code(facts, gpu)
    if answer.code in NATIVE:
        return
    cc, evidence = capability_of(gpu)
    yield self.finding(
        (*evidence, "tensorflow.compute_capabilities", "tensorflow.version"),
        remedies=tensorflow_that_fits(facts),
        version=facts.tensorflow.version.require(),
        gpu=shown_name(gpu, cc),
        reason=answer.reason,
    )
