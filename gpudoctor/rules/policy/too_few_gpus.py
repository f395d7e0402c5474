"""too-few-gpus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Severity
from gpudoctor.rules.policy._asked import GPU_NEEDS, another_machine
from gpudoctor.rules.registry import Draft, Rule, rule

KEY = "min_gpus"


@rule(
    Severity.ERROR,
    asks=KEY,
    needs=GPU_NEEDS,
    message="a CUDA program here sees {have} GPUs, and the policy asks for {need}",
    variants={"none": "there is no NVIDIA GPU, and the policy asks for {need}"},
)
def too_few_gpus(self: Rule, facts: Facts, asked: int) -> Iterator[Draft]:
    """A CUDA program sees fewer GPUs than the policy asks for.

    Why it matters: a training for several GPUs runs on fewer, takes as many times as long, or does not start.
    How to fix: see why GPUs are missing (driver, CUDA_VISIBLE_DEVICES, the limits of a container or job), or use
    another machine.
    """
    pci = facts.host.pci_gpus
    if isinstance(pci, Known) and not pci.value and facts.driver.cuda_device_count.get() is None:
        if asked > 0:
            yield self.finding(("host.pci_gpus",), variant="none", remedies=(another_machine(KEY),), need=asked)
        return
    have = facts.driver.cuda_device_count.require()
    if have < asked:
        yield self.finding(
            ("driver.cuda_device_count", "python.environment[CUDA_VISIBLE_DEVICES]"),
            remedies=(another_machine(KEY),),
            have=have,
            need=asked,
        )
