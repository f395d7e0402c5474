"""driver-not-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Api, Facts, Known, LogEvent, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._modules import BUILD, REBOOT, bring_module, other_kernels, shown
from gpudoctor.rules.driver._state import (
    CUDA_NOT_READY,
    CUDA_UNKNOWN,
    NVML_DRIVER_NOT_LOADED,
    PASSED_THROUGH,
    all_passed_through,
    answers,
    failed_with,
    has_pci_gpu,
    nouveau_in_the_way,
    outcome,
    require_own_driver,
    slurm_job_without_gpu,
    uvm_node_missing,
)
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

LOAD = Remedy(
    summary="Load the module and read what the kernel says about it; a reboot after a driver or kernel update does the "
    "same.",
    commands=("sudo modprobe nvidia", "sudo dmesg | grep -iE 'nvidia|nvrm|nouveau|secure'"),
    applicability=Applicability.UNSAFE,
)
LOOK = Remedy(
    summary="Read what the kernel says about the GPU: a driver that no longer serves it, a card that did not start, or "
    "power that is missing. Under a scheduler, ask for a GPU: without one a job sees none.",
    commands=("sudo dmesg | grep -iE 'nvrm|nvidia|xid'", "lspci -nnk -d 10de:"),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the NVIDIA driver is installed, but its kernel module is not loaded",
    variants={
        "text": "the NVIDIA kernel module is not loaded",
        "host": "the NVIDIA driver of the container's host is not loaded",
        "host-uvm": "the container's host has not loaded the module nvidia_uvm, which CUDA needs: nvidia-modprobe is "
        "missing or fails",
        "build": "the NVIDIA kernel module could not be built for the running kernel",
        "unknown": "CUDA cannot be started (unknown error): mostly the module nvidia_uvm is not loaded, or the machine "
        "was suspended meanwhile",
        "fabric": "the driver is not ready: on a machine with NVSwitch the fabric manager does not run, or is of "
        "another version than the driver",
        "refused": "the NVIDIA kernel module does not load",
        "legacy": "the installed NVIDIA driver no longer serves this GPU: the {branch}.xx legacy branch does",
        "no-uvm": "the NVIDIA driver answers, and CUDA cannot start: the device file /dev/nvidia-uvm is missing, which "
        "comes with the module nvidia_uvm",
        "no-devices": "the NVIDIA driver is loaded and takes no GPU: nvidia-smi finds no devices",
        "no-module": "the NVIDIA driver's libraries are installed, but there is no kernel module for the running "
        "kernel {kernel}",
        "other-kernel": "the NVIDIA kernel module is built for kernel {built}, and kernel {kernel} is running",
        "kernel-replaced": "the modules of the running kernel {kernel} are gone, as after an update of the kernel "
        "without a restart; the NVIDIA module is there for kernel {built}",
    },
)
def driver_not_loaded(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA driver is installed, and its kernel module is not loaded.

    Why it matters: without the kernel module no program reaches the GPU; nvidia-smi says that it could not
    communicate with the driver.
    How to fix: load the module, or reboot if the driver or the kernel was just updated. If it does not load, the kernel
    log says why (no module for this kernel, an unsigned module under Secure Boot, another driver on the GPU).
    """
    on_disk, loaded = facts.driver.kernel_module_on_disk, facts.driver.kernel_module_version
    # nouveau takes a GPU for which there is no other module: then it is the consequence.
    if all_passed_through(facts) or (nouveau_in_the_way(facts) and not isinstance(on_disk, Absent)):
        return
    if answers(facts):
        yield from _talks(self, facts)
        return
    if host := _of_container_host(facts):
        yield _not_on_host(self, host)
        return
    require_own_driver(facts)
    told = tuple(_from_text(self, facts))
    if told:
        yield from told
        return
    refused = failed_with(facts.driver.nvml.get(), NVML_DRIVER_NOT_LOADED)
    idle = isinstance(on_disk, Known) and isinstance(loaded, Absent) and has_pci_gpu(facts)
    if refused and not isinstance(on_disk, Known):
        without = tuple(_without_module(self, facts))
        yield from without
        if without:
            return
    if not (refused or idle) or facts.host.secure_boot.get():
        return
    yield self.finding(
        ("driver.nvml", "driver.kernel_module_version", "driver.kernel_module_on_disk", "host.pci_gpus"),
        remedies=(LOAD,),
    )


