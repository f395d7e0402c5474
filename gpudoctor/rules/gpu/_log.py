"""What a log says of a GPU's code."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, FactUnavailable, Gpu, LogEvent
from gpudoctor.rules.gpu._code import capability_of

# Compute capability of the first GPUs for which no published wheel has code that runs (Blackwell).
NEWER_THAN_ALL = "10.0"


def of_gpu(found: tuple[LogEvent, ...], facts: Facts, gpu: Gpu) -> tuple[LogEvent, ...]:
    """Return the events that are of this GPU: they name it, or it is the first of those that nothing tells apart."""
    address, name = gpu.pci_address.get(), gpu.name.get()
    kept = []
    for event in found:
        told, named = event.parameters.get("pci_address"), event.parameters.get("gpu_name")
        same = (told and address and told.lower().endswith(address[-10:])) or (named and named.strip() == name)
        if same or (not told and not named and gpu is facts.gpus[0]):
            kept.append(event)
    return tuple(kept)


def is_newer_than_build(facts: Facts, gpu: Gpu) -> bool:
    """Whether the GPU is of a newer generation than the build carries code for."""
    try:
        cc, _ = capability_of(gpu)
    except FactUnavailable:
        return False
    carried = facts.tensorflow.compute_capabilities.get() or ()
    newest = max((compat.capability(entry) for entry in carried), default=compat.capability(NEWER_THAN_ALL))
    return compat.capability(cc) > newest or compat.capability(cc) >= compat.capability(NEWER_THAN_ALL)


def newest_of_runtime(facts: Facts) -> str | None:
    """Return the newest compute capability that the CUDA release in use has code for; None where it is not known."""
    cuda = facts.tensorflow.built_with_cuda.get()
    if cuda is None:
        return None
    try:
        return compat.highest_capability(cuda)[0]
    except compat.NotCovered:
        return None
