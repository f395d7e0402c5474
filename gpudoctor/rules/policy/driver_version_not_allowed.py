"""driver-version-not-allowed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Severity
from gpudoctor.rules.policy._asked import GPU_NEEDS, another_machine, version_outside
from gpudoctor.rules.registry import Draft, Rule, rule

KEY = "driver"


@rule(
    Severity.ERROR,
    asks=KEY,
    needs=GPU_NEEDS,
    message="the NVIDIA driver is {have}, and the policy asks for {need}",
    variants={"absent": "the NVIDIA driver is not there, and the policy asks for {need}"},
)
def driver_version_not_allowed(self: Rule, facts: Facts, asked: str) -> Iterator[Draft]:
    """The NVIDIA driver has a version that the policy does not allow.

    Why it matters: what was tested with one driver may fail or be slower with another; a fleet should have one.
    How to fix: install a driver that the policy allows, and restart the machine.
    """
    have = version_outside(facts.driver.version, asked)
    if have is not None:
        yield self.finding(
            ("driver.version",),
            variant=None if have else "absent",
            remedies=(another_machine(KEY),),
            have=have,
            need=asked,
        )
