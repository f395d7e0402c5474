"""What several driver rules ask."""

from __future__ import annotations

import re

from gpudoctor.facts.model import Api, ApiAnswer, DeviceNode, Facts, FactUnavailable, Known

NVML_DRIVER_NOT_LOADED = 9
NVML_LIBRARY_MISMATCH = 18
CUDA_STUB = 34
CUDA_NO_DEVICE = 100
CUDA_NOT_READY = 802
CUDA_UNKNOWN = 999
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


# What CUDA opens; nvidia-modeset and nvidia-caps are for displays and MIG.
_NEEDED = r"/dev/nvidia(ctl|-uvm|\d+)\Z"
_OF_A_GPU = r"/dev/nvidia\d+\Z"
UVM = "/dev/nvidia-uvm"
# What cuInit answers without it: CUDA_ERROR_NOT_INITIALIZED, _OPERATING_SYSTEM, _UNKNOWN.
WITHOUT_UVM = (3, 304, CUDA_UNKNOWN)


def closed_nodes(facts: Facts) -> tuple[DeviceNode, ...]:
    """Return the device files that CUDA needs and this process may not open.

    Of several GPUs some may be closed on purpose: none of those counts while another one is open.
    """
    nodes = facts.driver.device_nodes.get() or ()
    closed = tuple(node for node in nodes if re.match(_NEEDED, node.path) and not node.accessible)
    gpus = [node for node in nodes if re.match(_OF_A_GPU, node.path)]
    of_gpus = [node for node in closed if node in gpus]
    return () if len(of_gpus) < len(gpus) and len(of_gpus) == len(closed) else closed


def by_mode_open(node: DeviceNode) -> bool:
    """Whether a file's mode lets everybody in: if it is closed all the same, a control group closes it."""
    return node.mode[-1:] in ("6", "7")


def uvm_node_missing(facts: Facts) -> bool:
    """Whether there are device files of GPUs without the one that CUDA needs beside them, and CUDA does not start.

    Under WSL there are none of them.
    """
    paths = {node.path for node in facts.driver.device_nodes.get() or ()}
    failed = any(failed_with(facts.driver.cuda_init.get(), code) for code in WITHOUT_UVM)
    there = any(re.match(_OF_A_GPU, path) for path in paths)
    return failed and there and UVM not in paths and not closed_nodes(facts)


def vgpu_by_name(facts: Facts) -> int | None:
    """Return the first GPU whose name is that of a vGPU profile: GRID T4-4Q, NVIDIA A100-40C."""
    for index, gpu in enumerate(facts.gpus):
        if re.search(r"-\d{1,3}[QCAB]\d?\Z", gpu.name.get() or ""):
            return index
    return None
