"""gpu-works."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Device, Facts, FactUnavailable
from gpudoctor.findings import Confidence, Severity
from gpudoctor.rules.observed import seen_gpu_devices, working_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.NOTE,
    message="TensorFlow {version} computes on {devices}: a matrix product and a convolution gave the right numbers",
    variants={
        "made": "TensorFlow took {devices}",
        "listed": "TensorFlow lists {devices}",
    },
)
def gpu_works(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow uses the GPU: a small computation on it gave the right numbers.

    Why it matters: this is shown, not concluded from versions; it outweighs every table.
    How to fix: nothing to fix. Whether the GPU is used well is another question: see the rules about speed.
    """
    if facts.tensorflow.run.get() is None and (listed := seen_gpu_devices(facts)):
        yield from _from_log(self, facts, listed)
        return
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


# After these a device that was made does not work.
FAILED = ("no-kernel-image", "invalid-kernel-image", "invalid-ptx", "driver-insufficient", "cudnn-runtime-too-old",
          "out-of-memory", "cudnn-handle", "cublas-handle", "gpu-lost")  # fmt: skip
# Errors of CUDA after which TensorFlow goes on: it asks for less memory, or leaves out what the GPU does not offer.
PASSING = ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_NO_DEVICE", "")


def _from_log(self: Rule, facts: Facts, listed: tuple[Device, ...]) -> Iterator[Draft]:
    """Find that a log lists the GPU, or makes a device of it."""
    errors = (event.parameters.get("error", "") for event in events(facts, "cuda-error"))
    if events(facts, *FAILED) or any(error not in PASSING for error in errors):
        raise FactUnavailable("the GPU is listed, and an operation on it failed")
    made = events(facts, "created-device", "loaded-cudnn", "xla-compiled", "tensor-float-32")
    names = [f"{item.name} ({item.description})" if item.description else item.name for item in listed]
    yield self.finding(
        ("tensorflow.devices", *seen(made[:1])),
        variant="made" if made else "listed",
        confidence=Confidence.CERTAIN if made else Confidence.LIKELY,
        devices=", ".join(names),
    )
