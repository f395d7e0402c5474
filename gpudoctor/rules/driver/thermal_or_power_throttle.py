"""thermal-or-power-throttle."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, FactUnavailable, Gpu
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.speed._told import said

# NVML's clocks event reasons. A power cap alone at full load is how every GPU works.
HEAT = ("hw-thermal-slowdown", "sw-thermal-slowdown")
POWER = ("hw-power-brake", "hw-slowdown")
BUSY_PERCENT = 20
HOT_CELSIUS = 75
COOL = Remedy(
    summary="Look at fans, dust, airflow and the room; watch temperature, clocks and reasons while it trains.",
    commands=("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER,CLOCK", "nvidia-smi dmon -s puc"),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    scope=Scope.GPU_OR_WORDS,
    message="heat holds down the clocks of {gpu} ({reasons}; {celsius})",
    variants={
        "power": "power or its supply holds down the clocks of {gpu} ({reasons})",
        "said": "heat is said to slow the GPU down",
    },
)
def thermal_or_power_throttle(self: Rule, facts: Facts, gpu: Gpu | None) -> Iterator[Draft]:
    """Heat or a lack of power holds down the clocks of the GPU.

    Why it matters: the GPU computes at a part of its speed, and gets slower as a training goes on.
    How to fix: mend the cooling or the power supply. A cap on power alone, at full load, is normal.
    """
    words = said(facts, "said-throttled")
    if words and (gpu is None or (gpu is facts.gpus[0] and gpu.throttle_reasons.get() is None)):
        yield self.finding(seen(words), variant="said", confidence=Confidence.LIKELY, remedies=(COOL,))
    if gpu is None:
        if not words:
            raise FactUnavailable("no GPU is known")
        return
    reasons = gpu.throttle_reasons.require()
    heat = [reason for reason in reasons if reason in HEAT]
    power = [reason for reason in reasons if reason in POWER]
    # What a battery does not give has a rule of its own: gpu-held-down-on-battery.
    if not heat and (not power or facts.host.power_source.get() == "battery"):
        return
    load, celsius = gpu.utilization_percent.get(), gpu.temperature_celsius.get()
    # Without load the clocks do not matter; hw-slowdown then is how some laptops save power.
    if (load is not None and load < BUSY_PERCENT) and not (heat and celsius is not None and celsius >= HOT_CELSIUS):
        return
    yield self.finding(
        ("gpu.throttle_reasons", "gpu.temperature_celsius", "gpu.utilization_percent", "gpu.clock_sm_mhz",
         "gpu.clock_sm_max_mhz"),
        variant=None if heat else "power",
        # What another program's GPU goes through is worth a word, no more.
        severity=Severity.NOTE if is_hidden(gpu) else None,
        confidence=Confidence.CERTAIN if load is not None else Confidence.LIKELY,
        remedies=(COOL,),
        gpu=gpu.name.get() or "the GPU",
        reasons=", ".join(heat or power),
        celsius=f"{celsius} °C" if celsius is not None else "temperature unknown",
    )  # fmt: skip
