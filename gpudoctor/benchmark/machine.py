"""What the benchmark has to know of the machine before it starts: from the facts of `gpudoctor check --quick`."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from gpudoctor.benchmark.data_children import usable_cores
from gpudoctor.benchmark.plan import Device
from gpudoctor.benchmark.results import Machine
from gpudoctor.engine import judge
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Expect, Role, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules

# A training of the small network takes 1.2 GB, TensorFlow itself 0.6 GB of it.
MEMORY_FOR_TWO_BYTES = 4 << 30
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB", re.MULTILINE)


class Skip(Struct, frozen=True, kw_only=True):
    """Why a mode cannot run here: a rule's id and its sentence, or only a sentence."""

    reason: str
    detail: str = ""


class UnknownGpuError(Exception):
    """The user named a GPU that is not there; the text says which there are."""


def cpu_device(facts: Facts) -> Device:
    """Return the CPU."""
    return Device(name=facts.host.cpu_model.get() or "CPU", cpu_flags=facts.host.cpu_flags.get() or ())


def gpu_device(facts: Facts, wanted: str | None) -> Device | Skip:
    """Return the GPU to measure, or why there is none. wanted: UUID or number in PCI order. Raises UnknownGpuError."""
    reason = why_not(facts, Expect.GPU)
    if reason is not None:
        return reason
    gpu = _chosen(facts.gpus, wanted)
    uuid = gpu.uuid.get() if gpu else None
    if gpu is None or uuid is None:
        return Skip(reason="neither NVML nor CUDA shows a GPU here; `gpudoctor check` tells more")
    return Device(
        gpu_uuid=uuid,
        name=gpu.name.get() or "GPU",
        compute_capability=gpu.compute_capability.get(),
        separate=True,
        needs_gpu=True,
    )


def why_not(facts: Facts, expect: Expect) -> Skip | None:
    """Return the first root cause that `gpudoctor check` finds, as far as it keeps this training from starting."""
    report = judge(facts, load_rules(), source=Source(kind=SourceKind.LIVE), expect=expect)
    for finding in report.findings:
        if finding.role is Role.ROOT_CAUSE and finding.severity is Severity.ERROR:
            return Skip(reason=finding.rule, detail=finding.message)
    return None


def _chosen(gpus: tuple[Gpu, ...], wanted: str | None) -> Gpu | None:
    if wanted is None:
        return next((gpu for gpu in gpus if gpu.visible.get() is not False), None)
    if wanted.isdecimal() and int(wanted) < len(gpus):
        return gpus[int(wanted)]
    found = [gpu for gpu in gpus if (gpu.uuid.get() or "").lower().startswith(wanted.lower())]
    if len(found) == 1 and not wanted.isdecimal():
        return found[0]
    known = ", ".join(f"{number}: {gpu.uuid.get() or gpu.name.get()}" for number, gpu in enumerate(gpus))
    raise UnknownGpuError(f"there is no GPU {wanted!r} here; there is {known or 'none'}")


def free_memory(host: Host, facts: Facts) -> int:
    """Return the memory that can be used without swapping, in bytes; 0 where it cannot be told."""
    try:
        found = _AVAILABLE.search(host.read_text("/proc/meminfo"))
    except OSError:
        found = None
    free = int(found[1]) * 1024 if found else facts.host.memory_total_bytes.get() or 0
    limit = facts.host.memory_limit_bytes.get()
    return min(free, limit) if limit else free


def load() -> float | None:
    """Return how many programs wanted to run in the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def cores(facts: Facts) -> int:
    """Return the processors that this process may use."""
    return facts.host.cpu_count.get() or usable_cores()


def machine(facts: Facts, device: Device | None) -> Machine:
    """Return the description that is stored with the results."""
    return Machine(
        os=facts.host.distribution.get() or facts.host.os.get(),
        kernel=facts.host.kernel.get(),
        cpu=facts.host.cpu_model.get(),
        cores=cores(facts),
        memory_bytes=facts.host.memory_total_bytes.get(),
        gpu=device.name if device else None,
        gpu_uuid=device.gpu_uuid if device else None,
        driver=facts.driver.version.get(),
        python=facts.python.version.get(),
        tensorflow=facts.tensorflow.version.get(),
        keras=facts.tensorflow.keras_version.get(),
        load_at_start=load(),
    )
