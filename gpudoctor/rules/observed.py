"""What was seen to work. An observation outweighs every table: a GPU that computes is not too old."""

from __future__ import annotations

from gpudoctor.facts.model import Computation, Device, Facts, Known, LogEvent


def computed_on(facts: Facts) -> dict[str, bool]:
    """Return for each device that TensorFlow computed on (GPU:0, CPU:0) whether all results were right."""
    results: dict[str, bool] = {}
    match facts.tensorflow.computations:
        case Known(value=computations):
            for item in computations:
                results[item.device] = results.get(item.device, True) and item.correct is True
    return results


def gpu_index_of(facts: Facts, device: Device) -> int | None:
    """Return which of Facts.gpus a TensorFlow device is: by PCI address, else by a GPU that nothing else fits."""
    for index, gpu in enumerate(facts.gpus):
        if device.pci_address is not None and gpu.pci_address.get() == device.pci_address:
            return index
    if device.pci_address is None and len(facts.gpus) == 1:
        return 0
    alike = [
        index
        for index, gpu in enumerate(facts.gpus)
        if device.compute_capability is not None and gpu.compute_capability.get() == device.compute_capability
    ]
    return alike[0] if device.pci_address is None and len(alike) == 1 else None


def working_gpu_devices(facts: Facts) -> tuple[Device, ...]:
    """Return the GPU devices on which every computation was right."""
    results = computed_on(facts)
    devices = facts.tensorflow.devices.get() or ()
    return tuple(device for device in devices if device.kind == "GPU" and results.get(device.name, False))


def seen_gpu_devices(facts: Facts) -> tuple[Device, ...]:
    """Return the GPUs that TensorFlow lists or made a device of, whether or not it computed on them."""
    return tuple(device for device in facts.tensorflow.devices.get() or () if device.kind == "GPU")


def working_gpus(facts: Facts) -> frozenset[int]:
    """Return the indices in Facts.gpus of GPUs that were seen to compute."""
    indices = (gpu_index_of(facts, device) for device in working_gpu_devices(facts))
    return frozenset(index for index in indices if index is not None)


def failed_computations(facts: Facts) -> tuple[Computation, ...]:
    """Return the computations that raised or gave wrong numbers."""
    return tuple(item for item in facts.tensorflow.computations.get() or () if item.correct is not True)


def failed_operations(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what a log tells of operations that failed; what people say of their program is not among it.

    What makes a GPU unusable is left out: it has become a fact, which a later line may have mended.
    """
    told = facts.tensorflow.events.get()
    if not told:
        return ()
    from gpudoctor.logs.message import EventKind
    from gpudoctor.logs.messages import MESSAGES

    rows = {row.id for row in MESSAGES if row.kind is EventKind.OPERATION_FAILED and row.printed_by != "a person"}
    return tuple(event for event in told if event.message in rows)
