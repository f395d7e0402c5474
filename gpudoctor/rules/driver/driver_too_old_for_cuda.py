"""driver-too-old-for-cuda."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known, LibcudaKind
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.driver._install import install_driver, os_of
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="driver {have} is older than {need}, the minimum for CUDA {cuda}, which TensorFlow {version} is built with",
    variants={
        "cuda-only": "the driver serves CUDA up to {have}, and TensorFlow {version} is built with CUDA {cuda}, which "
        "needs driver {need} or newer"
    },
)
def driver_too_old_for_cuda(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA driver is older than TensorFlow's CUDA release needs.

    Why it matters: CUDA start-up fails ("CUDA driver version is insufficient") and TensorFlow runs on the CPU. Within
    one major release of CUDA an older driver is enough (minor-version compatibility), and that is counted here.
    How to fix: update the driver, or install a TensorFlow that is built with an older CUDA.
    """
    if not facts.tensorflow.cuda_build.require():
        return
    cuda = facts.tensorflow.built_with_cuda.require()
    need = compat.min_driver_for_cuda(cuda, os_of(facts))
    if need.confidence is compat.Trust.LOW:
        raise compat.NotCovered(f"the minimum driver of CUDA {cuda} is not certain")
    if _forward_compatible(facts, cuda):
        return
    driver, serves = facts.driver.version, facts.driver.cuda_version
    by_number = isinstance(driver, Known)
    if by_number:
        if compat.version(driver.require()) >= compat.version(need.minimum):
            return
    elif compat.cuda_release(serves.require())[0] >= compat.cuda_release(cuda)[0]:
        return
    yield self.finding(
        ("driver.version" if by_number else "driver.cuda_version", "tensorflow.built_with_cuda", "tensorflow.version"),
        variant=None if by_number else "cuda-only",
        remedies=tensorflow_that_fits(facts) + install_driver(facts, at_least=need.minimum),
        have=driver.require() if by_number else serves.require(),
        need=need.minimum,
        cuda=need.cuda,
        version=facts.tensorflow.version.get() or "",
    )


def _forward_compatible(facts: Facts, cuda: str) -> bool:
    """Whether a compat libcuda stands in for the driver's own, and serves this CUDA release."""
    serves = facts.driver.cuda_version.get()
    if facts.driver.libcuda_kind.get() is not LibcudaKind.COMPAT or serves is None:
        return False
    return compat.cuda_release(serves)[0] >= compat.cuda_release(cuda)[0]
