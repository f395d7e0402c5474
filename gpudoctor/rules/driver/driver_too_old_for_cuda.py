"""driver-too-old-for-cuda."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known, LibcudaKind
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._install import install_driver, os_of
from gpudoctor.rules.driver._packages import newest, shown
from gpudoctor.rules.driver._state import (
    CUDA_COMPAT_NOT_SUPPORTED,
    CUDA_SYSTEM_DRIVER_MISMATCH,
    NVML_LIBRARY_MISMATCH,
    failed_with,
)
from gpudoctor.rules.gpu._code import driver_for_ptx, is_hidden
from gpudoctor.rules.libraries._stack import cuda_of, is_inferred
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

WITHOUT_COMPAT = Remedy(
    summary="Take the folder compat of the CUDA toolkit out of LD_LIBRARY_PATH and of the loader's configuration: the "
    "driver's own libcuda serves CUDA up to its version. Compat libraries are for data-centre GPUs.",
    commands=("echo $LD_LIBRARY_PATH", "ldconfig -p | grep libcuda.so"),
    applicability=Applicability.MANUAL,
)
OLDER_IMAGE = Remedy(
    summary="Use an image with a CUDA that the host's driver serves: nvidia-smi on the host tells it at its top right.",
    commands=("nvidia-smi", "docker run --rm --gpus all nvidia/cuda:OLDER-TAG nvidia-smi"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="driver {have} is older than {need}, the minimum for CUDA {cuda}, which TensorFlow {version} is built with",
    variants={
        "log": "the NVIDIA driver is older than the CUDA runtime in use needs",
        "log-known": "driver {have} is older than the CUDA runtime in use needs",
        "image": "the container image needs {what} {need} or newer of the host's driver",
        "image-known": "the container image was built for driver {need} or newer, and the host's is {have}",
        "ptx": "the NVIDIA driver is older than the CUDA release that made this code, and cannot compile its PTX",
        "newer-compat": "the container brings libcuda {library}, and the host's driver {module} is too old for it",
        "compat": "a compat libcuda stands in for the driver's, and this GPU or driver does not allow it",
        "package": "the installed packages bring driver {have}, which is older than {need}, the minimum for CUDA "
        "{cuda}, which TensorFlow {version} is built with",
        "cuda-only": "the driver serves CUDA up to {have}, and TensorFlow {version} is built with CUDA {cuda}, which "
        "needs driver {need} or newer",
    },
)
def driver_too_old_for_cuda(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA driver is older than TensorFlow's CUDA release needs.

    Why it matters: CUDA start-up fails ("CUDA driver version is insufficient") and TensorFlow runs on the CPU. Within
    one major release of CUDA an older driver is enough (minor-version compatibility), and that is counted here.
    How to fix: update the driver, or install a TensorFlow that is built with an older CUDA.
    """
    told = tuple(_from_log(self, facts)) or tuple(_refused_compat(self, facts))
    if told:
        yield from told
        return
    if not facts.tensorflow.cuda_build.require():
        return
    cuda = cuda_of(facts)
    need = compat.min_driver_for_cuda(cuda, os_of(facts))
    if need.confidence is compat.Trust.LOW:
        raise compat.NotCovered(f"the minimum driver of CUDA {cuda} is not certain")
    if _forward_compatible(facts, cuda):
        return
    driver, serves = facts.driver.version, facts.driver.cuda_version
    by_number = isinstance(driver, Known)
    if not by_number and not isinstance(serves, Known) and newest(facts) is not None:
        yield from _by_package(self, facts, need.minimum, need.cuda)
        return
    if by_number:
        if compat.version(driver.require()) >= compat.version(need.minimum):
            return
    elif compat.cuda_release(serves.require())[0] >= compat.cuda_release(cuda)[0]:
        return
    yield self.finding(
        ("driver.version" if by_number else "driver.cuda_version",
         "tensorflow.cuda_requirements" if is_inferred(facts) else "tensorflow.built_with_cuda", "tensorflow.version"),
        variant=None if by_number else "cuda-only",
        confidence=Confidence.LIKELY if is_inferred(facts) else Confidence.CERTAIN,
        remedies=install_driver(facts, at_least=_for_all(facts, need.minimum)) + tensorflow_that_fits(facts),
        have=driver.require() if by_number else serves.require(),
        need=need.minimum,
        cuda=need.cuda,
        version=facts.tensorflow.version.get() or "",
    )  # fmt: skip


def _for_all(facts: Facts, minimum: str) -> str:
    """Return the driver that is enough for CUDA and, where a GPU needs that, for the PTX of the wheel."""
    enough = [minimum, *filter(None, (driver_for_ptx(facts, gpu) for gpu in facts.gpus if not is_hidden(gpu)))]
    return max(enough, key=compat.version)


