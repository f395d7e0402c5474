"""gpu-too-hot."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Severity
from gpudoctor.rules.driver.thermal_or_power_throttle import COOL
from gpudoctor.rules.policy._asked import GPU_NEEDS, is_hidden, name_of
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "max_gpu_temperature"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{gpu} is at {have} °C, and the policy allows {allowed} °C",
)
def gpu_too_hot(self: Rule, _: Facts, gpu: Gpu, asked: int) -> Iterator[Draft]:
    """A GPU is hotter than the policy allows.

    Why it matters: hot before a training starts, it will hold down its clocks or switch off during it.
    How to fix: look at fans, dust and airflow; wait until what ran before has cooled down.
    """
    if is_hidden(gpu):
        return
    have = gpu.temperature_celsius.require()
    if have > asked:
        yield self.finding(
            ("gpu.temperature_celsius", "gpu.utilization_percent"),
            remedies=(COOL,),
            gpu=name_of(gpu),
            have=have,
            allowed=asked,
        )
