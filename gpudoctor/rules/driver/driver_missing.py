"""driver-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Api, Facts, Known, PciDevice
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.driver._install import install_driver
from gpudoctor.rules.driver._state import answers, has_pci_gpu, outcome, require_own_driver
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="an NVIDIA GPU is on the PCI bus ({gpu}), but its driver is not installed",
    variants={
        "libraries": "the NVIDIA kernel module {module} is loaded, but libcuda.so.1, the driver's CUDA library, is not "
        "installed"
    },
)
def driver_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """An NVIDIA GPU is there, and its driver is not installed.

    Why it matters: CUDA reaches the GPU only through NVIDIA's driver; the open nouveau driver serves no CUDA.
    How to fix: install the driver from your distribution's packages and reboot. A CUDA toolkit is not a driver, and
    TensorFlow's wheels do not bring one.
    """
    if answers(facts):
        return
    require_own_driver(facts)
    if outcome(facts.driver.cuda_init.require()) is not Api.NO_LIBRARY:
        return
    module = facts.driver.kernel_module_version
    if isinstance(module, Known):
        yield self.finding(
            ("driver.kernel_module_version", "driver.cuda_init", "driver.library_files"),
            variant="libraries",
            remedies=install_driver(facts),
            module=module.value,
        )
        return
    if not has_pci_gpu(facts) or outcome(facts.driver.nvml.require()) is not Api.NO_LIBRARY:
        return
    if not isinstance(facts.driver.kernel_module_on_disk, Known):
        absent = isinstance(facts.driver.kernel_module_on_disk, Absent)
        device = facts.host.pci_gpus.require()[0]
        yield self.finding(
            ("host.pci_gpus", "driver.kernel_module_on_disk", "driver.nvml", "driver.cuda_init"),
            # Where the modules on disk could not be looked at, the missing libraries alone say it.
            confidence=Confidence.CERTAIN if absent else Confidence.LIKELY,
            remedies=install_driver(facts),
            gpu=_shown(device),
        )


def _shown(device: PciDevice) -> str:
    """Return name and address of a GPU; without a driver only the tables know its name."""
    try:
        name = compat.compute_capability_of(None, device.device_id).name
    except compat.NotCovered:
        name = f"device 10de:{device.device_id}"
    return f"{name}, {device.address}"
