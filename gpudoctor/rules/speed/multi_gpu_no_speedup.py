"""multi-gpu-no-speedup."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said

# With every GPU its own batch a step takes hardly longer; with a shared one it gets shorter.
LONGER = 1.5
# Where both tell how many steps an epoch has, its whole time counts, whatever batch the steps have.
AS_LONG = 0.95
SHARE_OUT = Remedy(
    summary="Put the whole step into one tf.function with strategy.run inside, give every replica a batch of its own "
    "(a larger global batch), look at the link between the GPUs (nvidia-smi topo -m) and at the input, which has to "
    "feed all. Between machines the network decides: small models seldom gain over Ethernet of 10 Gbit/s or less.",
    commands=("nvidia-smi topo -m",),
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="more GPUs make steps longer: {one} s with {few} GPU, {many} s with {more} GPUs",
    variants={
        "epoch": "{more} GPUs take as long for an epoch as {few}: {many_steps} steps of {many} s, against {one_steps} "
        "of {one} s",
        "said": "the training is said to be no faster, or slower, with more GPUs or machines",
    },
)
def multi_gpu_no_speedup(self: Rule, facts: Facts) -> Iterator[Draft]:
    """More GPUs bring no speed.

    Why it matters: the replicas run one after the other, or spend their time on exchanging gradients or on waiting.
    How to fix: a larger global batch, the whole step in one function, a faster link, an input that feeds all of them.
    """
    if isinstance(facts.training.limit, Known):
        return  # this machine was measured, with one GPU
    told = said(facts, "said-more-gpus-slower")
    known = facts.training.runs.get() if told else facts.training.runs.require()
    runs = sorted((run for run in known or () if run.gpus), key=lambda run: run.gpus or 0)
    if len(runs) < 2 or runs[0].gpus == runs[-1].gpus:  # noqa: PLR2004 (two make a comparison)
        if told:
            yield self.finding(seen(told), variant="said", confidence=Confidence.LIKELY, remedies=(SHARE_OUT,))
        return
    first, last = runs[0], runs[-1]
    if first.steps is not None and last.steps is not None:
        longer = last.steps * last.step_seconds >= AS_LONG * first.steps * first.step_seconds
    else:
        # The same batch for each GPU takes as long as before; a step that grows with the GPUs gains nothing.
        longer = last.step_seconds >= LONGER * first.step_seconds
    if not longer:
        return
    yield self.finding(
        ("training.runs",),
        variant=None if last.step_seconds >= LONGER * first.step_seconds else "epoch",
        confidence=Confidence.LIKELY,
        remedies=(SHARE_OUT,),
        one=round(first.step_seconds, 3),
        few=first.gpus or 1,
        many=round(last.step_seconds, 3),
        more=last.gpus or 2,
        one_steps=first.steps or 0,
        many_steps=last.steps or 0,
    )
