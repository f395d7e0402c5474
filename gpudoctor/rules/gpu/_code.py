"""How the installed TensorFlow serves each GPU, from the wheel's own list and the tables."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, FactUnavailable, Gpu, Known
from gpudoctor.rules.driver._install import os_of

RUNS = (compat.GpuCode.NATIVE, compat.GpuCode.NATIVE_PARTIAL, compat.GpuCode.PTX)


def capability_of(gpu: Gpu) -> tuple[str, tuple[str, ...]]:
    """Return the compute capability and the facts that tell it: asked of the driver, else by the tables.

    Raises FactUnavailable.
    """
    asked = gpu.compute_capability
    if isinstance(asked, Known):
        return asked.value, ("gpu.compute_capability", "gpu.name")
    answer = compat.compute_capability_of(gpu.name.get(), gpu.pci_id.get())
    if answer.confidence is compat.Trust.LOW:
        raise compat.NotCovered(f"the compute capability of {answer.name} is not certain")
    return answer.compute_capability, ("gpu.name", "gpu.pci_id")


def platform_of(facts: Facts) -> str:
    """Return the platform of the wheel, as the tables name it: linux-x86_64."""
    machine = facts.host.machine.get() or "x86_64"
    return "win-amd64" if facts.host.os.get() == "windows" else f"linux-{machine}"


def gpu_code(facts: Facts, gpu: Gpu) -> compat.CodeAnswer:
    """Return how the installed TensorFlow serves a GPU. Raises FactUnavailable."""
    cc, _ = capability_of(gpu)
    version = facts.tensorflow.version.require()
    capabilities = facts.tensorflow.compute_capabilities.get()
    if capabilities:
        answer = compat.gpu_code(capabilities, version, cc, platform_of(facts))
    else:
        answer = compat.gpu_code_of_release(version, platform_of(facts), cc)
    if answer.confidence is compat.Trust.LOW:
        raise compat.NotCovered(f"what TensorFlow {version} carries for compute capability {cc} is not certain")
    return answer


def driver_for_ptx(facts: Facts, gpu: Gpu) -> str | None:
    """Return the lowest driver that compiles what the wheel holds as PTX for a GPU; None where there is none."""
    try:
        answer = gpu_code(facts, gpu)
        counted = answer.code is compat.GpuCode.NATIVE_PARTIAL and answer.confidence is compat.Trust.HIGH
        if not counted and answer.code is not compat.GpuCode.PTX:
            return None
        return ptx_driver(facts, answer)
    except FactUnavailable:
        return None


def ptx_driver(facts: Facts, answer: compat.CodeAnswer) -> str:
    """Return the toolkit's own driver for the PTX of a wheel: enough for all of it. Raises FactUnavailable."""
    need = compat.min_driver_for_cuda(answer.ptx_cuda or facts.tensorflow.built_with_cuda.require(), os_of(facts))
    return need.toolkit_driver or need.minimum


def is_hidden(gpu: Gpu) -> bool:
    """Whether the environment keeps this GPU from CUDA programs: then TensorFlow does not meet it."""
    return gpu.visible.get() is False


def another_runs(facts: Facts, gpu: Gpu) -> bool:
    """Whether TensorFlow has code for another visible GPU: it uses that one and leaves this one out."""
    for other in facts.gpus:
        if other is gpu or is_hidden(other):
            continue
        try:
            # One of the same kind shares the fault, and spares nothing.
            alike = capability_of(other)[0] == capability_of(gpu)[0]
            if not alike and gpu_code(facts, other).code in RUNS:
                return True
        except FactUnavailable:
            continue
    return False


def shown_name(gpu: Gpu, cc: str) -> str:
    """Return the GPU's name with its compute capability."""
    return f"{gpu.name.get() or 'the GPU'} (compute capability {cc})"
