"""slow-gpu-hardware."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._training import COMPUTE_BOUND, limit, measured

# Two runs of the same differ by as much.
WORTH = 1.1


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the GPU does what it can, and that is {gpu} images/s; the CPU of this machine gives {cpu}",
)
def slow_gpu_hardware(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The GPU computes all the time, and is still no faster than the CPU.

    Why it matters: an entry-level or old GPU has fewer arithmetic units than a modern CPU; no setting mends that.
    How to fix: train on the CPU, or on another GPU.
    """
    training = measured(facts)
    if training.device.require() != "gpu" or limit(facts) != COMPUTE_BOUND:
        return
    gpu, cpu = training.images_per_second.require(), training.cpu_images_per_second.require()
    if gpu >= WORTH * cpu:
        return
    yield self.finding(
        ("training.limit", "training.images_per_second", "training.cpu_images_per_second"),
        remedies=(Remedy(summary="Train on the CPU: hide the GPU with CUDA_VISIBLE_DEVICES=-1."),),
        gpu=round(gpu),
        cpu=round(cpu),
    )
