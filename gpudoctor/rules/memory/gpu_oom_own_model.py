"""gpu-oom-own-model."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.memory._state import by_small_computation, out_of_memory
from gpudoctor.rules.memory.gpu_oom_competing_process import others_hold_it
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

LESS = Remedy(
    summary="Halve the batch size until it fits; then a smaller input or sequence length, mixed precision, or gradient "
    "accumulation for the same effective batch. Look first that nothing else holds the GPU's memory.",
    commands=("nvidia-smi",),
    applicability=Applicability.MANUAL,
)
HANDLES = ("cudnn-handle", "cublas-handle")


@rule(
    Severity.ERROR,
    breaks=Capability.MEMORY,
    needs=(Capability.KERNELS, Capability.USER_DRIVER),
    message="the model needs more memory than the GPU has: {what} could not be allocated",
    variants={
        "small": "the GPU has no memory even for a small computation ({what}), though nobody else is seen to hold it",
        "said": "the model, or its batch, is said to need more memory than the GPU has",
    },
)
def gpu_oom_own_model(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The program's own demand exceeds the memory of the GPU.

    Why it matters: the training stops with a resource-exhausted error, at the first step or at a larger batch.
    How to fix: a smaller batch, smaller inputs, mixed precision, gradient accumulation; or a GPU with more memory.
    """
    told = out_of_memory(facts)
    said = events(facts, "said-out-of-memory")
    if not told and said and not others_hold_it(facts) and not events(facts, *HANDLES):
        yield self.finding(
            (*seen(said), "training.batch_size"), variant="said", confidence=Confidence.POSSIBLE, remedies=(LESS,)
        )
        return
    if not told:
        facts.tensorflow.events.require()
        return
    if others_hold_it(facts) or events(facts, *HANDLES):
        return
    # The driver's refusal at the start alone is followed by a smaller try, often a successful one.
    tensor = tuple(event for event in told if "shape" in event.parameters or "bytes" in event.parameters)
    only_at_start = all("size" in event.parameters for event in told)
    shape = next((event.parameters["shape"] for event in told if "shape" in event.parameters), "")
    size = next((event.parameters[key] for event in told for key in ("wanted", "size") if key in event.parameters), "")
    yield self.finding(
        (*seen(tensor or told), "training.batch_size"),
        variant="small" if by_small_computation(facts) else None,
        severity=Severity.WARNING if only_at_start else None,
        confidence=Confidence.LIKELY,
        remedies=(LESS,),
        what=f"a tensor of shape [{shape}]" if shape else size or "a tensor",
    )
