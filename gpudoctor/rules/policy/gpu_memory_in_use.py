"""gpu-memory-in-use."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Severity
from gpudoctor.processes.sizes import size_text
from gpudoctor.rules.memory._held import held, who
from gpudoctor.rules.policy._asked import GPU_NEEDS, is_hidden, name_of
from gpudoctor.rules.policy.gpu_memory_not_free import FREE
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "max_used_memory"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{have} of the memory of {gpu} is in use, and the policy allows {allowed}; {who}",
)
def gpu_memory_in_use(self: Rule, _: Facts, gpu: Gpu, asked: int) -> Iterator[Draft]:
    """More memory of a GPU is in use than the policy allows.

    Why it matters: a benchmark or a training that is meant to have the GPU for itself would share it.
    How to fix: wait for or end the processes that hold the memory, or use another GPU.
    """
    if is_hidden(gpu):
        return
    have = gpu.memory_used_bytes.require()
    if have <= asked:
        return
    named = ""
    if gpu.processes.get() is not None and gpu.memory_total_bytes.get():
        named = who(held(gpu), gpu)
    yield self.finding(
        ("gpu.memory_used_bytes", "gpu.memory_total_bytes", "gpu.processes"),
        remedies=(FREE,),
        gpu=name_of(gpu),
        have=size_text(have),
        allowed=size_text(asked),
        who=f"it is held by {named}" if named else "who holds it is not known",
    )
