"""Asks the driver through NVML, in a child: what nvidia-smi would show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import TypeVar

from msgspec.structs import replace

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, DriverFacts, Fact, Gpu, GpuProcess, Known, ProcessKind, Unknown
from gpudoctor.facts.probes import nvml_health
from gpudoctor.facts.probes.driver_answers import (
    FLAGS,
    MOST_BYTES,
    TIMEOUT_SECONDS,
    Answers,
    DriverAnswers,
    as_count,
    as_int,
    as_text,
    capability_text,
    cuda_version_text,
    program,
    version_in_name,
    within,
)
from gpudoctor.facts.probes.processes import Viewer

T = TypeVar("T")

WHO = "NVML"
NOT_SUPPORTED = 3
# nvml.h, nvmlReturn_t; the wording is ours.
MEANINGS = {
    1: "NVML was not started",
    NOT_SUPPORTED: "this GPU does not report it",
    4: "this user has no permission to ask for it",
    9: "the NVIDIA kernel module is not loaded",
    10: "the driver did not answer NVML in time",
    12: "NVML's library was not found",
    13: "the driver is too old to answer this question",
    14: "the GPU's information memory is corrupted",
    15: "the GPU is lost: it fell off the bus or can no longer be reached",
    16: "the GPU needs a reset before it can be used",
    17: "the operating system blocks access to the GPU",
    18: "the driver was upgraded, but the old kernel module is still loaded; a reboot is due",
    20: "NVML had not enough memory",
    28: "the GPU was not found",
    999: "the driver reports an unknown error",
}
# nvml.h, nvmlClocksEventReason*
THROTTLE_BITS = {
    0x1: "gpu-idle",
    0x2: "applications-clocks",
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal-slowdown",
    0x40: "hw-thermal-slowdown",
    0x80: "hw-power-brake",
    0x100: "display-clocks",
    0x200: "board-limit",
    0x400: "reliability",
}
# Beyond these a number is nonsense of a broken driver, whatever it is of: no GPU is near them.
THROTTLE_POSITIONS = 24
MOST_PERCENT = 100
MOST_CELSIUS = 200
MOST_LANES = 64
MOST_MHZ = 100_000
MOST_MW = 10_000_000
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
WHOLE_PERCENT = 100
DRIVER_MODELS = {0: "WDDM", 1: "TCC", 2: "MCDM"}


def probe(host: Host, timeout: float = TIMEOUT_SECONDS, *, thorough: bool = True) -> DriverAnswers:
    """Return what NVML tells; timeout in seconds for all of it; not thorough: without what takes many calls.

    Never raises.
    """
    request = {"nvidia_ml_py_dir": binding_folder(), "thorough": thorough}
    run = host.run_child(program("ask_nvml_health", "ask_nvml"), request, timeout=timeout, flags=FLAGS)
    answers = Answers(run, who=WHO, meanings=MEANINGS, started="NVML_SUCCESS", limit=timeout)
    viewer = Viewer(host)
    return DriverAnswers(_driver(answers), tuple(_gpu(answers, number, viewer) for number in answers.gpu_numbers()))


def binding_folder() -> str:
    """Return the folder that holds nvidia-ml-py's module, found without importing it; empty if it is not there."""
    spec = PathFinder.find_spec("pynvml")
    if spec is None or spec.origin is None:
        return ""
    folder = os.path.dirname(spec.origin)
    return os.path.dirname(folder) if spec.submodule_search_locations else folder


def _driver(answers: Answers) -> DriverFacts:
    library = as_text(answers.values.get("library")) or ""
    own_version = answers.fact("nvml_version", _without_cuda_major)
    if not isinstance(own_version, Known) and (in_name := version_in_name(library)):
        own_version = Known(in_name, "the file name of libnvidia-ml")
    return DriverFacts(
        nvml=answers.api(),
        version=answers.fact("driver_version", as_text),
        cuda_version=answers.fact("cuda_version", cuda_version_text),
        nvml_version=own_version,
        nvml_device_count=answers.fact("count", as_count),
        topology=nvml_health.topology(answers),
    )


