"""gpu-fell-off-bus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

XID_OFF_BUS = "79"
LOOK_AT_IT = Remedy(
    summary="Switch the machine off and on again. If it comes back: watch temperature and power under load, reseat the "
    "card and its power cables, try another slot or riser, and update the firmware.",
    commands=("sudo dmesg | grep -iE 'xid|nvrm|pcie|aer' | tail -n 40", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the driver lost the GPU{place}: it no longer answers on the PCI bus",
)
def gpu_fell_off_bus(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The driver lost the GPU: it does not answer on the PCI bus any more.

    Why it matters: every program on that GPU hangs or dies, and only a restart of the machine brings it back. Power,
    heat, the slot or the card itself is at fault, not TensorFlow.
    How to fix: restart the machine; if it happens again, look at power, cooling, slot and card.
    """
    told = tuple(
        event
        for event in events(facts, "gpu-lost", "xid")
        if event.message == "gpu-lost" or event.parameters.get("xid") == XID_OFF_BUS
    )
    if not told:
        facts.tensorflow.events.require()
        return
    place = next((event.parameters["pci"] for event in told if "pci" in event.parameters), "")
    yield self.finding(
        seen(told),
        confidence=Confidence.CERTAIN,
        remedies=(LOOK_AT_IT,),
        place=f" at {place}" if place else "",
    )
