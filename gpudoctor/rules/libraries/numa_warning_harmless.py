"""numa-warning-harmless."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.libraries._notes import note
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(Severity.NOTE, message="harmless: the system does not tell the NUMA node of the GPU; TensorFlow takes node 0")
def numa_warning_harmless(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow says that it cannot read the GPU's NUMA node.

    Why it matters: most desktop machines, virtual machines and WSL have one NUMA node and tell none; node 0 is
    right there. The GPU is used.
    How to fix: nothing to fix.
    """
    yield from note(self, facts, "numa-node", "kernel-without-numa")
