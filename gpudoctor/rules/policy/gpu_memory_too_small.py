"""gpu-memory-too-small."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Severity
from gpudoctor.rules.memory._state import gib
from gpudoctor.rules.policy._asked import GPU_NEEDS, another_machine, is_hidden, name_of
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "min_memory"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{gpu} has {have} of memory, and the policy asks for {need}",
)
def gpu_memory_too_small(self: Rule, _: Facts, gpu: Gpu, asked: int) -> Iterator[Draft]:
    """A GPU has less memory than the policy asks for.

    Why it matters: a model or batch that was planned for more memory ends out of memory, perhaps after hours.
    How to fix: use a machine with a larger GPU, or hide this GPU by CUDA_VISIBLE_DEVICES.
    """
    if is_hidden(gpu):
        return
    have = gpu.memory_total_bytes.require()
    if have < asked:
        yield self.finding(
            ("gpu.memory_total_bytes",),
            remedies=(another_machine(KEY),),
            gpu=name_of(gpu),
            have=gib(have),
            need=gib(asked),
        )
