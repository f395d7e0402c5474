"""disk-io-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import waits_in_text
from gpudoctor.rules.speed._training import CACHE, waits

PACK = Remedy(
    summary="Copy the images to a local disk, as one archive that is unpacked there, or pack them into a few large "
    "TFRecord files."
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the training waits for files to be read: the input gives {input} images/s, the model alone could take "
    "{compute}; without the wait it would be {gain} times as fast",
    variants={"text": "the training waits for data, which lie on slow storage"},
)
def disk_io_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Reading files is what the model waits for.

    Why it matters: many small files on a network or a rotating disk take longer to find than to decode.
    How to fix: cache after decoding, copy the data to a local disk, or pack it into a few large files (TFRecord).
    """
    yield from waits_in_text(self, facts, PACK, CACHE)
    yield from waits(self, facts, "training.profile_shares", remedies=(CACHE, PACK))
