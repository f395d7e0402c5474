"""gpu-hidden-by-env."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "CUDA_VISIBLE_DEVICES"


@rule(
    Severity.ERROR,
    breaks=Capability.VISIBLE,
    needs=(Capability.KERNEL_DRIVER, Capability.USER_DRIVER),
    message="CUDA_VISIBLE_DEVICES={value} hides every GPU of this machine from CUDA programs",
    variants={"unset": "CUDA_VISIBLE_DEVICES is empty, which hides every GPU of this machine from CUDA programs"},
)
def gpu_hidden_by_env(self: Rule, facts: Facts) -> Iterator[Draft]:
    """An environment variable hides every GPU.

    Why it matters: CUDA shows a program only the GPUs that CUDA_VISIBLE_DEVICES names, up to the first that does not
    exist. An empty value, -1 or a number that is too high leaves none, and TensorFlow runs on the CPU.
    How to fix: unset the variable, or name a GPU that exists (numbers count from 0; a UUID is safer). In a script, look
    for os.environ["CUDA_VISIBLE_DEVICES"]; under Slurm, ask for a GPU.
    """
    value = (facts.python.environment.require()).get(VARIABLE)
    if value is None:
        return
    visible = facts.driver.cuda_device_count.require()
    there = facts.driver.cuda_device_count_unmasked.get() or facts.driver.nvml_device_count.get() or 0
    if visible > 0 or there == 0:
        return
    yield self.finding(
        (f"python.environment[{VARIABLE}]", "driver.cuda_device_count", "driver.cuda_device_count_unmasked",
         "driver.nvml_device_count"),
        variant=None if value.strip() else "unset",
        remedies=(
            Remedy(
                summary="Unset the variable for this shell.",
                commands=(f"unset {VARIABLE}",),
                applicability=Applicability.SAFE,
            ),
        ),
        value=value,
    )  # fmt: skip
