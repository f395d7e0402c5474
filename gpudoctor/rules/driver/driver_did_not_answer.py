"""driver-did-not-answer."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import outcome
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

LOOK = Remedy(
    summary="Read the kernel log for the driver's last words, and reboot; a process that hangs in the driver cannot be "
    "ended otherwise.",
    commands=("sudo dmesg | grep -iE 'nvrm|xid' | tail -n 20", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="the NVIDIA driver does not answer: {detail}",
    variants={
        "crashed": "the NVIDIA driver's library is broken: {detail}",
        "said": "the NVIDIA driver does not answer: what asks it waits without an end",
    },
)
def driver_did_not_answer(self: Rule, facts: Facts) -> Iterator[Draft]:
    """NVML or CUDA did not answer in time, or crashed when it was asked.

    Why it matters: a program that uses the GPU hangs or crashes in the same way. The GPU may have fallen off the bus,
    or a process is stuck in the driver.
    How to fix: look into the kernel log for NVRM and Xid lines, then reboot. If it comes back, suspect the card, its
    power supply or its slot.
    """
    nvml, cuda = facts.driver.nvml.get(), facts.driver.cuda_init.get()
    told = events(facts, "driver-hangs", "said-smi-hangs")
    if told and Api.OK not in (outcome(nvml), outcome(cuda)):
        yield self.finding(seen(told), variant="said", confidence=Confidence.LIKELY, remedies=(LOOK,))
        return
    if nvml is None and cuda is None:
        facts.driver.nvml.require()
    asked = (("NVML", "driver.nvml", nvml), ("CUDA (cuInit)", "driver.cuda_init", cuda))
    stuck = [item for item in asked if outcome(item[2]) in (Api.NO_ANSWER, Api.CRASHED)]
    if not stuck:
        return
    library, _, answer = stuck[-1]
    # CUDA alone decides whether TensorFlow can compute; NVML is only asked by tools.
    works = outcome(cuda) is Api.OK
    yield self.finding(
        tuple(path for _, path, _ in stuck),
        variant="crashed" if outcome(answer) is Api.CRASHED else None,
        severity=Severity.WARNING if works else Severity.ERROR,
        remedies=(LOOK,),
        detail=answer.detail if answer is not None and answer.detail else f"{library} gave no answer",
    )
