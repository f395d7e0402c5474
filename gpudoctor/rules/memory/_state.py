"""What the rules about memory ask."""

from __future__ import annotations

import os.path

from gpudoctor.facts.model import Facts, Gpu, GpuProcess, LogEvent, ProcessKind
from gpudoctor.processes.classify import is_ours
from gpudoctor.rules.python._state import events

MIB = 1024 * 1024
GIB = 1024 * MIB
# Of a GPU's memory: from here on it is as good as all of it.
NEARLY_ALL = 0.85
# Of the TensorFlow that gpudoctor starts.
OWN_LOG = "TensorFlow's log"
OUT_OF_MEMORY = ("out-of-memory",)


def out_of_memory(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the events that tell of a lack of GPU memory, without those about the computer's own."""
    return tuple(event for event in events(facts, *OUT_OF_MEMORY) if "CPU" not in event.parameters.get("device", "GPU"))


def by_small_computation(facts: Facts) -> bool:
    """Whether it was gpudoctor's own small computation that found no memory, no training: it needs next to none."""
    told = out_of_memory(facts)
    return facts.tensorflow.run.get() is not None and all(event.source == OWN_LOG for event in told)


def compute_processes(gpu: Gpu) -> tuple[GpuProcess, ...]:
    """Return the processes that compute on a GPU, without gpudoctor's own."""
    computing = (item for item in gpu.processes.get() or () if item.kind is not ProcessKind.GRAPHICS)
    return tuple(item for item in computing if not is_ours(item))


def share(part: int | None, gpu: Gpu) -> float:
    """Return which part of a GPU's memory this is; 0 where it is not known."""
    total = gpu.memory_total_bytes.get()
    return part / total if part is not None and total else 0.0


def is_python(process: GpuProcess) -> bool:
    """Whether a process is a Python interpreter."""
    return os.path.basename(process.name or "").casefold().startswith(("python", "ipython", "jupyter"))


def gib(count: int | None) -> str:
    """Return a size as it stands in a sentence."""
    return "an unknown size" if count is None else f"{count / GIB:.1f} GiB"
