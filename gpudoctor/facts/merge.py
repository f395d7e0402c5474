"""Brings together what several sources say of the same driver and the same GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from gpudoctor.facts.model import (
    NOT_READ,
    Absent,
    Api,
    DriverFacts,
    Fact,
    Gpu,
    Known,
    PciDevice,
    Unknown,
)

T = TypeVar("T")
# Bound to it, a GPU is set aside for a virtual machine.
PASSED_THROUGH = "vfio-pci"
IDENTITY = ("pci_address", "uuid")


def merge(first: Fact[T], *others: Fact[T]) -> Fact[T]:
    """Return the first known value; what the others say otherwise is kept beside it. Sources come best first."""
    known = [fact for fact in (first, *others) if isinstance(fact, Known)]
    if known:
        best = known[0]
        also = tuple((fact.value, fact.source) for fact in known[1:] if fact.value != best.value)
        return replace(best, also=best.also + also) if also else best
    absent = [fact for fact in (first, *others) if isinstance(fact, Absent)]
    if absent:
        return absent[0]
    read = [fact for fact in (first, *others) if isinstance(fact, Unknown) and fact.reason != NOT_READ]
    return read[0] if read else first


def merge_drivers(files: DriverFacts, nvml: DriverFacts, libcuda: DriverFacts) -> DriverFacts:
    """Return the driver's facts; each source fills its own fields, and version numbers are compared."""
    merged = {
        name: merge(getattr(nvml, name), getattr(libcuda, name), getattr(files, name))
        for name in DriverFacts.__struct_fields__
    }
    # What CUDA programs get is what libcuda says: a compat library serves more than the driver itself.
    merged["cuda_version"] = merge(libcuda.cuda_version, nvml.cuda_version)
    return DriverFacts(**merged)


def merge_gpus(nvml: Sequence[Gpu], libcuda: Sequence[Gpu], pci: Iterable[PciDevice], driver: DriverFacts) -> list[Gpu]:
    """Return one list of GPUs in the order of NVML (PCI order).

    The PCI bus adds GPUs only where the driver itself tells none: a container sees the whole machine's bus.
    """
    gpus = list(nvml)
    for ordinal, seen in enumerate(libcuda):
        index = _find(gpus, seen, ordinal)
        if index is None:
            gpus.append(seen)
        else:
            gpus[index] = _join(gpus[index], seen)
    started = any(
        answer is not None and answer.outcome is Api.OK for answer in (driver.nvml.get(), driver.cuda_init.get())
    )
    if not started:
        for device in pci:
            if device.driver == PASSED_THROUGH:
                continue
            seen = Gpu(pci_address=Known(device.address, "PCI bus"), pci_id=Known(device.device_id, "PCI bus"))
            index = _find(gpus, seen, None)
            if index is None:
                gpus.append(seen)
            else:
                gpus[index] = _join(gpus[index], seen)
    return [_with_visibility(gpu, libcuda, driver) for gpu in gpus]


def _find(gpus: Sequence[Gpu], seen: Gpu, ordinal: int | None) -> int | None:
    """Return which GPU this is: by PCI address, then UUID, then name and ordinal where one side has neither."""
    for field in IDENTITY:
        value = getattr(seen, field).get()
        for index, gpu in enumerate(gpus):
            if value is not None and getattr(gpu, field).get() == value:
                return index
    if ordinal is None or ordinal >= len(gpus) or any(getattr(seen, field).get() for field in IDENTITY):
        return None
    name = seen.name.get()
    return ordinal if name is not None and gpus[ordinal].name.get() == name else None


def _join(one: Gpu, other: Gpu) -> Gpu:
    merged = {name: merge(getattr(one, name), getattr(other, name)) for name in Gpu.__struct_fields__}
    # NVML counts memory that the driver keeps for itself, libcuda does not: no contradiction.
    merged["memory_total_bytes"] = (
        one.memory_total_bytes if isinstance(one.memory_total_bytes, Known) else (other.memory_total_bytes)
    )
    return Gpu(**merged)


def _with_visibility(gpu: Gpu, libcuda: Sequence[Gpu], driver: DriverFacts) -> Gpu:
    """Fill in that CUDA does not see a GPU which it did not list though it told how many there are."""
    if isinstance(gpu.visible, Known) or not isinstance(driver.cuda_device_count, Known):
        return gpu
    told = all(any(getattr(seen, field).get() for field in IDENTITY) for seen in libcuda)
    return replace(gpu, visible=Known(False, driver.cuda_device_count.source)) if told else gpu
