"""What a plan needs to know of a machine, out of its facts. What is unknown stays open."""

from __future__ import annotations

import msgspec

from gpudoctor import compat
from gpudoctor.compat import NotCovered, Os, Trust
from gpudoctor.facts.model import Absent, Facts, Gpu, Known
from gpudoctor.plan.families import planned_gpu
from gpudoctor.plan.model import Installed, Machine, PlannedGpu


def _capability(gpu: Gpu) -> str | None:
    """The compute capability: asked of the driver, else by the tables unless they are not certain."""
    if isinstance(gpu.compute_capability, Known):
        return gpu.compute_capability.value
    try:
        answer = compat.compute_capability_of(gpu.name.get(), gpu.pci_id.get())
    except NotCovered:
        return None
    return None if answer.confidence is Trust.LOW else answer.compute_capability


def visible_gpus(facts: Facts) -> tuple[PlannedGpu, ...]:
    """The GPUs whose compute capability is known, without those that the environment hides."""
    seen = [gpu for gpu in facts.gpus if gpu.visible.get() is not False]
    known = [(gpu.name.get() or "", cc) for gpu in seen if (cc := _capability(gpu)) is not None]
    return tuple(planned_gpu(name, cc) for name, cc in known)


def newest(gpus: tuple[PlannedGpu, ...]) -> PlannedGpu | None:
    """The GPU to plan for, of several."""
    return max(gpus, key=lambda gpu: compat.capability(gpu.compute_capability), default=None)


def machine_of(facts: Facts) -> Machine:
    """The machine to plan for. Of several GPUs the newest is planned for. Raises ValueError for an unknown system."""
    gpu = newest(visible_gpus(facts))
    python, libc = facts.python.version.get(), facts.host.libc.get() or ""
    return Machine(
        os=Os.WSL2 if isinstance(facts.host.wsl, Known) else Os(facts.host.os.get() or "linux"),
        machine=facts.host.machine.get() or "x86_64",
        compute_capabilities=() if gpu is None else (gpu.compute_capability,),
        driver=facts.driver.version.get(),
        pythons=(python,) if python else None,
        glibc=libc.removeprefix("glibc ") if libc.startswith("glibc ") else None,
    )


def with_details(machine: Machine, facts: Facts) -> Machine:
    """The same with what only `plan` tells: no GPU, little memory, an installed TensorFlow that no table knows."""
    memory = [value for gpu in facts.gpus if (value := gpu.memory_total_bytes.get()) is not None]
    return msgspec.structs.replace(
        machine,
        no_gpu=_without_gpu(facts),
        memory_bytes=min(memory, default=None),
        installed=_installed(facts),
    )


def _installed(facts: Facts) -> Installed | None:
    found = facts.tensorflow
    release, cuda = found.version.get(), found.built_with_cuda.get()
    try:
        newer = release is not None and compat.is_newer_than_tables(release)
    except NotCovered:
        return None
    if release is None or not newer or not cuda or not found.cuda_build.get():
        return None
    return Installed(
        tensorflow=release,
        package=found.distribution.get() or "tensorflow",
        cuda=cuda,
        cudnn=found.built_with_cudnn.get() or "",
        capabilities=found.compute_capabilities.get() or (),
        keras=found.keras_generation.get(),
        and_cuda=bool(found.cuda_requirements.get()),
    )


def _without_gpu(facts: Facts) -> bool:
    """Whether the PCI bus was read and holds no NVIDIA GPU, and nothing else shows one."""
    scanned = facts.host.pci_gpus
    return isinstance(scanned, Known) and not scanned.value and not facts.gpus and isinstance(facts.host.tegra, Absent)
