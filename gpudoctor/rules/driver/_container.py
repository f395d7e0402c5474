"""What a container lacks that was given no GPU, or a part of one only, and how to start it rightly."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Api, Facts, Known
from gpudoctor.findings import Applicability, Confidence, Remedy
from gpudoctor.rules.driver._state import (
    UVM,
    answers,
    by_mode_open,
    closed_nodes,
    failed_with,
    has_pci_gpu,
    outcome,
    uvm_node_missing,
)
from gpudoctor.rules.registry import Draft, Rule

NVML_UNKNOWN = 999
CAPABILITIES, DEVICES = "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES"
NO_DEVICES = ("", "none", "void")
TOOLKIT = (
    "sudo nvidia-ctk runtime configure --runtime=docker",
    "sudo systemctl restart docker",
)
_START = {
    "docker": ("docker run --gpus all IMAGE COMMAND",),
    "podman": ("podman run --device nvidia.com/gpu=all IMAGE COMMAND",),
    "containerd": ("nerdctl run --gpus all IMAGE COMMAND",),
    "apptainer": ("apptainer exec --nv IMAGE COMMAND",),
    "singularity": ("singularity exec --nv IMAGE COMMAND",),
    "lxc": ("lxc config set CONTAINER nvidia.runtime=true", "lxc config device add CONTAINER gpu gpu",
            "lxc restart CONTAINER"),
    "systemd-nspawn": ("systemd-nspawn -D FOLDER --bind=/dev/nvidia0 --bind=/dev/nvidiactl --bind=/dev/nvidia-uvm "
                       "--property=DeviceAllow='/dev/nvidia0 rw' --property=DeviceAllow='/dev/nvidiactl rw' "
                       "--property=DeviceAllow='/dev/nvidia-uvm rw'",),
}  # fmt: skip
_NOTES = {
    "systemd-nspawn": "; the driver's libraries, in exactly the host's version, must be installed inside",
}
COMPUTE_TOO = Remedy(
    summary="Start the container with the driver's compute part too.",
    commands=(f"docker run --gpus all -e {CAPABILITIES}=compute,utility IMAGE COMMAND",),
    applicability=Applicability.MANUAL,
)
MAKE_UVM = Remedy(
    summary="Make the device file on the host, and start the container anew; name it too where device files are named "
    "one by one.",
    commands=("sudo modprobe nvidia_uvm", "sudo nvidia-modprobe -u -c=0"),
    applicability=Applicability.MANUAL,
)


def start(container: str) -> tuple[Remedy, ...]:
    """Return how to start a container of this engine with the GPU."""
    if container == "kubernetes":
        summary = (
            "Ask for a GPU in the pod's resources: limits: nvidia.com/gpu: 1 (the NVIDIA device plugin serves it)."
        )
        return (Remedy(summary=summary, applicability=Applicability.MANUAL),)
    begin = Remedy(
        summary=f"Start the container with the GPU{_NOTES.get(container, '')}.",
        commands=_START.get(container, ()),
        applicability=Applicability.MANUAL,
    )
    if container != "docker":
        return (begin,)
    toolkit = Remedy(
        summary='If Docker then says "could not select device driver", install the NVIDIA Container Toolkit on the '
        "host and set Docker up for it.",
        commands=TOOLKIT,
        applicability=Applicability.MANUAL,
    )
    return (begin, toolkit)


def restart(container: str) -> Remedy:
    """Return what gives a container back the GPU that it has lost."""
    return Remedy(
        summary="Restart the container. To keep it from coming back, let Docker use the cgroupfs driver or give the "
        "device files to the container by name.",
        commands=(f"{container} restart CONTAINER",) if container in ("docker", "podman") else (),
        applicability=Applicability.MANUAL,
    )


def inside(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what this container lacks."""
    container, driver = facts.host.container.get() or "container", facts.driver
    nodes = driver.device_nodes.require()
    given = _given_in_part(self, facts, container)
    if given is not None:
        yield given
        return
    if answers(facts):
        return
    shut = closed_nodes(facts)
    if nodes and failed_with(driver.nvml.get(), NVML_UNKNOWN):
        yield self.finding(
            ("host.container", "driver.nvml", "driver.device_nodes"),
            variant="lost",
            confidence=Confidence.LIKELY,
            remedies=(restart(container),),
            container=container,
        )
    elif shut and all(by_mode_open(node) for node in shut) and outcome(driver.cuda_init.get()) is Api.ERROR:
        yield self.finding(
            ("host.container", "driver.device_nodes", "driver.cuda_init"),
            variant="refused",
            remedies=(*start(container), restart(container)),
            container=container,
            nodes=", ".join(node.path for node in shut),
        )
    else:
        yield from _without(self, facts, container)


def _given_in_part(self: Rule, facts: Facts, container: str) -> Draft | None:
    """Find a container that was given device files and not all that belongs to them."""
    driver = facts.driver
    nodes = driver.device_nodes.get() or ()
    granted = (facts.python.environment.get() or {}).get(CAPABILITIES)
    without_libcuda = outcome(driver.cuda_init.get()) is Api.NO_LIBRARY
    there = answers(facts) or bool(nodes)
    words = set((granted or "").replace(" ", "").split(","))
    if without_libcuda and there and granted is not None and not {"compute", "all"} & words:
        return self.finding(
            ("host.container", f"python.environment[{CAPABILITIES}]", "driver.cuda_init"),
            variant="capabilities",
            remedies=(COMPUTE_TOO,),
            container=container,
            granted=granted or "nothing",
        )
    if uvm_node_missing(facts) and outcome(driver.nvml.get()) is Api.OK:
        return self.finding(
            ("host.container", "driver.device_nodes", "driver.cuda_init"),
            variant="no-uvm",
            remedies=(*start(container), MAKE_UVM),
            container=container,
        )
    return None


def _without(self: Rule, facts: Facts, container: str) -> Iterator[Draft]:
    """Find a container that was given no GPU, on a machine that has one: kernel and bus are the host's."""
    driver = facts.driver
    nodes = driver.device_nodes.require()
    host_has_gpu = has_pci_gpu(facts) or isinstance(driver.kernel_module_version, Known)
    without_libcuda = outcome(driver.cuda_init.require()) is Api.NO_LIBRARY
    if not host_has_gpu or not (without_libcuda or not nodes):
        return
    asked = (facts.python.environment.get() or {}).get(DEVICES)
    only_nodes = any(node.path != UVM for node in nodes) and isinstance(facts.host.container_gpu, Absent)
    variant = "devices-only" if only_nodes else "switched-off" if not nodes and asked in NO_DEVICES else None
    yield self.finding(
        ("host.container", "host.container_gpu", "host.pci_gpus", "driver.kernel_module_version", "driver.device_nodes",
         "driver.cuda_init", *((f"python.environment[{DEVICES}]",) if asked is not None else ())),
        variant=variant,
        remedies=start(container),
        container=container,
        value=asked or "",
    )  # fmt: skip
