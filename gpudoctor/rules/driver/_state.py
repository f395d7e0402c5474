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


def has_pci_gpu(facts: Facts) -> bool:
    """Whether the PCI scan shows an NVIDIA GPU."""
    return bool(facts.host.pci_gpus.get())


def nouveau_in_the_way(facts: Facts) -> bool:
    """Whether nouveau is loaded and NVIDIA's module is not."""
    loaded = facts.driver.modules_loaded.get() or ()
    return "nouveau" in loaded and "nvidia" not in loaded
