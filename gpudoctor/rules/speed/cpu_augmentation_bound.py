"""cpu-augmentation-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import waits_in_text
from gpudoctor.rules.speed._training import BATCH_AUGMENTATION, GENERATOR, USE_TF_DATA, waits


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the training waits while the CPU changes images at random: the input gives {input} images/s, the model "
    "alone could take {compute}; without the wait it would be {gain} times as fast",
    variants={"text": "the training waits for data, and images are changed at random on the CPU, by code that is slow"},
)
def cpu_augmentation_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Random changes of the images (augmentation) on the CPU are what the model waits for.

    Why it matters: turning, shearing and zooming one image after the other takes four times as long as decoding it.
    How to fix: change whole batches in one operation, after decoding and caching.
    """
    yield from waits_in_text(self, facts, BATCH_AUGMENTATION)
    first = (USE_TF_DATA,) if facts.training.input_pipeline.get() == GENERATOR else ()
    yield from waits(
        self, facts, "training.augmentation", "training.profile_shares", remedies=(BATCH_AUGMENTATION, *first)
    )
