"""What several driver rules ask."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer, Facts, FactUnavailable, Known

NVML_DRIVER_NOT_LOADED = 9
NVML_LIBRARY_MISMATCH = 18
CUDA_SYSTEM_DRIVER_MISMATCH = 803
CUDA_COMPAT_NOT_SUPPORTED = 804


def outcome(answer: ApiAnswer | None) -> Api | None:
    """Return how a library answered; None where that is unknown."""
    return None if answer is None else answer.outcome


def failed_with(answer: ApiAnswer | None, code: int) -> bool:
    """Whether a library was there and returned this code."""
    return answer is not None and answer.outcome is Api.ERROR and answer.code == code


def answers(facts: Facts) -> bool:
    """Whether NVML or CUDA was started well: then the driver is installed, loaded and talks."""
    return Api.OK in (outcome(facts.driver.nvml.get()), outcome(facts.driver.cuda_init.get()))


def require_own_driver(facts: Facts) -> None:
    """Raise FactUnavailable where the kernel driver is another system's: the host's, or that of Windows."""
    if isinstance(facts.host.container, Known):
        raise FactUnavailable("the driver is that of the container's host")
    if isinstance(facts.host.wsl, Known):
        raise FactUnavailable("the driver is that of Windows, outside WSL")


# Kernel driver of a GPU that is set aside for a virtual machine.
PASSED_THROUGH = "vfio-pci"


def has_pci_gpu(facts: Facts) -> bool:
    """Whether the PCI scan shows an NVIDIA GPU that is this system's, not a virtual machine's."""
    return any(device.driver != PASSED_THROUGH for device in facts.host.pci_gpus.get() or ())


def all_passed_through(facts: Facts) -> bool:
    """Whether there are NVIDIA GPUs, each set aside for a virtual machine."""
    return bool(facts.host.pci_gpus.get()) and not has_pci_gpu(facts)


def slurm_job_without_gpu(facts: Facts) -> bool:
    """Whether this is a job of Slurm that was given no GPU."""
    environment = facts.python.environment.get() or {}
    gave = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS")
    return "SLURM_JOB_ID" in environment and not any(environment.get(name) for name in gave)


def nouveau_in_the_way(facts: Facts) -> bool:
    """Whether nouveau is loaded and NVIDIA's module is not."""
    loaded = facts.driver.modules_loaded.get() or ()
    return "nouveau" in loaded and "nvidia" not in loaded
