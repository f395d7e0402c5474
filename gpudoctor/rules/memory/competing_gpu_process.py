"""competing-gpu-process."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.memory._state import compute_processes, gib, out_of_memory, share
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

BUSY_PERCENT = 30
HELD_SHARE = 0.05
CHOOSE = Remedy(
    summary="Wait for the other process, end it if it is yours, or use another GPU.",
    commands=("nvidia-smi", "export CUDA_VISIBLE_DEVICES=NUMBER-OF-A-FREE-GPU"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    scope=Scope.GPU,
    message="{count} processes compute on {gpu} at the same time ({who}): each gets a part of its speed and memory",
    variants={"one": "another process computes on {gpu} ({who}); a training beside it shares its speed and memory"},
)
def competing_gpu_process(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Other processes compute on the GPU now.

    Why it matters: they share the speed and the memory of the GPU; times measured meanwhile mean little.
    How to fix: wait, end the other process, or choose another GPU.
    """
    processes = [item for item in gpu.processes.require() if item in compute_processes(gpu)]
    real = [item for item in processes if item.memory_bytes is None or share(item.memory_bytes, gpu) >= HELD_SHARE]
    load = gpu.utilization_percent.get()
    if not real or out_of_memory(facts):
        return
    several = len({item.pid for item in real}) > 1
    if load is not None and load < BUSY_PERCENT:
        return
    training = facts.training.step_seconds.get() is not None
    yield self.finding(
        ("gpu.processes", "gpu.utilization_percent", "gpu.memory_used_bytes"),
        variant=None if several else "one",
        # One process may be the very training that is looked at; another user's may be there by right.
        severity=Severity.WARNING if several and training else Severity.NOTE,
        confidence=Confidence.LIKELY,
        remedies=(CHOOSE,) if several else (),
        count=len(real),
        gpu=gpu.name.get() or "the GPU",
        who=", ".join(f"{item.name or 'a process'} (pid {item.pid}, {gib(item.memory_bytes)})" for item in real[:4]),
    )
