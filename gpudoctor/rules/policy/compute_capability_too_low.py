"""compute-capability-too-low."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Severity
from gpudoctor.rules.gpu._code import capability_of
from gpudoctor.rules.policy._asked import GPU_NEEDS, another_machine, is_hidden, name_of
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "min_compute_capability"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{gpu} has compute capability {have}, and the policy asks for {need}",
)
def compute_capability_too_low(self: Rule, _: Facts, gpu: Gpu, asked: str) -> Iterator[Draft]:
    """A GPU has a lower compute capability than the policy asks for.

    Why it matters: what needs the newer generation (mixed precision on tensor cores from 7.0, bfloat16 from 8.0) is
    slow or fails.
    How to fix: use a machine with a newer GPU, or hide this GPU by CUDA_VISIBLE_DEVICES.
    """
    if is_hidden(gpu):
        return
    have, evidence = capability_of(gpu)
    if compat.capability(have) < compat.capability(asked):
        yield self.finding(evidence, remedies=(another_machine(KEY),), gpu=name_of(gpu), have=have, need=asked)
