"""competing-gpu-process."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu, ProcessSight
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.processes.classify import free_gpu
from gpudoctor.processes.sizes import size_text
from gpudoctor.rules.memory._held import NOTICED_BYTES, held, is_the_training, remedies, who
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
    variants={
        "one": "another process computes on {gpu} ({who}); a training beside it shares its speed and memory",
        "held": "{size} of the {total} of {gpu} ({percent} %) is held by {who}; {left} is free{busy}",
    },
)
def competing_gpu_process(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Other processes hold the memory of the GPU or compute on it now.

    Why it matters: they share the speed and the memory of the GPU; times measured meanwhile mean little. How bad it is
    depends on the part that they take: 200 MB of a display server are nothing on 24 GB, and much on 2 GB.
    How to fix: wait, end the other process, switch off hardware acceleration in a browser, or choose another GPU.
    """
    processes = gpu.processes.require()
    if out_of_memory(facts):
        return
    if any(item.sight is not None for item in processes) or (not processes and gpu.memory_used_bytes.get()):
        yield from _held(self, facts, gpu)
    else:
        yield from _told(self, facts, gpu)


def _held(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Judge processes that were looked at, and memory that no process accounts for."""
    found = held(gpu)
    if found.size < NOTICED_BYTES and not any(item.memory_bytes is None for item in found.processes):
        return
    spared = gpu.visible.get() is False or free_gpu(facts, gpu) is not None or is_the_training(found, gpu)
    load = gpu.utilization_percent.get()
    guessed = bool(found.processes) and all(item.sight is ProcessSight.GONE for item in found.processes)
    yield self.finding(
        ("gpu.processes", "gpu.memory_used_bytes", "gpu.memory_total_bytes", "gpu.utilization_percent"),
        variant="held",
        severity=Severity.WARNING if found.weighs and not spared else Severity.NOTE,
        confidence=Confidence.LIKELY if guessed else Confidence.CERTAIN,
        remedies=remedies(facts, gpu, found),
        gpu=gpu.name.get() or "the GPU",
        size=size_text(found.size),
        total=size_text(found.total),
        percent=round(100 * found.share),
        who=who(found, gpu),
        left=size_text(found.left),
        busy="" if not load else f", and it is busy {load} % of the time",
    )


def _told(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Judge processes that a text lists: nobody knows whose they are."""
    real = [
        item
        for item in compute_processes(gpu)
        if item.memory_bytes is None or share(item.memory_bytes, gpu) >= HELD_SHARE
    ]
    load = gpu.utilization_percent.get()
    if not real or (load is not None and load < BUSY_PERCENT):
        return
    several = len({item.pid for item in real}) > 1
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
