"""NVIDIA modules that are built for another kernel than the one that runs, and what brings the right one."""

from __future__ import annotations

from gpudoctor.facts.model import Facts, KernelModule
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import in_quotes

SHOWN = 3
REBOOT = Remedy(
    summary="Restart the machine: it then runs the kernel for which the module is there.",
    commands=("sudo reboot",),
    applicability=Applicability.UNSAFE,
)
BUILD = Remedy(
    summary="Install the headers of the running kernel, let DKMS build the module, and load it.",
    commands=("dkms status", "sudo dkms autoinstall", "sudo modprobe nvidia"),
    applicability=Applicability.UNSAFE,
)
_APT = ("debian", "ubuntu", "linuxmint", "pop", "neon", "zorin", "elementary", "kali", "raspbian")
_DNF = ("fedora", "rhel", "centos", "rocky", "almalinux", "ol")
_ARCH = ("arch", "manjaro", "endeavouros", "cachyos")
# What Arch calls the headers of each of its kernels, by a word in the kernel's release.
_ARCH_HEADERS = (("-lts", "linux-lts-headers"), ("-zen", "linux-zen-headers"), ("-hardened", "linux-hardened-headers"))


def other_kernels(facts: Facts) -> tuple[KernelModule, ...]:
    """Return the modules on disk that are built for other kernels than the running one, newest last."""
    running = facts.host.kernel.get()
    built = facts.driver.kernel_modules_built.get() or ()
    return tuple(sorted((item for item in built if item.kernel != running), key=lambda item: _numbers(item.kernel)))


def _numbers(kernel: str) -> tuple[int, ...]:
    return tuple(int(word) for word in kernel.replace("-", ".").split(".") if word.isdecimal())


def shown(modules: tuple[KernelModule, ...]) -> str:
    """Return the kernels as they stand in a sentence: the newest few."""
    names = [item.kernel for item in reversed(modules)]
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def bring_module(facts: Facts, modules: tuple[KernelModule, ...]) -> tuple[Remedy, ...]:
    """Return what brings a module for the running kernel, by how those for other kernels came."""
    makers = {item.made_by for item in modules}
    if "dkms" in makers or not modules:
        return (_build(facts),)
    if "akmods" in makers:
        commands = ('sudo dnf install "kernel-devel-$(uname -r)"', "sudo akmods --force", "sudo modprobe nvidia")
        summary = "Install the headers of the running kernel, let akmods build the module, and load it."
        return (Remedy(summary=summary, commands=commands, applicability=Applicability.UNSAFE),)
    branch = next((item.version for item in reversed(modules) if item.made_by == "package"), None)
    if branch and (facts.host.distribution_id.get() or "") in _APT:
        wanted = f"linux-modules-nvidia-{in_quotes(branch)}"
        summary = "Install the ready-made module for the running kernel (its name in the list), and load it."
        steps = (
            "sudo apt-get update",
            f'apt-cache search --names-only "{wanted}.*$(uname -r)"',
            f'sudo apt-get install "{wanted}-$(uname -r)"',
            "sudo modprobe nvidia",
        )
        return (Remedy(summary=summary, commands=steps, applicability=Applicability.MANUAL),)
    return (_build(facts),)


def _build(facts: Facts) -> Remedy:
    """Return how DKMS builds the module; where the headers are missing, they come first."""
    headers = () if facts.driver.kernel_headers.get() else _headers(facts)
    if not headers:
        return BUILD
    commands = (*headers, "sudo dkms autoinstall", "sudo modprobe nvidia")
    return Remedy(summary=BUILD.summary, commands=commands, applicability=Applicability.UNSAFE)


def _headers(facts: Facts) -> tuple[str, ...]:
    distribution, kernel = facts.host.distribution_id.get() or "", facts.host.kernel.get() or ""
    if distribution in _APT:
        return ("sudo apt-get update", 'sudo apt-get install "linux-headers-$(uname -r)"')
    if distribution in _DNF:
        return ('sudo dnf install "kernel-devel-$(uname -r)"',)
    if distribution in _ARCH:
        names = (name for sign, name in _ARCH_HEADERS if sign in kernel)
        return (f"sudo pacman -S --needed {next(names, 'linux-headers')}",)
    return ()
