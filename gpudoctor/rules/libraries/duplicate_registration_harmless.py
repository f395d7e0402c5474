"""duplicate-registration-harmless."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.libraries._notes import note
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.NOTE,
    message="harmless: cuDNN, cuFFT or cuBLAS is registered twice by TensorFlow itself; the first copy counts",
)
def duplicate_registration_harmless(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow says that a factory is registered twice.

    Why it matters: the same code is linked twice into these releases (2.14 and newer). The line is printed at
    level E on healthy machines.
    How to fix: nothing to fix; a later release of TensorFlow may be silent.
    """
    yield from note(self, facts, "factory-registered-twice", "computation-placer-twice")
