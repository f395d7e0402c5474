"""persistence-mode-off."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, Known, ProcessKind
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule

SWITCH_ON = Remedy(
    summary="Let the driver keep the GPUs ready, on the host: by its daemon for good, or until the next restart.",
    commands=("sudo systemctl enable --now nvidia-persistenced", "sudo nvidia-smi -pm 1"),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.NOTE,
    message="persistence mode is off on a machine without a display: the driver starts its GPUs anew for each program, "
    "which takes seconds",
)
def persistence_mode_off(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The driver lets its GPUs go whenever no program uses them.

    Why it matters: without a display nothing keeps the driver's state; each first program waits some seconds for each
    GPU, and settings like power limits are lost.
    How to fix: start nvidia-persistenced. On a laptop leave it off: it costs battery.
    """
    if facts.host.os.get() != "linux" or isinstance(facts.host.wsl, Known):
        return
    if facts.gpus and all(gpu.persistence.get() is None for gpu in facts.gpus):
        facts.gpus[0].persistence.require()
    off = [index for index, gpu in enumerate(facts.gpus) if gpu.persistence.get() is False]
    shows = any(gpu.display_active.get() is not False for gpu in facts.gpus)
    drawn = any(item.kind is ProcessKind.GRAPHICS for gpu in facts.gpus for item in gpu.processes.get() or ())
    if not off or shows or drawn:
        return
    if isinstance(facts.host.power_source, Known):
        return  # it has a battery: a laptop, whose display hangs on another GPU
    if not isinstance(facts.host.power_source, Absent):
        facts.host.power_source.require()
    yield self.finding(
        (*(f"gpus[{index}].persistence" for index in off[:2]), f"gpus[{off[0]}].display_active"),
        remedies=(SWITCH_ON,),
    )
