"""permission-denied-device."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Api, Facts
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.driver._state import failed_with, outcome
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# What CUDA opens; nvidia-modeset and nvidia-caps are for displays and MIG.
NVML_NO_PERMISSION = 4
JOIN_GROUP = Remedy(
    summary="See which group owns the files, join it, and log in again.",
    commands=("ls -l /dev/nvidia*", 'sudo usermod -aG "$(stat -c %G /dev/nvidiactl)" "$USER"'),
    applicability=Applicability.UNSAFE,
)
NEEDED = r"/dev/nvidia(ctl|-uvm|\d+)\Z"


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="this user may not open {nodes}: CUDA works for root only",
    variants={"text": "this user may not open the device files of the GPU (/dev/nvidia*)"},
)
def permission_denied_device(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The device files of the GPU exist, and this user may not open them.

    Why it matters: CUDA finds no device, while the same command works for root.
    How to fix: join the group that owns the files, or let the driver create them for all users (mode 0666 is its
    default). On a cluster, ask the scheduler for a GPU: it keeps the files closed otherwise.
    """
    told = events(facts, "device-file-refused")
    if told or failed_with(facts.driver.nvml.get(), NVML_NO_PERMISSION):
        yield self.finding((*seen(told), "driver.nvml"), variant="text", remedies=(JOIN_GROUP,))
        return
    nodes = facts.driver.device_nodes.require()
    cuda = facts.driver.cuda_init.require()
    if outcome(cuda) is not Api.ERROR:
        return
    closed = [node for node in nodes if re.match(NEEDED, node.path) and not node.accessible]
    gpus = [node for node in nodes if re.match(r"/dev/nvidia\d+\Z", node.path)]
    control = [node for node in closed if node in gpus]
    # Of several GPUs some may be closed on purpose; it is a fault if none is left, or a common file is closed.
    if not closed or (len(control) < len(gpus) and len(control) == len(closed)):
        return
    yield self.finding(
        ("driver.device_nodes", "driver.cuda_init", "driver.nvml"),
        remedies=(JOIN_GROUP,),
        nodes=", ".join(node.path for node in closed),
    )
