"""nouveau-or-secureboot."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, Known, LogEvent, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import (
    NVML_DRIVER_NOT_LOADED,
    answers,
    failed_with,
    has_pci_gpu,
    nouveau_in_the_way,
    require_own_driver,
)
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

BLACKLIST_NOUVEAU = Remedy(
    summary="Keep nouveau from taking the GPU, rebuild the initial RAM disk, and reboot.",
    commands=(
        "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf",
        "sudo update-initramfs -u || sudo dracut --force",
        "sudo reboot",
    ),
    applicability=Applicability.UNSAFE,
)
ENROL_KEY = Remedy(
    summary="Enrol the key that signs the module (asked for at the next boot), or switch Secure Boot off in the "
    "firmware's settings.",
    commands=("sudo mokutil --import /var/lib/dkms/mok.pub", "sudo reboot"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the NVIDIA driver is installed, but nouveau owns the GPU, so NVIDIA's module cannot load",
    variants={
        "unsigned": "Secure Boot refuses the NVIDIA kernel module, which is not signed with an enrolled key",
        "nouveau": "nouveau owns the GPU, so NVIDIA's kernel module cannot load; nouveau serves no CUDA",
        "taken": "another kernel driver, mostly nouveau, owns the GPU, so NVIDIA's module cannot load",
        "secure-boot": "the NVIDIA kernel module is installed, but not loaded, and Secure Boot is on: it refuses a "
        "module that is not signed with an enrolled key",
    },
)
def nouveau_or_secureboot(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA module cannot load: nouveau owns the GPU, or Secure Boot refuses an unsigned module.

    Why it matters: without NVIDIA's module no CUDA program reaches the GPU.
    How to fix: blacklist nouveau and rebuild the initial RAM disk, or enrol the key that signs the module. Reboot.
    """
    if answers(facts):
        return
    require_own_driver(facts)
    told = events(facts, "module-not-signed", "probe-not-called", "nouveau-in-use")
    if told:
        yield from _from_text(self, facts, told)
        return
    silent = failed_with(facts.driver.nvml.get(), NVML_DRIVER_NOT_LOADED)
    if facts.host.secure_boot.get() and silent and isinstance(facts.host.pci_gpus, Unknown):
        yield self.finding(
            ("host.secure_boot", "driver.nvml"),
            variant="secure-boot",
            confidence=Confidence.LIKELY,
            remedies=(ENROL_KEY,),
        )
        return
    if not has_pci_gpu(facts):
        return
    if not isinstance(facts.driver.kernel_module_on_disk, Known):
        return
    if nouveau_in_the_way(facts):
        yield self.finding(
            ("driver.modules_loaded", "driver.kernel_module_on_disk", "host.pci_gpus"), remedies=(BLACKLIST_NOUVEAU,)
        )
    elif facts.host.secure_boot.get() and isinstance(facts.driver.kernel_module_version, Absent):
        yield self.finding(
            ("host.secure_boot", "driver.kernel_module_version", "driver.kernel_module_on_disk"),
            variant="secure-boot",
            confidence=Confidence.LIKELY,
            remedies=(ENROL_KEY,),
        )


def _from_text(self: Rule, facts: Facts, told: tuple[LogEvent, ...]) -> Iterator[Draft]:
    """Find it in what the kernel, modprobe and lspci print."""
    if seen_gpu_devices(facts) or events(facts, "smi-not-found"):
        return
    kinds = {event.message for event in told}
    unsigned = "module-not-signed" in kinds
    # That nouveau is there may be of an earlier start: certain only if NVIDIA's module said that it had no turn.
    sure = unsigned or "probe-not-called" in kinds
    yield self.finding(
        seen(told),
        variant="unsigned" if unsigned else "nouveau" if "nouveau-in-use" in kinds else "taken",
        confidence=Confidence.CERTAIN if sure else Confidence.LIKELY,
        remedies=(ENROL_KEY,) if unsigned else (BLACKLIST_NOUVEAU,),
    )
