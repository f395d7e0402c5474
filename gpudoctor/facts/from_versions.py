"""Versions of the driver's parts, and TensorFlow's package, as messages tell them."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.facts.from_places import nvml_answer
from gpudoctor.facts.model import LibcudaKind, LogEvent
from gpudoctor.logs.seen import Seen

NVML_MISMATCH = 18


def preloads(seen: Seen, _: LogEvent, at: str) -> None:
    """Take a TensorFlow that looks for the CUDA runtime at its import for one of the package for GPUs."""
    seen.note("tensorflow.cuda_build", True, at)
    seen.note("tensorflow.distribution", "tensorflow-gpu", at)


def mismatch(seen: Seen, event: LogEvent, at: str) -> None:
    """Note the versions of kernel module and libcuda that TensorFlow found to differ."""
    for key, path in (("kernel", "driver.kernel_module_version"), ("library", "driver.libcuda_version")):
        if key in event.parameters:
            _version(seen, path, event.parameters[key].rstrip("."), at)
    if seen.value("driver.libcuda_kind") is None and not seen.value("host.container"):
        seen.note("driver.libcuda_kind", LibcudaKind.DRIVER, at)


def api_mismatch(seen: Seen, event: LogEvent, at: str) -> None:
    """Note the versions of kernel module and libraries that the module itself found to differ."""
    seen.note("driver.nvml", nvml_answer(NVML_MISMATCH), at)
    if "library" in event.parameters:
        _version(seen, "driver.nvml_version", event.parameters["library"], at)
    if "kernel" in event.parameters:
        _version(seen, "driver.kernel_module_version", event.parameters["kernel"], at)


def _version(seen: Seen, path: str, version: str, at: str) -> None:
    """Note a driver version, unless the same is known in other digits: TensorFlow writes 384.130.0 for 384.130."""
    known = seen.value(path)
    if not isinstance(known, str) or _plain(known) != _plain(version):
        seen.note(path, version, at)


def _plain(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".") if part.isdecimal()]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def reported(path: str) -> Callable[[Seen, LogEvent, str], None]:
    """Return what notes a version that a message reports, as this fact."""

    def note(seen: Seen, event: LogEvent, at: str) -> None:
        _version(seen, path, event.parameters["version"].rstrip("."), at)
        if path == "driver.kernel_module_version" and seen.value("driver.version") is None:
            seen.note("driver.version", event.parameters["version"].rstrip("."), at)

    return note
