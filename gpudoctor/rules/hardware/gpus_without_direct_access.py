"""gpus-without-direct-access."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, GpuPair
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, rule

WHY = {
    "chipset": "the chipset does not allow it",
    "bridge": "they are attached to different parts of the processor",
    "switched-off": "a setting of the driver switches it off",
    "gpu": "these cards do not do it",
    "not-supported": "driver or cards do not do it",
}
FAR = "system"
SHOWN = 3
PLACE = Remedy(
    summary="See which GPUs are near each other and give one training such ones; put cards into slots of the same "
    "processor, and look for IOMMU and ACS in the firmware's settings. GeForce cards of the newer generations do not "
    "do it at all.",
    commands=(
        "nvidia-smi topo -m",
        "nvidia-smi topo -p2p r",
        "export CUDA_VISIBLE_DEVICES=NUMBERS-OF-GPUS-THAT-ARE-NEAR",
    ),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.NOTE,
    message="GPUs {pairs} cannot read each other's memory ({why}): what they exchange goes through the computer's",
    variants={
        "far": "GPUs {pairs} are attached to different processors: what they exchange crosses the link between those",
    },
)
def gpus_without_direct_access(self: Rule, facts: Facts) -> Iterator[Draft]:
    """GPUs that train together reach each other only by way of the computer's memory, or of another processor.

    Why it matters: in each step the GPUs exchange their gradients; by way of the computer's memory that takes several
    times as long. Small models on several GPUs may then be slower than on one.
    How to fix: give one training GPUs that are near each other (nvidia-smi topo -m), and larger batches.
    """
    if len(facts.gpus) < 2:  # noqa: PLR2004 (a pair)
        return
    pairs = [pair for pair in facts.driver.topology.require() if _matters(facts, pair)]
    apart = [pair for pair in pairs if pair.reads is False]
    far = [pair for pair in pairs if pair.distance == FAR and not _linked(facts, pair)]
    if apart or far:
        obstacles = {pair.obstacle for pair in apart}
        yield self.finding(
            ("driver.topology",),
            variant=None if apart else "far",
            remedies=(PLACE,),
            pairs=_shown(apart or far),
            why=" or ".join(sorted(WHY[item] for item in obstacles if item in WHY)) or "the driver does not say why",
        )


def _matters(facts: Facts, pair: GpuPair) -> bool:
    """Whether a program sees both GPUs of a pair."""
    numbers = (pair.first, pair.second)
    return all(0 <= number < len(facts.gpus) and not is_hidden(facts.gpus[number]) for number in numbers)


def _linked(facts: Facts, pair: GpuPair) -> bool:
    """Whether both have NVLinks, which do not care where the cards are attached."""
    return all(facts.gpus[number].nvlinks_up.get() for number in (pair.first, pair.second))


def _shown(pairs: list[GpuPair]) -> str:
    texts = [f"{pair.first} and {pair.second}" for pair in pairs[:SHOWN]]
    return ", ".join(texts) + (f" ({len(pairs)} pairs in all)" if len(pairs) > SHOWN else "")
