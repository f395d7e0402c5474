"""gpu-fell-off-bus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.observed import working_gpu_devices
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
    variants={"reset": "the driver says that the GPU{place} needs a reset before it can be used"},
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
        yield from _asked(self, facts)
        return
    place = next((event.parameters["pci"] for event in told if "pci" in event.parameters), "")
    yield self.finding(
        seen(told),
        severity=_weight(facts) if facts.driver.kernel_events.get() else None,
        confidence=Confidence.CERTAIN,
        remedies=(LOOK_AT_IT,),
        place=f" at {place}" if place else "",
    )


def _weight(facts: Facts) -> Severity:
    """Return how bad it is on this machine now: another GPU that works does not mend this one."""
    return Severity.WARNING if working_gpu_devices(facts) else Severity.ERROR


def _asked(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in what each GPU answers now."""
    for index, gpu in enumerate(facts.gpus):
        state = gpu.fault.get()
        place = gpu.pci_address.get()
        if state is not None:
            yield self.finding(
                (f"gpus[{index}].fault",),
                variant=None if state == "lost" else "reset",
                severity=_weight(facts),
                remedies=(LOOK_AT_IT,),
                place=f" at {place}" if place else "",
            )
    if all(isinstance(gpu.fault, Unknown) for gpu in facts.gpus):
        facts.tensorflow.events.require()
