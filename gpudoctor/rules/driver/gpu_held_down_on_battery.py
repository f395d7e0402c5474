"""gpu-held-down-on-battery."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

BATTERY = "battery"
# NVML's clocks event reasons that a lack of power has; a cap on power alone is normal while the clocks stay high.
BRAKES, CAP = ("hw-power-brake", "hw-slowdown"), "sw-power-cap"
BUSY_PERCENT = 20
LOW_CLOCK = 0.7
PLUG_IN = Remedy(
    summary="Plug the power supply in, one with the wattage that the maker names, and choose the performance profile.",
    commands=("powerprofilesctl set performance", "nvidia-smi -q -d PERFORMANCE,CLOCK,POWER"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    scope=Scope.GPU,
    message="the machine runs on its battery, which holds down the clocks of {gpu} ({reasons}; {clock})",
)
def gpu_held_down_on_battery(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """A laptop on its battery holds down the clocks of its GPU, which is at work.

    Why it matters: a battery gives a part of the power that the GPU needs; it computes at a half of its speed or less.
    How to fix: plug the power supply in. Where it is plugged in and this still shows, it is too weak or broken.
    """
    reasons, load = gpu.throttle_reasons.require(), gpu.utilization_percent.require()
    clock, most = gpu.clock_sm_mhz.get(), gpu.clock_sm_max_mhz.get()
    low = clock is not None and bool(most) and clock < LOW_CLOCK * (most or 0)
    held = [reason for reason in reasons if reason in BRAKES or (reason == CAP and low)]
    if load < BUSY_PERCENT or not held or is_hidden(gpu) or facts.host.power_source.require() != BATTERY:
        return
    yield self.finding(
        ("host.power_source", "gpu.throttle_reasons", "gpu.utilization_percent", "gpu.clock_sm_mhz",
         "gpu.clock_sm_max_mhz"),
        remedies=(PLUG_IN,),
        gpu=gpu.name.get() or "the GPU",
        reasons=", ".join(held),
        clock=f"{clock} of {most} MHz" if clock is not None and most else "clock not known",
    )  # fmt: skip