def _without_module(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a driver whose module is not there for the kernel that runs."""
    modules = other_kernels(facts)
    absent = isinstance(facts.driver.kernel_module_on_disk, Absent)
    if not absent and not modules:
        return
    yield self.finding(
        ("driver.nvml", "driver.kernel_module_on_disk", "driver.kernel_modules_built", "driver.kernel_headers",
         "host.kernel"),
        variant="kernel-replaced" if not absent else "other-kernel" if modules else "no-module",
        remedies=bring_module(facts, modules) if absent else (REBOOT,),
        kernel=facts.host.kernel.get() or "of unknown release",
        built=shown(modules),
    )  # fmt: skip


START_FABRIC = Remedy(
    summary="Install NVIDIA's fabric manager in exactly the driver's version, and start it.",
    commands=(
        "nvidia-smi --query-gpu=driver_version --format=csv,noheader",
        "sudo systemctl enable --now nvidia-fabricmanager",
        "sudo systemctl status nvidia-fabricmanager",
    ),
    applicability=Applicability.MANUAL,
)
SHOWN_GPUS = 4
MAKE_UVM = Remedy(
    summary="Load the module and let it make its device files.",
    commands=("sudo modprobe nvidia_uvm", "sudo nvidia-modprobe -u -c=0", "ls -l /dev/nvidia-uvm"),
    applicability=Applicability.UNSAFE,
)
LOAD_UVM = Remedy(
    summary="Load the module that CUDA needs beside the driver's own; if that does not help, reboot.",
    commands=("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)


def _talks(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what keeps a driver that answers NVML from serving CUDA."""
    unready = [index for index, gpu in enumerate(facts.gpus) if gpu.fabric.get() in ("not-started", "failed")]
    if failed_with(facts.driver.cuda_init.get(), CUDA_NOT_READY):
        paths = ("driver.cuda_init", *(f"gpus[{index}].fabric" for index in unready[:SHOWN_GPUS]))
        yield self.finding(paths, variant="fabric", remedies=(START_FABRIC,))
    elif uvm_node_missing(facts) and isinstance(facts.host.container, Absent):
        yield self.finding(
            ("driver.cuda_init", "driver.device_nodes", "driver.modules_loaded"),
            variant="no-uvm",
            remedies=(MAKE_UVM,),
        )
    else:
        yield from _takes_none(self, facts)


def _takes_none(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find a driver that is loaded and talks, and has taken no GPU though the bus has one.

    In a container or under WSL the bus is another's; a job of a cluster may have been given none, hence likely only.
    """
    if not isinstance(facts.host.container, Absent) or isinstance(facts.host.wsl, Known):
        return
    own = [device for device in facts.host.pci_gpus.get() or () if device.driver != PASSED_THROUGH]
    if slurm_job_without_gpu(facts):
        return
    if not own or facts.driver.nvml_device_count.get() != 0 or facts.driver.cuda_device_count_unmasked.get():
        return
    yield self.finding(
        ("driver.nvml_device_count", "driver.cuda_device_count_unmasked", "host.pci_gpus"),
        variant="no-devices",
        confidence=Confidence.LIKELY,
        remedies=(LOOK,),
    )


LOAD_ON_HOST = Remedy(
    summary="On the host, outside any container, see whether nvidia-smi works; where it does not, load the driver's "
    "module and read what the kernel says about it.",
    commands=("nvidia-smi", "sudo modprobe nvidia", "sudo dmesg | grep -iE 'nvidia|nvrm|nouveau|secure'"),
    applicability=Applicability.UNSAFE,
)
UVM_ON_HOST = Remedy(
    summary="On the host, install nvidia-modprobe, and let it load the module; where it fails, the driver itself does "
    "not load, and the kernel says why.",
    commands=("sudo apt-get install nvidia-modprobe", "sudo nvidia-modprobe -u -c=0",
              "sudo dmesg | grep -iE 'nvidia|nvrm|nouveau|secure'"),
    applicability=Applicability.UNSAFE,
)  # fmt: skip


def _not_on_host(self: Rule, host: tuple[LogEvent, ...]) -> Draft:
    """Say which module the host of a container has not loaded. host: what the container tool printed of it."""
    without_uvm = host[0].message == "container-host-uvm"
    return self.finding(
        (*seen(host), "driver.nvml"),
        variant="host-uvm" if without_uvm else "host",
        remedies=(UVM_ON_HOST if without_uvm else LOAD_ON_HOST,),
    )


def _of_container_host(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what a container tool, which runs on the host, says of a driver that is not loaded there."""
    if isinstance(facts.host.wsl, Known) or seen_gpu_devices(facts) or events(facts, *_OTHER):
        return ()
    uvm = events(facts, "container-host-uvm")
    if uvm:
        return uvm
    told = events(facts, "container-host-driver")
    return tuple(event for event in told if "nvml error: driver not loaded" in event.parameters.get("detail", ""))


_REFUSED = (
    "module-not-loaded",
    "module-build-failed",
    "legacy-driver-needed",
    "gpu-not-served",
    "module-found-no-gpu",
    "open-module-needed",
    "adapter-not-started",
)
_NOT_RUNNING = ("kernel-driver-not-running", "module-not-in-list", "smi-no-devices", "no-device-node")
# What explains it better; and the words of a driver that is not even installed.
_OTHER = ("module-not-signed", "probe-not-called", "nouveau-in-use", "gpu-lost", "smi-not-found")


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in what modprobe, dkms, the kernel, nvidia-smi and TensorFlow print."""
    if seen_gpu_devices(facts) or events(facts, *_OTHER) or facts.host.secure_boot.get():
        return
    fabric = events(facts, "system-not-ready")
    if fabric or failed_with(facts.driver.cuda_init.get(), CUDA_NOT_READY):
        yield self.finding(("driver.cuda_init", *seen(fabric)), variant="fabric", remedies=(START_FABRIC,))
        return
    told = events(facts, *_REFUSED)
    silent = events(facts, *_NOT_RUNNING)
    missing = outcome(facts.driver.cuda_init.get()) is Api.NO_LIBRARY
    hidden = (facts.python.environment.get() or {}).get("CUDA_VISIBLE_DEVICES") in ("", "-1", "NoDevFiles")
    looked = not isinstance(facts.host.pci_gpus, Unknown) and not has_pci_gpu(facts)
    if not told and not silent and not looked and failed_with(facts.driver.cuda_init.get(), CUDA_UNKNOWN):
        if events(facts, "kernel-library-mismatch"):
            return
        if facts.host.container.get() is None and not isinstance(facts.driver.device_nodes, Known):
            yield self.finding(
                ("driver.cuda_init",), variant="unknown", confidence=Confidence.LIKELY, remedies=(LOAD_UVM,)
            )
        return
    if not told and (not silent or missing or hidden or looked):
        return
    legacy = next((event.parameters["branch"] for event in told if "branch" in event.parameters), "")
    build = events(facts, "module-build-failed")
    no_devices = silent and all(event.message == "smi-no-devices" for event in silent)
    variant = (
        "legacy" if legacy else "build" if build else "refused" if told else "no-devices" if no_devices else "text"
    )
    yield self.finding(
        (*seen(told or silent), "driver.cuda_init", "driver.nvml"),
        variant=variant,
        confidence=Confidence.CERTAIN if told else Confidence.LIKELY,
        remedies=(BUILD,) if build else (LOAD,),
        branch=legacy,
    )
