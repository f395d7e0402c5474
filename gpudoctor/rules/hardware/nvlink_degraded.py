"""nvlink-degraded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

# A link between two GPUs that is down is missing on both; on one alone, it is a link to a switch.
ENOUGH_TO_COMPARE = 2
SPLIT = ("passthrough", "vgpu")
LOOK = Remedy(
    summary="Look at the links and their counters twice, some minutes of work apart; reseat the bridge or, on a board "
    "with switches, have it checked; until then train on the other GPUs.",
    commands=("nvidia-smi nvlink --status", "nvidia-smi nvlink -e", "nvidia-smi topo -m",
              "sudo dmesg | grep -iE 'xid|nvlink' | tail -n 20"),
    applicability=Applicability.MANUAL,
)  # fmt: skip


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    scope=Scope.GPU,
    message="{gpu} has {up} of {all} NVLinks up, and each other GPU of its kind has {most}",
    variants={
        "fewer": "{gpu} has {up} of {all} NVLinks up, another GPU of its kind has {most}",
        "partly": "{gpu} has {up} of {all} NVLinks up",
        "recovered": "NVLinks of {gpu} had to be trained anew {count} times since the driver was loaded",
    },
)
def nvlink_degraded(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """An NVLink of a GPU is down, or had to be trained anew.

    Why it matters: GPUs that train together exchange gradients over these links; the slowest sets the pace, and a link
    that fails brings a training down.
    How to fix: look at the links and their error counters, reseat the bridge, have the board checked. Cards without a
    bridge have no links up, which is no fault.
    """
    others = [item for item in facts.gpus if item is not gpu and item.name.get() == gpu.name.get()]
    if not others or is_hidden(gpu):
        return
    up, count = gpu.nvlinks_up.require(), gpu.nvlinks.require()
    theirs = [item.nvlinks_up.get() or 0 for item in others]
    most = max(theirs)
    if 0 < up < count:
        alone = len(others) >= ENOUGH_TO_COMPARE and min(theirs) == most > up
        fault = alone and gpu.virtualization.get() not in SPLIT
        yield self.finding(
            ("gpu.nvlinks_up", "gpu.nvlinks", "gpu.nvlink_recoveries", "gpu.virtualization"),
            variant=None if alone else "fewer" if most > up else "partly",
            severity=Severity.WARNING if fault else Severity.NOTE,
            confidence=Confidence.LIKELY,
            remedies=(LOOK,),
            gpu=gpu.name.get() or "the GPU",
            up=up,
            all=count,
            most=most,
        )
    elif recovered := gpu.nvlink_recoveries.get():
        yield self.finding(
            ("gpu.nvlink_recoveries", "gpu.nvlinks_up"),
            variant="recovered",
            severity=Severity.NOTE,
            confidence=Confidence.LIKELY,
            remedies=(LOOK,),
            gpu=gpu.name.get() or "the GPU",
            count=recovered,
        )
