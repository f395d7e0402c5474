"""cpu-features-notice-harmless."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.libraries._notes import note
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(Severity.NOTE, message="harmless: the CPU can do more than TensorFlow asks of it")
def cpu_features_notice_harmless(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow says which CPU instructions it uses, or could use.

    Why it matters: the line tells of the CPU only, and changes nothing on the GPU.
    How to fix: nothing to fix; a build of one's own for this CPU is somewhat faster on the CPU.
    """
    yield from note(self, facts, "cpu-features-notice", "cpu-features-onednn")
