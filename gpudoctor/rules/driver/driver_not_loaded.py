"""driver-not-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, Known
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.driver._state import (
    NVML_DRIVER_NOT_LOADED,
    answers,
    failed_with,
    has_pci_gpu,
    nouveau_in_the_way,
    require_own_driver,
)
from gpudoctor.rules.registry import Draft, Rule, rule

LOAD = Remedy(
    summary="Load the module and read what the kernel says about it; a reboot after a driver or kernel update does the "
    "same.",
    commands=("sudo modprobe nvidia", "sudo dmesg | grep -iE 'nvidia|nvrm|nouveau|secure'"),
    applicability=Applicability.UNSAFE,
)
BUILD = Remedy(
    summary="There is no module for the running kernel: build it with DKMS (its kernel headers are needed), then "
    "reboot.",
    commands=("dkms status", "sudo dkms autoinstall", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the NVIDIA driver is installed, but its kernel module is not loaded",
    variants={
        "no-module": "the NVIDIA driver's libraries are installed, but there is no kernel module for the running "
        "kernel {kernel}"
    },
)
def driver_not_loaded(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA driver is installed, and its kernel module is not loaded.

    Why it matters: without the kernel module no program reaches the GPU; nvidia-smi says that it could not
    communicate with the driver.
    How to fix: load the module, or reboot if the driver or the kernel was just updated. If it does not load, the kernel
    log says why (no module for this kernel, an unsigned module under Secure Boot, another driver on the GPU).
    """
    if answers(facts) or nouveau_in_the_way(facts):
        return
    require_own_driver(facts)
    refused = failed_with(facts.driver.nvml.get(), NVML_DRIVER_NOT_LOADED)
    on_disk, loaded = facts.driver.kernel_module_on_disk, facts.driver.kernel_module_version
    idle = isinstance(on_disk, Known) and isinstance(loaded, Absent) and has_pci_gpu(facts)
    if not (refused or idle) or facts.host.secure_boot.get():
        return
    if isinstance(on_disk, Absent):
        yield self.finding(
            ("driver.nvml", "driver.kernel_module_on_disk"),
            variant="no-module",
            remedies=(BUILD,),
            kernel=facts.host.kernel.get() or "of unknown release",
        )
        return
    yield self.finding(
        ("driver.nvml", "driver.kernel_module_version", "driver.kernel_module_on_disk", "host.pci_gpus"),
        remedies=(LOAD,),
    )
