"""bar1-nearly-full."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule

MIB = 1 << 20
NEARLY_FULL = 0.9
WIDEN = Remedy(
    summary="End programs that the GPU no longer needs; in the firmware's settings, switch on Above 4G Decoding and "
    "Resizable BAR, which make the window as large as the GPU's memory.",
    commands=("nvidia-smi -q -d MEMORY",),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.NOTE,
    scope=Scope.GPU,
    message="{used} of {total} MiB of the BAR1 window of {gpu} are in use: what maps its memory next may fail",
)
def bar1_nearly_full(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The window through which others reach the memory of a GPU is nearly full.

    Why it matters: other GPUs and network cards reach the memory of a GPU through this window (BAR1). When it is full,
    they go through the computer's memory, or NCCL fails.
    How to fix: end programs that are not needed; switch on Above 4G Decoding and Resizable BAR in the firmware.
    """
    # One GPU alone has nobody who reaches through it.
    if sum(1 for item in facts.gpus if not is_hidden(item)) < 2 or is_hidden(gpu):  # noqa: PLR2004 (two)
        return
    used, total = gpu.bar1_used_bytes.require(), gpu.bar1_total_bytes.require()
    if total and used >= NEARLY_FULL * total:
        yield self.finding(
            ("gpu.bar1_used_bytes", "gpu.bar1_total_bytes"),
            remedies=(WIDEN,),
            gpu=gpu.name.get() or "the GPU",
            used=used // MIB,
            total=total // MIB,
        )
