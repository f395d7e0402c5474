"""slow-gpu-hardware."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said
from gpudoctor.rules.speed._training import COMPUTE_BOUND, limit, measured

# Two runs of the same differ by as much.
WORTH = 1.1


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the GPU does what it can, and that is {gpu} images/s; the CPU of this machine gives {cpu}",
    variants={
        "text": "{gpu} is an entry-level GPU: it does what it can, and a step takes {step} s",
        "compared": "{gpu} is an entry-level GPU: a step takes {step} s on it and {cpu} s on the CPU",
        "said": "the graphics card is said to be old or weak, and no faster than the CPU",
    },
)
def slow_gpu_hardware(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The GPU computes all the time, and is still no faster than the CPU.

    Why it matters: an entry-level or old GPU has fewer arithmetic units than a modern CPU; no setting mends that.
    How to fix: train on the CPU, or on another GPU.
    """
    told = tuple(_in_text(self, facts))
    if told:
        yield from told
        return
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


# Fewer multiprocessors than a handful: laptops' smallest, office cards.
ENTRY_LEVEL = (
    r"(?:NVIDIA )?(?:GeForce )?(?:MX ?\d{3}|GT ?\d{3,4}M?\b|GTX ?1030|(?:GTX? ?)?"
    r"[6-9][1-4]0MX?\b|Quadro (?:K\d{3}|P[4-6]00)\b|T[4-6]00\b)"
)
ELSEWHERE = Remedy(summary="Train on the CPU (CUDA_VISIBLE_DEVICES=-1), or on another GPU.")
BUSY_PERCENT = 80
LONG_STEP_SECONDS = 0.2
NEARLY = 0.9


def _in_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it by the name of the GPU, and what the text tells of its speed."""
    training = facts.training
    name = next((gpu.name.get() or "" for gpu in facts.gpus if re.match(ENTRY_LEVEL, gpu.name.get() or "")), "")
    if isinstance(training.limit, Known):
        return
    weak, slower = said(facts, "said-weak-gpu"), said(facts, "said-gpu-slower")
    if weak and slower:
        yield self.finding(
            (*seen(weak), *seen(slower)), variant="said", confidence=Confidence.POSSIBLE, remedies=(ELSEWHERE,)
        )
        return
    if not name:
        return
    runs = training.runs.get() or ()
    gpu = next((run.step_seconds for run in reversed(runs) if run.device == "gpu"), None)
    cpu = next((run.step_seconds for run in reversed(runs) if run.device == "cpu"), None)
    load, step = training.gpu_utilization_percent.get(), training.step_seconds.get()
    compared = gpu is not None and cpu is not None and gpu >= NEARLY * cpu
    busy = load is not None and load >= BUSY_PERCENT and step is not None and step >= LONG_STEP_SECONDS
    if compared or busy:
        yield self.finding(
            ("gpus[0].name", "training.runs", "training.gpu_utilization_percent", "training.step_seconds"),
            variant="compared" if compared else "text",
            confidence=Confidence.LIKELY,
            remedies=(ELSEWHERE,),
            gpu=name,
            step=round(gpu if compared and gpu is not None else step or 0, 3),
            cpu=round(cpu or 0, 3),
        )
