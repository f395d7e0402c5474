"""permission-denied-device."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, DeviceNode, Facts, Known, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import (
    CUDA_NO_DEVICE,
    CUDA_UNKNOWN,
    by_mode_open,
    closed_nodes,
    failed_with,
    outcome,
    slurm_job_without_gpu,
)
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

NVML_NO_PERMISSION = 4
JOIN_GROUP = Remedy(
    summary="See which group owns the files, join it, and log in again.",
    commands=("ls -l /dev/nvidia*", 'sudo usermod -aG "$(stat -c %G /dev/nvidiactl)" "$USER"'),
    applicability=Applicability.UNSAFE,
)
MAKE_FILES = Remedy(
    summary="Let the driver make its device files, as root does when it first uses the GPU; the persistence daemon "
    "keeps them.",
    commands=("sudo nvidia-modprobe -u -c=0", "ls -l /dev/nvidia*"),
    applicability=Applicability.UNSAFE,
)
OPEN_FILES = Remedy(
    summary="Open the files to all users; if they close again, see which mode the driver is told to give them "
    "(NVreg_DeviceFileMode in /etc/modprobe.d).",
    commands=("sudo chmod 0666 /dev/nvidia*", "grep DeviceFile /proc/driver/nvidia/params",
              "grep -r NVreg_DeviceFile /etc/modprobe.d"),
    applicability=Applicability.UNSAFE,
)  # fmt: skip
ASK = Remedy(
    summary="Ask the scheduler for a GPU (Slurm: --gres=gpu:1), or let the service that runs this have the "
    "device files (systemd: DeviceAllow).",
    commands=("srun --gres=gpu:1 COMMAND", "cat /proc/self/cgroup"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="this user may not open {nodes}: CUDA works for root only",
    variants={
        "text": "this user may not open the device files of the GPU (/dev/nvidia*)",
        "said": "the GPU is said to work for root only, or once root has used it: this user may not open its device "
        "files, or may not make them",
        "group": "a control group or a security module keeps this process from {nodes}, though the modes of the files "
        "let everybody in",
        "root-only": "the device files of the GPU are open to root only",
        "group-only": "the device files of the GPU are open to the group {owners} only, and CUDA finds no device",
    },
)
def permission_denied_device(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The device files of the GPU exist, and this user may not open them.

    Why it matters: CUDA finds no device, while the same command works for root.
    How to fix: join the group that owns the files, or let the driver create them for all users (mode 0666 is its
    default). On a cluster, ask the scheduler for a GPU: it keeps the files closed otherwise.
    """
    told = tuple(_from_text(self, facts))
    if told:
        yield from told
        return
    facts.driver.device_nodes.require()
    cuda, closed = facts.driver.cuda_init.require(), closed_nodes(facts)
    if outcome(cuda) is not Api.ERROR or not closed:
        return
    if _by_group(closed):
        # In a container no-gpu-in-container says so, in a job without a GPU gpu-hidden-by-env.
        if not isinstance(facts.host.container, Known) and not slurm_job_without_gpu(facts):
            yield self.finding(
                ("driver.device_nodes", "driver.cuda_init"),
                variant="group",
                remedies=(ASK,),
                nodes=", ".join(node.path for node in closed),
            )
        return
    yield self.finding(
        ("driver.device_nodes", "driver.cuda_init", "driver.nvml"),
        remedies=(JOIN_GROUP,),
        nodes=", ".join(node.path for node in closed),
    )


def _by_group(closed: tuple[DeviceNode, ...]) -> bool:
    """Whether the modes of all closed files let everybody in: a control group closes them."""
    return bool(closed) and all(by_mode_open(node) for node in closed)


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in a list of the device files, in what NVML answers, or in what somebody says."""
    told, of_group = events(facts, "device-file-refused"), events(facts, "device-file-of-group")
    said, cuda = events(facts, "said-works-for-root"), facts.driver.cuda_init.get()
    refused = failed_with(facts.driver.nvml.get(), NVML_NO_PERMISSION) and not _by_group(closed_nodes(facts))
    if shut := events(facts, "device-file-closed"):
        yield self.finding((*seen(shut), "driver.nvml"), variant="root-only", remedies=(OPEN_FILES,))
    elif of_group and any(failed_with(cuda, code) for code in (CUDA_NO_DEVICE, CUDA_UNKNOWN)):
        yield self.finding(
            (*seen(of_group), "driver.cuda_init"),
            variant="group-only",
            confidence=Confidence.LIKELY,
            remedies=(JOIN_GROUP,),
            owners=of_group[0].parameters.get("group", ""),
        )
    elif told or refused:
        yield self.finding((*seen(told), "driver.nvml"), variant="text", remedies=(JOIN_GROUP,))
    elif said and isinstance(facts.driver.device_nodes, Unknown):
        yield self.finding(
            (*seen(said), "driver.cuda_init"),
            variant="said",
            confidence=Confidence.LIKELY,
            remedies=(MAKE_FILES, JOIN_GROUP),
        )
