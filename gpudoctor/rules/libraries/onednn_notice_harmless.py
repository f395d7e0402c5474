"""onednn-notice-harmless."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.libraries._notes import note
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(Severity.NOTE, message="harmless: oneDNN is in use on the CPU: the last digits of results may differ")
def onednn_notice_harmless(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow says that oneDNN is on.

    Why it matters: oneDNN makes the CPU faster and sums in another order. It has no bearing on the GPU.
    How to fix: nothing to fix; TF_ENABLE_ONEDNN_OPTS=0 restores the older order where the last digit counts.
    """
    yield from note(self, facts, "onednn-notice")
