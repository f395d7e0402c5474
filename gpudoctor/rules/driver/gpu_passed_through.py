"""gpu-passed-through."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.driver._state import PASSED_THROUGH, all_passed_through, answers
from gpudoctor.rules.registry import Draft, Rule, rule

USE_THE_GUEST = Remedy(
    summary="Train in the virtual machine that has the GPU; or give the GPU back to this system: take its id out of "
    "the options of vfio-pci and out of the machine's definition, and reboot.",
    commands=("lspci -nnk -d 10de:", "grep -rn vfio /etc/modprobe.d /proc/cmdline"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the NVIDIA GPU at {place} is set aside for a virtual machine (vfio-pci): no program of this system can "
    "use it",
)
def gpu_passed_through(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Each NVIDIA GPU of this machine is set aside for a virtual machine.

    Why it matters: bound to vfio-pci, a GPU belongs to the guest; the host's driver does not get it, whether it is
    installed or not.
    How to fix: train in the guest, or give the GPU back to this system.
    """
    devices = facts.host.pci_gpus.require()
    if answers(facts) and facts.driver.cuda_device_count_unmasked.get():
        return
    if all_passed_through(facts):
        place = ", ".join(device.address for device in devices if device.driver == PASSED_THROUGH)
        yield self.finding(("host.pci_gpus", "driver.nvml"), remedies=(USE_THE_GUEST,), place=place)
