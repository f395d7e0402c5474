"""too-many-gpu-processes."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, FactUnavailable, Gpu
from gpudoctor.findings import Severity
from gpudoctor.processes.classify import unlisted_bytes
from gpudoctor.processes.sizes import size_text
from gpudoctor.rules.memory._state import compute_processes
from gpudoctor.rules.memory.competing_gpu_process import CHOOSE
from gpudoctor.rules.policy._asked import GPU_NEEDS, is_hidden, name_of
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

KEY = "max_gpu_processes"


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    asks=KEY,
    needs=GPU_NEEDS,
    message="{count} processes compute on {gpu} ({who}), and the policy allows {allowed}",
)
def too_many_gpu_processes(self: Rule, _: Facts, gpu: Gpu, asked: int) -> Iterator[Draft]:
    """More processes compute on a GPU than the policy allows.

    Why it matters: they share its speed and memory; a training beside them is slow or ends out of memory.
    How to fix: wait for them, end them if they are yours, or use another GPU.
    """
    if is_hidden(gpu):
        return
    gpu.processes.require()
    found = {item.pid: item for item in compute_processes(gpu)}
    if len(found) > asked:
        yield self.finding(
            ("gpu.processes",),
            remedies=(CHOOSE,),
            gpu=name_of(gpu),
            count=len(found),
            allowed=asked,
            who=", ".join(f"{item.name or 'a process'} (pid {item.pid})" for item in list(found.values())[:4]),
        )
    elif rest := unlisted_bytes(gpu):
        raise FactUnavailable(f"{size_text(rest)} of its memory is held by something that cannot be seen from here")
