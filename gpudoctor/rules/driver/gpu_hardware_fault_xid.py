"""gpu-hardware-fault-xid."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, LogEvent
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.observed import working_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

# nverror.h of NVIDIA's open kernel modules, and NVIDIA's list of Xid errors. 79 has a rule of its own; 13, 31, 43 and
# 45 mostly are the program's, 8, 32, 109 and the like may be.
HARDWARE = {
    46: "the GPU stopped working",
    48: "a memory error that could not be corrected (double-bit ECC)",
    54: "auxiliary power is not connected",
    62: "the GPU's power controller halted",
    63: "a memory page was retired, or a row remapped",
    64: "a memory page could not be retired, or a row not remapped",
    74: "an NVLink error",
    92: "too many single-bit memory errors",
    94: "a contained memory error",
    95: "an uncontained memory error",
    110: "a security fault of the GPU",
    119: "the GPU's own processor (GSP) does not answer",
    120: "an error of the GPU's own processor (GSP)",
    121: "an error of the chip-to-chip link",
    136: "an alignment fault of the NVLink",
    137: "an NVLink remote fault",
    140: "an ECC error that was not recovered",
    143: "the GPU could not be started",
    144: "an NVLink error",
    145: "an NVLink error",
    146: "an NVLink error",
    147: "an NVLink error",
    148: "an NVLink error",
    149: "an NVLink error",
    150: "an NVLink error",
    154: "the GPU needs a reset or a restart of the machine",
}
# Not the card alone: the driver's firmware may be at fault.
SOFTER = (62, 119, 120, 154)
FROM_OTHER = 45
SERVICE = Remedy(
    summary="Restart the machine, update driver and firmware together, and run NVIDIA's diagnostics. If it comes back, "
    "have the card (or the NVLink board) replaced.",
    commands=("nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT", "dcgmi diag -r 3", "sudo reboot"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="the driver reports a fault of the GPU itself{place}: Xid {xid}, {what}",
    variants={
        "ecc": "the GPU's memory gave an error that could not be corrected (ECC)",
        "worn": "a row of the memory of {gpu} failed and could not be remapped: the memory is worn out",
        "counted": "the memory of {gpu} gave {count} errors that could not be corrected (ECC) since the driver started",
        "pending": "memory of {gpu} is to be repaired at its next reset: until then programs may fail on it",
    },
)
def gpu_hardware_fault_xid(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The driver reports an error that points at the card, its memory, its power or its links.

    Why it matters: results may be wrong, and programs on this GPU die without a fault of their own.
    How to fix: restart, update driver and firmware, run diagnostics, and replace what fails again.
    """
    told = [(event, number) for event in events(facts, "xid") if (number := _hardware(event)) is not None]
    broken = events(facts, "ecc-error")
    if told:
        event, number = told[0]
        yield self.finding(
            seen(tuple(event for event, _ in told)),
            confidence=Confidence.LIKELY if number in SOFTER else Confidence.CERTAIN,
            remedies=(SERVICE,),
            place=f" at {event.parameters['pci']}" if "pci" in event.parameters else "",
            xid=number,
            what=HARDWARE[number],
        )
    elif broken:
        yield self.finding(seen(broken), variant="ecc", remedies=(SERVICE,))
    else:
        yield from _counted(self, facts)


RESET = Remedy(
    summary="Reset the GPU, or restart the machine, when no program uses it: the driver then repairs its memory.",
    commands=("nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT", "sudo nvidia-smi --gpu-reset"),
    applicability=Applicability.UNSAFE,
)


def _counted(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in the counters of each GPU."""
    known = False
    for index, gpu in enumerate(facts.gpus):
        name = gpu.name.get() or "the GPU"
        place = f"gpus[{index}]"
        count = gpu.ecc_uncorrected.get()
        pending = [field for field in ("rows_pending", "pages_pending") if getattr(gpu, field).get()]
        known = known or count is not None or gpu.rows_failed.get() is not None
        if gpu.rows_failed.get():
            yield self.finding(
                (f"{place}.rows_failed",),
                variant="worn",
                severity=Severity.WARNING if working_gpu_devices(facts) else None,  # it works for now
                remedies=(SERVICE,),
                gpu=name,
            )
        elif pending:
            yield self.finding(
                (f"{place}.{pending[0]}", f"{place}.ecc_uncorrected"),
                variant="pending",
                severity=Severity.WARNING,
                remedies=(RESET,),
                gpu=name,
            )
        elif count:
            yield self.finding(
                (f"{place}.ecc_uncorrected",),
                variant="counted",
                severity=Severity.WARNING,
                remedies=(SERVICE,),
                gpu=name,
                count=count,
            )
    if not known and facts.driver.kernel_events.get() is None:
        facts.tensorflow.events.require()


def _hardware(event: LogEvent) -> int | None:
    """Return the number of a fault of the hardware; 45 names the Xid from which it comes."""
    number = int(event.parameters.get("xid", "0"))
    if number == FROM_OTHER:
        words = event.parameters.get("detail", "").rpartition("previous Xid ")[2].split()
        number = (
            int(words[0]) if words and words[0].isdecimal() and "previous Xid" in event.parameters["detail"] else number
        )
    return number if number in HARDWARE else None
