"""device-placement-or-soft-placement."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

SOFT = Remedy(
    summary="Let TensorFlow choose the device where the one that is named does not exist or has no kernel; put this "
    "line "
    "at the start of the program: tf.config.set_soft_device_placement(True). Where a GPU should be there, find out why "
    "it is not listed.",
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    needs=(
        Capability.KERNEL_DRIVER,
        Capability.USER_DRIVER,
        Capability.VISIBLE,
        Capability.CUDA_LIBS,
        Capability.CUDNN,
        Capability.DEVICE_INIT,
        Capability.KERNELS,
    ),
    message="the program pins an operation to {device}, which does not exist here or has no kernel for it",
)
def device_placement_or_soft_placement(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The program pins an operation to a device that does not exist, or that has no kernel for it.

    Why it matters: without soft placement the program ends there. With it the operation runs elsewhere, often
    unnoticed on the CPU.
    How to fix: name a device that tf.config.list_logical_devices() lists, or allow soft placement. If it should be a
    GPU, the reason why TensorFlow does not list it is the cause.
    """
    facts.tensorflow.events.require()
    found = events(facts, "placement-failed", "device-unknown", "devices-wanted", "cpu-layout")
    without = events(facts, "no-kernel-registered")
    found += tuple(event for event in without if not event.parameters.get("op", "").startswith("Nccl"))
    if found:
        device = found[0].parameters.get("device") or "a device"
        yield self.finding((*seen(found), "tensorflow.devices"), remedies=(SOFT,), device=_short(device))


def _short(device: str) -> str:
    """Return a device's name without the job it belongs to: GPU:0."""
    return device.rpartition("/device:")[2] or device
