"""driver-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Api, Facts, Known, LogEvent, PciDevice, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.plan import quote
from gpudoctor.rules.driver._install import install_driver
from gpudoctor.rules.driver._packages import only_removed, shown
from gpudoctor.rules.driver._state import answers, has_pci_gpu, nouveau_in_the_way, outcome, require_own_driver
from gpudoctor.rules.observed import seen_gpu_devices as imported_gpu
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# What the variable held before, if anything: an empty entry would be the current folder.
AFTER = "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="an NVIDIA GPU is on the PCI bus ({gpu}), but its driver is not installed",
    variants={
        "text": "libcuda.so.1, the CUDA library of the NVIDIA driver, was not found: the driver is not installed, or "
        "this machine has no NVIDIA GPU",
        "tool": "nvidia-smi, which comes with the NVIDIA driver, was not found: the driver is not installed",
        "nvml": "nvidia-smi does not find libnvidia-ml, the driver's own library: the driver is not wholly installed",
        "removed": "the NVIDIA driver is not installed: of {package} only the configuration is left",
        "not-found": "the NVIDIA driver is installed, and the loader does not find its CUDA library: {file} lies where "
        "it does not look",
        "libraries": "the NVIDIA kernel module {module} is loaded, but libcuda.so.1, the driver's CUDA library, is not "
        "installed",
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
    if _only_text_tells(facts):
        yield from _from_text(self, facts)
    elif outcome(facts.driver.cuda_init.require()) is not Api.NO_LIBRARY:
        return
    elif isinstance(facts.driver.kernel_module_version, Known):
        yield _library_not_found(self, facts, facts.driver.kernel_module_version.value)
    elif has_pci_gpu(facts) and outcome(facts.driver.nvml.require()) is Api.NO_LIBRARY:
        yield from _nothing_installed(self, facts)


def _only_text_tells(facts: Facts) -> bool:
    """Whether nobody looked at the PCI bus, or nobody asked CUDA while a text says that there is no driver."""
    if isinstance(facts.host.pci_gpus, Unknown) and not isinstance(facts.driver.kernel_module_version, Known):
        return True
    told = events(facts, "smi-not-found") or only_removed(facts)
    return isinstance(facts.driver.cuda_init, Unknown) and has_pci_gpu(facts) and bool(told)


def _library_not_found(self: Rule, facts: Facts, module: str) -> Draft:
    """Say of a loaded module whose CUDA library is not found whether it lies elsewhere. module: its version."""
    there = next((file for file in facts.driver.library_files.get() or () if "libcuda.so" in file), None)
    if there is not None:
        return self.finding(
            ("driver.library_files", "driver.cuda_init", "host.distribution"),
            variant="not-found",
            remedies=(_find(there),),
            file=there,
        )
    return self.finding(
        ("driver.kernel_module_version", "driver.cuda_init", "driver.library_files"),
        variant="libraries",
        remedies=install_driver(facts),
        module=module,
    )


def _nothing_installed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a GPU on the bus for which there is neither a module nor a library."""
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


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it where nobody looked at the PCI bus: text tells of libraries and tools only."""
    tool = events(facts, "smi-not-found") or events(facts, "smi-without-library")
    without = outcome(facts.driver.cuda_init.get()) is Api.NO_LIBRARY
    if not without and not imported_gpu(facts) and isinstance(facts.driver.nvml, Unknown):
        gone = tuple(_removed(self, facts, tool))
        yield from gone
        if gone:
            return
    if not without and not tool:
        facts.host.pci_gpus.require()
        return
    if (not without and imported_gpu(facts)) or facts.host.os.get() == "macos" or nouveau_in_the_way(facts):
        return
    if isinstance(facts.host.tegra, Known) or (facts.host.os.get() == "windows" and not without):
        return
    yield self.finding(
        ("driver.cuda_init", *seen(tool)),
        variant="text" if without else "tool" if tool[0].message == "smi-not-found" else "nvml",
        confidence=Confidence.LIKELY,
        remedies=install_driver(facts),
    )


def _removed(self: Rule, facts: Facts, tool: tuple[LogEvent, ...]) -> Iterator[Draft]:
    """Find it by the packages of the system that a text names."""
    gone = only_removed(facts)
    if gone is not None:
        yield self.finding(
            (*shown(facts, gone.name), *seen(tool)),
            variant="removed",
            confidence=Confidence.LIKELY,
            remedies=install_driver(facts),
            package=gone.name,
        )


def _find(file: str) -> Remedy:
    """Return how to let the loader find the driver's library where it lies (NixOS keeps it apart, for one)."""
    return Remedy(
        summary="Let the loader find the driver's folder.",
        commands=(f"export LD_LIBRARY_PATH={quote(file.rpartition('/')[0], compat.Os.LINUX)}{AFTER}",),
        applicability=Applicability.SAFE,
    )


def _shown(device: PciDevice) -> str:
    """Return name and address of a GPU; without a driver only the tables know its name."""
    try:
        name = compat.compute_capability_of(None, device.device_id).name
    except compat.NotCovered:
        name = f"device 10de:{device.device_id}"
    return f"{name}, {device.address}"
