"""pcie-link-reduced."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

# Below this load, as on a desktop, a link may be at rest: then it says nothing.
BUSY_PERCENT = 80
AT_REST = "gpu-idle"
LOOK = Remedy(
    summary="Watch the link while the GPU works; then reseat the card, try another slot or riser, and look at the "
    "firmware's settings for the slot (lanes shared with a drive, a fixed generation).",
    commands=("nvidia-smi -q -d PERFORMANCE", "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.gen.max,"
              "pcie.link.width.current,pcie.link.width.max --format=csv"),
    applicability=Applicability.MANUAL,
)  # fmt: skip


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    scope=Scope.GPU,
    message="{gpu} works over a reduced PCIe link: generation {generation} with {width} lanes, of generation "
    "{generation_max} with {width_max}",
)
def pcie_link_reduced(self: Rule, _: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The GPU's PCIe link is slower under load than card and slot allow.

    Why it matters: batches reach the GPU at a half or less of the speed; a training that feeds many images waits for
    them. An idle link drops by design and is not judged.
    How to fix: reseat the card, try another slot or riser, and look at the firmware's settings for the slot.
    """
    load = gpu.utilization_percent.require()
    width, width_max = gpu.pcie_width.require(), gpu.pcie_width_max.require()
    generation, generation_max = gpu.pcie_generation.require(), gpu.pcie_generation_max.require()
    at_rest = AT_REST in (gpu.throttle_reasons.get() or ())
    if load < BUSY_PERCENT or at_rest or not width or not generation or is_hidden(gpu):
        return
    # A generation doubles the speed of a lane. One step less is common and seldom matters.
    lost = (width_max / width) * 2 ** max(0, generation_max - generation)
    if lost < 4:  # noqa: PLR2004 (a quarter of the speed)
        return
    yield self.finding(
        ("gpu.pcie_generation", "gpu.pcie_generation_max", "gpu.pcie_width", "gpu.pcie_width_max",
         "gpu.utilization_percent"),
        remedies=(LOOK,),
        gpu=gpu.name.get() or "the GPU",
        generation=generation,
        width=width,
        generation_max=generation_max,
        width_max=width_max,
    )  # fmt: skip
