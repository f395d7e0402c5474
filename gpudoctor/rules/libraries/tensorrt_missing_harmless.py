"""tensorrt-missing-harmless."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.libraries._notes import note
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.NOTE,
    message="harmless: TensorRT is not installed; TensorFlow needs it for its own TensorRT conversion only",
)
def tensorrt_missing_harmless(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow says that it does not find TensorRT.

    Why it matters: TF-TRT is a tool for serving; training and the GPU do without it. TensorFlow 2.18 and newer do
    not even look for it.
    How to fix: nothing to fix.
    """
    yield from note(self, facts, "tensorrt-not-loaded")
