"""no-mixed-precision."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._training import COMPUTE_BOUND, limit, measured

TENSOR_CORES = (7, 0)


@rule(
    Severity.NOTE,
    message="the model computes in float32 on a GPU with tensor cores (compute capability {capability}), which are "
    "faster in 16 bits",
)
def no_mixed_precision(self: Rule, facts: Facts) -> Iterator[Draft]:
    """A GPU with tensor cores computes in float32.

    Why it matters: in mixed precision it computes up to several times as fast and needs half the memory.
    How to fix: set the policy mixed_float16 before the model is built, and keep the last layer in float32. It brings
    nothing where the model waits for data, and on GPUs below compute capability 7.0.
    """
    training = measured(facts)
    if training.device.require() != "gpu" or training.precision.require() != "float32" or limit(facts) != COMPUTE_BOUND:
        return
    capabilities = [gpu.compute_capability.get() for gpu in facts.gpus]
    first = next((text for text in capabilities if text is not None), None)
    if first is None or tuple(map(int, first.split("."))) < TENSOR_CORES:
        return
    remedy = Remedy(
        summary="Call tf.keras.mixed_precision.set_global_policy('mixed_float16') before building the model, and give "
        "the last layer dtype='float32'."
    )
    yield self.finding(
        ("training.precision", "training.limit", "gpus[0].compute_capability"), remedies=(remedy,), capability=first
    )