def _without_cuda_major(value: object) -> str | None:
    """Return 535.183.01 for 12.535.183.01."""
    text = as_text(value)
    return re.sub(r"^\d{1,2}\.(?=\d{3,}\.)", "", text) if text else None


def _gpu(answers: Answers, number: int, viewer: Viewer) -> Gpu:
    prefix = f"gpu.{number}."
    handle = answers.values.get(prefix + "handle")
    return _not_asked(answers, handle) if isinstance(handle, dict) else _asked(answers, prefix, viewer)


def _not_asked(answers: Answers, handle: dict[str, object]) -> Gpu:
    """Return a GPU that is counted but cannot be asked: each of its facts is unknown for this one reason."""
    unknown = Unknown(answers.meaning(handle))
    return replace(Gpu(**dict.fromkeys(Gpu.__struct_fields__, unknown)), fault=nvml_health.fault(handle, unknown))


class _OfOne:
    """The answers of one GPU, whose keys begin with a prefix."""

    def __init__(self, answers: Answers, prefix: str) -> None:
        self._answers = answers
        self._prefix = prefix

    def fact(self, key: str, read: Callable[[object], T | None]) -> Fact[T]:
        return self._answers.fact(self._prefix + key, read)

    def integer(self, key: str, most: int) -> Fact[int]:
        return self.fact(key, lambda value: within(value, most))

    def field(self, key: str, name: str, most: int) -> Fact[int]:
        return self.fact(key, lambda value: within(value[name], most) if isinstance(value, dict) else None)

    def flag(self, key: str) -> Fact[bool]:
        return self.fact(key, _flag)


def _asked(answers: Answers, prefix: str, viewer: Viewer) -> Gpu:
    """Return what the driver answers of one GPU, whose keys begin with a prefix."""
    of_gpu = _OfOne(answers, prefix)
    return Gpu(
        name=of_gpu.fact("name", as_text),
        uuid=of_gpu.fact("uuid", as_text),
        pci_address=of_gpu.fact("pci", _pci_address),
        pci_id=of_gpu.fact("pci", _pci_id),
        compute_capability=of_gpu.fact("compute_capability", _capability),
        memory_total_bytes=of_gpu.field("memory", "total", MOST_BYTES),
        memory_used_bytes=of_gpu.field("memory", "used", MOST_BYTES),
        memory_free_bytes=of_gpu.field("memory", "free", MOST_BYTES),
        utilization_percent=of_gpu.field("utilization", "gpu", MOST_PERCENT),
        temperature_celsius=of_gpu.integer("temperature_celsius", MOST_CELSIUS),
        power_mw=of_gpu.integer("power_mw", MOST_MW),
        power_limit_mw=of_gpu.integer("power_limit_mw", MOST_MW),
        clock_sm_mhz=of_gpu.integer("clock_sm_mhz", MOST_MHZ),
        clock_sm_max_mhz=of_gpu.integer("clock_sm_max_mhz", MOST_MHZ),
        throttle_reasons=of_gpu.fact("throttle", _throttle_reasons),
        pcie_generation=of_gpu.integer("pcie_generation", MOST_LANES),
        pcie_generation_max=of_gpu.integer("pcie_generation_max", MOST_LANES),
        pcie_width=of_gpu.integer("pcie_width", MOST_LANES),
        pcie_width_max=of_gpu.integer("pcie_width_max", MOST_LANES),
        ecc=of_gpu.flag("ecc"),
        mig=of_gpu.flag("mig"),
        compute_mode=of_gpu.fact("compute_mode", _compute_mode),
        persistence=of_gpu.flag("persistence"),
        display_active=of_gpu.flag("display_active"),
        driver_model=_driver_model(answers, prefix + "driver_model"),
        **nvml_health.of_gpu(answers, prefix),
        processes=_processes(answers, prefix, viewer),
    )


