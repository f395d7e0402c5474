"""input-pipeline-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import waits_in_text
from gpudoctor.rules.speed._training import CACHE, USE_TF_DATA, waits


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the training waits for data: the input alone gives {input} images/s, the model alone could take "
    "{compute}; without the wait it would be {gain} times as fast",
    variants={
        "text": "the GPU waits most of the time while steps are long: the training waits for data",
        "reading": "reading the data is said to be slow: then the training waits for it",
        "said": "the GPU has little to do while it trains: most often that is so because it waits for data",
    },
)
def input_pipeline_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The model waits for data.

    Why it matters: a faster GPU, a larger batch or another precision bring nothing while the input is the slower part.
    How to fix: decode on all cores with tf.data, cache what was decoded, prefetch. Where only part of the input is to
    blame, another rule says so: cpu-augmentation-bound, python-generator-bound, disk-io-bound.
    """
    yield from waits_in_text(self, facts, USE_TF_DATA)
    yield from waits(self, facts, remedies=(CACHE, USE_TF_DATA))