def _by_package(self: Rule, facts: Facts, need: str, cuda: str) -> Iterator[Draft]:
    """Find it by the packages of the system that a text names, where nothing else tells the driver's version."""
    have = newest(facts)
    if have is None or isinstance(facts.host.wsl, Known) or compat.version(have) >= compat.version(need):
        return
    yield self.finding(
        (*shown(facts), "tensorflow.built_with_cuda", "tensorflow.version"),
        variant="package",
        confidence=Confidence.LIKELY,
        remedies=install_driver(facts, at_least=need) + tensorflow_that_fits(facts),
        have=have,
        need=need,
        cuda=cuda,
        version=facts.tensorflow.version.get() or "",
    )


def _forward_compatible(facts: Facts, cuda: str) -> bool:
    """Whether a compat libcuda stands in for the driver's own, and serves this CUDA release."""
    serves = facts.driver.cuda_version.get()
    if facts.driver.libcuda_kind.get() is not LibcudaKind.COMPAT or serves is None:
        return False
    return compat.cuda_release(serves)[0] >= compat.cuda_release(cuda)[0]


def _refused_compat(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a compat libcuda that is loaded and that this GPU or driver refuses, though the driver itself is well."""
    answer = facts.driver.cuda_init.get()
    refused = failed_with(answer, CUDA_COMPAT_NOT_SUPPORTED) or failed_with(answer, CUDA_SYSTEM_DRIVER_MISMATCH)
    if not refused or facts.driver.libcuda_kind.get() is not LibcudaKind.COMPAT:
        yield from _said_compat(self, facts)
        return
    yield self.finding(
        ("driver.cuda_init", "driver.libcuda_file", "driver.libcuda_kind", "driver.version"),
        variant="compat",
        remedies=(WITHOUT_COMPAT, *install_driver(facts)),
    )


def _said_compat(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in a text, which does not tell the kind of libcuda: the error's name does, but after an update without a
    reboot the driver answers the same of its own libcuda."""
    driver = facts.driver
    apart = driver.nvml_version.get() not in (None, driver.kernel_module_version.get())
    mixed = failed_with(driver.nvml.get(), NVML_LIBRARY_MISMATCH) or events(facts, "kernel-library-mismatch") or apart
    if not failed_with(driver.cuda_init.get(), CUDA_COMPAT_NOT_SUPPORTED) or mixed or seen_gpu_devices(facts):
        return
    if isinstance(driver.libcuda_kind, Known) or isinstance(facts.host.wsl, Known):
        return
    yield self.finding(
        ("driver.cuda_init", "driver.version", "driver.cuda_version"),
        variant="compat",
        confidence=Confidence.LIKELY,
        remedies=(WITHOUT_COMPAT, *install_driver(facts)),
    )


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what the CUDA runtime, the container tool and NVIDIA's images say of the driver."""
    told = events(facts, "container-driver-too-old", "container-release-too-new", "driver-insufficient",
                  "unsupported-ptx", "forward-compatibility")  # fmt: skip
    if not told and not events(facts, "cudnn-handle", "cudnn-status"):
        told = events(facts, "cudnn-old-driver")  # after a failed handle it is a guess of TensorFlow's
    if not told and (pair := _newer_compat(facts)):
        yield self.finding(
            ("host.container", "driver.kernel_module_version", "driver.libcuda_version", "driver.cuda_init"),
            variant="newer-compat",
            confidence=Confidence.LIKELY,
            remedies=(OLDER_IMAGE, *install_driver(facts)),
            module=pair[0],
            library=pair[1],
        )
        return
    if not told or (any(event.message == "driver-insufficient" for event in told) and seen_gpu_devices(facts)):
        return
    event = told[0]
    have = event.parameters.get("driver") or facts.driver.version.get() or ""
    variant = {
        "container-driver-too-old": "image",
        "container-release-too-new": "image-known" if have else "image",
        "unsupported-ptx": "ptx",
        "forward-compatibility": "compat",
    }.get(event.message, "log-known" if have else "log")
    yield self.finding(
        (*seen(told), "driver.version", "driver.cuda_version"),
        variant=variant,
        confidence=Confidence.LIKELY if event.message == "unsupported-ptx" else Confidence.CERTAIN,
        remedies=tensorflow_that_fits(facts) + install_driver(facts),
        have=have,
        need=event.parameters.get("needed") or event.parameters.get("image", ""),
        what="CUDA" if event.parameters.get("what") == "cuda" or "serves" in event.parameters else "driver",
    )


def _newer_compat(facts: Facts) -> tuple[str, str] | None:
    """Return module and library where a container's libcuda is of a newer branch than the host's module, and fails."""
    module, library = facts.driver.kernel_module_version.get(), facts.driver.libcuda_version.get()
    told = events(facts, "kernel-library-mismatch")
    if not told or not isinstance(facts.host.container, Known) or module is None or library is None:
        return None
    newer = compat.version(library).release[0] > compat.version(module).release[0]
    return (module, library) if newer and not seen_gpu_devices(facts) else None
