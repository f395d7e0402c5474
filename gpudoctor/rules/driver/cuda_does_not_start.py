"""cuda-does-not-start."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, ApiAnswer, Facts, Known, LibcudaKind
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.driver._state import (
    CUDA_NO_DEVICE,
    CUDA_NOT_READY,
    CUDA_UNKNOWN,
    all_passed_through,
    closed_nodes,
    outcome,
    uvm_node_missing,
)
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.registry import Draft, Rule, rule

# cuda.h: CUDA_ERROR_MPS_CONNECTION_FAILED to CUDA_ERROR_MPS_CLIENT_TERMINATED.
MPS = range(805, 811)
LOOK = Remedy(
    summary="Read what the kernel says of the driver, and restart the machine if nothing else uses the GPU.",
    commands=("sudo dmesg | grep -iE 'nvrm|nvidia|xid' | tail -n 20", "nvidia-smi", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)
AFRESH = Remedy(
    summary="Load the module that CUDA needs beside the driver's own afresh, with no CUDA program running: after a "
    "suspend it may be of no use. If that does not help, restart the machine.",
    commands=("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)
WITHOUT_MPS = Remedy(
    summary="End the MPS daemon, or leave its folder out for this shell; on a cluster, ask its administrators.",
    commands=("echo quit | nvidia-cuda-mps-control", "unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.DEVICE_INIT,
    needs=(Capability.KERNEL_DRIVER, Capability.USER_DRIVER, Capability.VISIBLE),
    message="CUDA cannot be started: {what}",
    variants={
        "no-device": "the driver lists GPUs, and CUDA sees none of them, though no variable hides them",
        "mps": "CUDA goes through MPS here, and its server does not serve this program: cuInit answers {name}",
    },
)
def cuda_does_not_start(self: Rule, facts: Facts) -> Iterator[Draft]:
    """CUDA cannot be started, and nothing else that is known here explains it.

    Why it matters: TensorFlow starts CUDA in the same way, meets the same error, and runs on the CPU. That nvidia-smi
    shows the GPU proves little: it does not use CUDA.
    How to fix: the error's name says where to look: the module nvidia_uvm, the MPS daemon, the kernel's log.
    """
    answer = facts.driver.cuda_init.require()
    if outcome(answer) is not Api.ERROR or seen_gpu_devices(facts) or _explained(facts, answer):
        return
    # Facts of a text tell what one program printed; only where the machine was looked at is all else ruled out.
    facts.driver.library_files.require()
    variant, remedy = _kind(answer.code)
    if answer.code == CUDA_NO_DEVICE and not facts.driver.nvml_device_count.get():
        return  # no GPU, or none that the driver took: rules of their own
    yield self.finding(
        ("driver.cuda_init", "driver.libcuda_file", "driver.nvml", "driver.nvml_device_count"),
        variant=variant,
        remedies=(remedy,),
        name=answer.name or f"error {answer.code}",
        what=_told(answer),
    )


def _told(answer: ApiAnswer) -> str:
    """Return the error in words, with its name."""
    name = answer.name or f"error {answer.code}"
    if not answer.detail:
        return f"cuInit answers {name}"
    return answer.detail if name in answer.detail else f"{answer.detail} ({name})"


def _kind(code: int | None) -> tuple[str | None, Remedy]:
    if code in MPS:
        return "mps", WITHOUT_MPS
    if code == CUDA_NO_DEVICE:
        return "no-device", LOOK
    return None, AFRESH if code == CUDA_UNKNOWN else LOOK


def _explained(facts: Facts, answer: ApiAnswer) -> bool:
    """Whether another rule says why, or the GPU is not for this program."""
    driver = facts.driver
    split = any(gpu.mig.get() or gpu.compute_mode.get() not in (None, "default") for gpu in facts.gpus)
    foreign = driver.libcuda_kind.get() in (LibcudaKind.COMPAT, LibcudaKind.STUB)
    wsl = isinstance(facts.host.wsl, Known) and driver.libcuda_kind.get() is not LibcudaKind.WSL
    hidden = bool(driver.cuda_device_count_unmasked.get())
    ready = answer.code != CUDA_NOT_READY
    closed = bool(closed_nodes(facts)) or uvm_node_missing(facts)
    return split or foreign or wsl or hidden or not ready or closed or all_passed_through(facts)
