"""gpu-memory-not-free."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, FactUnavailable, Gpu
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.processes.sizes import size_text
from gpudoctor.rules.memory._state import gib
from gpudoctor.rules.policy._asked import GPU_NEEDS, is_hidden, name_of
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "min_free_memory"
FREE = Remedy(
    summary="Wait for the processes that hold the memory, end them if they are yours, or use another GPU.",
    commands=("nvidia-smi", "export CUDA_VISIBLE_DEVICES=NUMBER-OF-A-FREE-GPU"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{gpu} has {have} of memory free, and the policy asks for {need}; {who}",
)
def gpu_memory_not_free(self: Rule, _: Facts, gpu: Gpu, asked: int) -> Iterator[Draft]:
    """Less memory of a GPU is free than the policy asks for.

    Why it matters: TensorFlow takes what is left and ends out of memory when the model needs more.
    How to fix: wait for or end the processes that hold the memory, or use another GPU.
    """
    if is_hidden(gpu):
        return
    if gpu.mig.get():
        raise FactUnavailable("it is split into MIG instances, and how much memory of each is free is not read")
    have = gpu.memory_free_bytes.require()
    if have >= asked:
        return
    held = [item for item in gpu.processes.get() or () if item.memory_bytes]
    held.sort(key=lambda item: -(item.memory_bytes or 0))
    who = ", ".join(f"{item.name or 'a process'} (pid {item.pid}, {size_text(item.memory_bytes)})" for item in held[:4])
    yield self.finding(
        ("gpu.memory_free_bytes", "gpu.memory_total_bytes", "gpu.processes"),
        remedies=(FREE,),
        gpu=name_of(gpu),
        have=gib(have),
        need=gib(asked),
        who=f"it is held by {who}" if who else "who holds the rest is not known",
    )
