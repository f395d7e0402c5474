"""gpu-name-not-allowed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Severity
from gpudoctor.rules.policy._asked import GPU_NEEDS, another_machine, is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "gpu_name"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{gpu} is none of the GPUs that the policy allows: {allowed}",
)
def gpu_name_not_allowed(self: Rule, _: Facts, gpu: Gpu, asked: tuple[str, ...]) -> Iterator[Draft]:
    """A GPU is of a model that the policy does not allow.

    Why it matters: a training was planned for another GPU: its memory, speed and precision may not fit.
    How to fix: use a machine with such a GPU, or hide this GPU by CUDA_VISIBLE_DEVICES.
    """
    if is_hidden(gpu):
        return
    name = gpu.name.require()
    if not any(part.casefold() in name.casefold() for part in asked):
        yield self.finding(("gpu.name",), remedies=(another_machine(KEY),), gpu=name, allowed=", ".join(asked))
