"""mixed-gpus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known, LogEvent
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.observed import working_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "CUDA_DEVICE_ORDER"
BY_PCI = "PCI_BUS_ID"
SAME_ORDER = Remedy(
    summary="Let CUDA number the GPUs as nvidia-smi does, or name the one you mean by its UUID.",
    commands=("export CUDA_DEVICE_ORDER=PCI_BUS_ID", "nvidia-smi -L"),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.NOTE,
    message="there are GPUs of different kinds ({names}): nvidia-smi and CUDA number them in different orders",
    variants={
        "left-out": "TensorFlow leaves out a GPU that is much smaller than another ({count} multiprocessors, {minimum} "
        "are asked for)",
        "said": "nvidia-smi is said to number the GPUs otherwise than the program: CUDA begins with the fastest, "
        "nvidia-smi counts in the order of the PCI bus",
        "ordinal": "a GPU number was used that CUDA does not have, on a machine with GPUs of different kinds ({names})",
    },
)
def mixed_gpus(self: Rule, facts: Facts) -> Iterator[Draft]:
    """There are GPUs of different kinds in the machine.

    Why it matters: nvidia-smi counts in the order of the PCI bus, CUDA begins with the fastest: number 1 may be another
    card than you think. TensorFlow leaves out a card that is much smaller than the largest.
    How to fix: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID.
    """
    left_out = events(facts, "ignoring-gpu-multiprocessors")
    names = sorted({gpu.name.get() or "" for gpu in facts.gpus} - {""})
    if left_out:
        yield _left_out(self, facts, left_out)
        return
    if not facts.gpus:
        facts.tensorflow.events.require()
    environment = facts.python.environment.get() or {}
    said = events(facts, "said-order-differs")
    if said and environment.get(VARIABLE) != BY_PCI:
        yield self.finding(
            (*seen(said), f"python.environment[{VARIABLE}]"),
            variant="said",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=(SAME_ORDER,),
        )
        return
    if len(names) < 2 or environment.get(VARIABLE) == BY_PCI:  # noqa: PLR2004 (two kinds)
        return
    ordinal, said = events(facts, "invalid-device"), events(facts, "said-other-gpu")
    told = ordinal or said
    yield self.finding(
        (*(f"gpus[{index}].name" for index, gpu in enumerate(facts.gpus[:4]) if isinstance(gpu.name, Known)),
         f"python.environment[{VARIABLE}]", *seen(told)),
        variant="ordinal" if ordinal else None,
        severity=Severity.WARNING if told else None,
        confidence=Confidence.LIKELY if told else Confidence.CERTAIN,
        remedies=(SAME_ORDER,) if told else (),
        names=", ".join(names),
    )  # fmt: skip


def _left_out(self: Rule, facts: Facts, told: tuple[LogEvent, ...]) -> Draft:
    """Say how small the GPU is that TensorFlow leaves out."""
    return self.finding(
        seen(told),
        variant="left-out",
        # A small card for the display beside one that computes is how many machines are built.
        severity=Severity.NOTE if working_gpu_devices(facts) else Severity.WARNING,
        remedies=(SAME_ORDER,),
        count=told[0].parameters.get("count", "few"),
        minimum=told[0].parameters.get("minimum", "more"),
    )
