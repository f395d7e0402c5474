"""gpu-arch-too-new-for-wheel."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.gpu._code import another_runs, capability_of, gpu_code, is_hidden, shown_name
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.tensorflow._install import newer_than_any_wheel, tensorflow_that_fits


@rule(
    Severity.WARNING,
    scope=Scope.GPU,
    breaks=Capability.KERNELS,
    message="TensorFlow {version} has only PTX for {gpu}: the driver compiles it at the first start, which takes "
    "minutes, and again whenever its cache is lost",
    variants={
        "fails": "TensorFlow {version} has only PTX for {gpu}, and on this generation it is reported to fail with "
        "CUDA_ERROR_INVALID_PTX",
        "driver": "TensorFlow {version} has only PTX of CUDA {cuda} for {gpu}, and driver {driver} compiles PTX up to "
        "CUDA {serves} only",
        "none": "TensorFlow {version} has no code for {gpu}: it has {carries}",
    },
)
def gpu_arch_too_new_for_wheel(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The TensorFlow wheel has no native code for this newer GPU.

    Why it matters: the driver has to compile every kernel from PTX: a first start of many minutes where that works,
    and no GPU at all where it does not (reported for Blackwell with the official wheels to 2.21).
    How to fix: install a TensorFlow whose wheel has native code for this GPU, where there is one, or a build of NVIDIA
    for it. Where PTX works, keep its cache: raise CUDA_CACHE_MAXSIZE, and keep the folder of CUDA_CACHE_PATH.
    """
    if not facts.tensorflow.cuda_build.require():
        return
    answer = gpu_code(facts, gpu)
    cc, evidence = capability_of(gpu)
    variant = _variant(facts, answer.code, cc)
    if variant is None:
        return
    hard = variant != "slow"
    spared = is_hidden(gpu) or another_runs(facts, gpu)
    driver, cuda = facts.driver.version.get(), facts.tensorflow.built_with_cuda.get()
    yield self.finding(
        (*evidence, "tensorflow.compute_capabilities", "tensorflow.version")
        + (("driver.version", "driver.cuda_version", "tensorflow.built_with_cuda") if variant == "driver" else ()),
        variant=variant if hard else None,
        severity=Severity.NOTE if spared else Severity.ERROR if hard else Severity.WARNING,
        # Reports of others, and tables, not something seen on this machine.
        confidence=Confidence.LIKELY if variant in ("fails", "driver") else Confidence.CERTAIN,
        remedies=() if spared else tensorflow_that_fits(facts) or newer_than_any_wheel(facts, hard=hard),
        version=facts.tensorflow.version.require(),
        gpu=shown_name(gpu, cc),
        carries=answer.reason.partition(" has ")[2] or answer.reason,
        driver=driver or "",
        cuda=cuda or "",
        serves=facts.driver.cuda_version.get() or "",
    )


def _variant(facts: Facts, code: compat.GpuCode, cc: str) -> str | None:
    """Return what is wrong: slow (PTX works), fails, driver (too old for this PTX), none; None if all is well."""
    if code is compat.GpuCode.PTX_KNOWN_TO_FAIL:
        return "fails"
    if code is compat.GpuCode.PTX:
        serves, cuda = facts.driver.cuda_version.get(), facts.tensorflow.built_with_cuda.get()
        # Minor-version compatibility does not cover PTX: the driver must know the PTX of the wheel's own CUDA.
        if serves and cuda and compat.cuda_release(serves)[:2] < compat.cuda_release(cuda)[:2]:
            return "driver"
        return "slow"
    carried = facts.tensorflow.compute_capabilities.get() or ()
    if code is compat.GpuCode.NONE and carried:
        newest = max(compat.capability(entry) for entry in carried)
        return "none" if compat.capability(cc) > newest else None
    return None
