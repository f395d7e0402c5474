"""vgpu-unlicensed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import vgpu_by_name as by_name
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

LICENSE = Remedy(
    summary="Give the virtual machine a licence: put the client's token where the driver looks, and restart its "
    "service; in a cloud, ask the provider.",
    commands=("nvidia-smi -q | grep -A2 'License'", "sudo systemctl restart nvidia-gridd"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the virtual GPU has no licence: the driver slows it down, and later refuses CUDA",
    variants={
        "perhaps": "the GPU is a virtual one, and the driver refuses CUDA on it: mostly it has no licence",
    },
)
def vgpu_unlicensed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """A virtual GPU (NVIDIA vGPU) has no licence.

    Why it matters: the driver lets it run for a while, then cuts its speed and refuses new CUDA programs.
    How to fix: configure the licence in the virtual machine, or let the provider do so.
    """
    told = events(facts, "vgpu-unlicensed")
    refused = events(facts, "device-busy")
    if not told and refused:
        virtual = by_name(facts)
        if virtual is not None:
            yield self.finding(
                (f"gpus[{virtual}].name", *seen(refused)),
                variant="perhaps",
                severity=Severity.ERROR,
                confidence=Confidence.LIKELY,
                remedies=(LICENSE,),
            )
            return
    if not told:
        for index, gpu in enumerate(facts.gpus):
            if gpu.licensed.get() is False:
                yield self.finding((f"gpus[{index}].licensed", f"gpus[{index}].virtualization"), remedies=(LICENSE,))
        if all(isinstance(gpu.licensed, Unknown) for gpu in facts.gpus):
            facts.tensorflow.events.require()
        return
    yield self.finding(
        (*seen(told), *seen(refused)), severity=Severity.ERROR if refused else Severity.WARNING, remedies=(LICENSE,)
    )
