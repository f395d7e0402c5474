"""gpu-works."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, FactUnavailable
from gpudoctor.findings import Severity
from gpudoctor.rules.observed import working_gpu_devices
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.NOTE,
    message="TensorFlow {version} computes on {devices}: a matrix product and a convolution gave the right numbers",
)
def gpu_works(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow uses the GPU: a small computation on it gave the right numbers.

    Why it matters: this is shown, not concluded from versions; it outweighs every table.
    How to fix: nothing to fix. Whether the GPU is used well is another question: see the rules about speed.
    """
    facts.tensorflow.computations.require()
    working = working_gpu_devices(facts)
    if not working:
        raise FactUnavailable("TensorFlow computed on no GPU")
    names = [f"{item.name} ({item.description})" if item.description else item.name for item in working]
    yield self.finding(
        ("tensorflow.computations", "tensorflow.devices"),
        version=facts.tensorflow.version.get() or "",
        devices=", ".join(names),
    )