def _flag(value: object) -> bool | None:
    """Return a switch; of current and pending, the current one."""
    number = as_int(value[0] if isinstance(value, list) else value)
    return None if number is None else number != 0


def _compute_mode(value: object) -> str | None:
    number = as_int(value)
    return None if number is None else COMPUTE_MODES.get(number)


def _pci_address(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    return f"{value['domain']:04x}:{value['bus']:02x}:{value['device']:02x}.0"


def _pci_id(value: object) -> str | None:
    """Return the upper half of the number; the lower one is the vendor."""
    number = as_int(value["pciDeviceId"]) if isinstance(value, dict) else None
    return f"{number >> 16:04x}" if number else None


def _capability(value: object) -> str | None:
    if not isinstance(value, list):
        return None
    major, minor = value
    return capability_text(major, minor)


def _throttle_reasons(value: object) -> tuple[str, ...] | None:
    mask = within(value, (1 << THROTTLE_POSITIONS) - 1)
    if mask is None:
        return None
    bits = (1 << position for position in range(THROTTLE_POSITIONS))
    return tuple(THROTTLE_BITS.get(bit, f"bit-{bit:#x}") for bit in bits if mask & bit)


def _driver_model(answers: Answers, key: str) -> Fact[str]:
    """Return the driver model; a driver that knows no such thing (Linux) says that it is not supported."""
    value = answers.values.get(key)
    if isinstance(value, dict) and value.get("code") == NOT_SUPPORTED:
        return Absent(WHO)
    return answers.fact(key, lambda value: DRIVER_MODELS.get(value[0]) if isinstance(value, list) else None)


def _processes(answers: Answers, prefix: str, viewer: Viewer) -> Fact[tuple[GpuProcess, ...]]:
    """Return the processes of all kinds; where a kind is not reported (MPS on old drivers) the others count."""
    facts: dict[ProcessKind, Fact[list[tuple[int, int | None, int | None]]]] = {
        kind: answers.fact(f"{prefix}processes.{kind.value}", _process_list) for kind in ProcessKind
    }
    if not any(isinstance(fact, Known) for fact in facts.values()):
        compute = facts[ProcessKind.COMPUTE]
        return compute if isinstance(compute, Unknown) else Unknown(f"{WHO} lists no processes")
    busy = answers.fact(f"{prefix}process_utilization", _busy_percents).get() or {}
    # A program that both computes and draws is listed twice, each time with all of its memory. Several with the
    # number 0 are several that cannot be told apart.
    instances = nvml_health.instances_by_number(answers, prefix)
    found = {
        (kind, pid or -place, instance): GpuProcess(
            pid=pid,
            kind=kind,
            memory_bytes=memory,
            utilization_percent=busy.get(pid),
            mig_instance=instances.get(instance) if instance is not None else None,
        )
        for kind, fact in facts.items()
        for place, (pid, memory, instance) in enumerate(fact.get() or ())
    }
    return Known(tuple(viewer.look(process) for process in found.values()), WHO)


def _process_list(value: object) -> list[tuple[int, int | None, int | None]] | None:
    """Return number, memory and GPU instance of each; the oldest form of the call knows no instances."""
    if not isinstance(value, list):
        return None
    return [(int(pid), within(memory, MOST_BYTES), as_int(more[0]) if more else None) for pid, memory, *more in value]


def _busy_percents(value: object) -> dict[int, int] | None:
    """Return the mean of the samples of each process, in percent."""
    samples: dict[int, list[int]] = {}
    for pid, percent in value if isinstance(value, list) else ():
        if 0 <= int(percent) <= WHOLE_PERCENT:
            samples.setdefault(int(pid), []).append(int(percent))
    return {pid: round(sum(percents) / len(percents)) for pid, percents in samples.items()}
