"""gpu-memory-preallocated."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.memory._state import NEARLY_ALL, compute_processes, is_python, out_of_memory, share
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said

IDLE_PERCENT = 10
GROW = Remedy(
    summary="Let TensorFlow see one GPU only, and take memory as it needs it. In a script, call "
    "tf.config.experimental.set_memory_growth for each GPU before anything else.",
    commands=("export CUDA_VISIBLE_DEVICES=0", "export TF_FORCE_GPU_ALLOW_GROWTH=true"),
    applicability=Applicability.SAFE,
)

APART = Remedy(
    summary="Do the work in a process of its own that ends with it (multiprocessing with the start method spawn): "
    "tf.keras.backend.clear_session() makes the memory free for the same process only."
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="one Python process (pid {pid}) holds nearly all memory of {count} GPUs and uses {busy} of them: "
    "TensorFlow reserves the memory of every GPU that it sees, whether it needs it or not",
    variants={
        "one": "a Python process (pid {pid}) holds nearly all memory of the GPU and does little on it: TensorFlow "
        "reserves it at its start, by design",
        "said": "the GPU's memory is said to be taken whole: TensorFlow reserves nearly all of it at its start, "
        "by design",
        "kept": "the GPU's memory is said to stay taken: TensorFlow keeps what it has taken until its process ends, "
        "by design",
    },
)
def gpu_memory_preallocated(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow took nearly all memory of the GPUs at its start, by design.

    Why it matters: it looks like a leak or a model that is too large, and keeps others from these GPUs; it is neither.
    How to fix: show the program only the GPU that it uses (CUDA_VISIBLE_DEVICES), and let memory grow.
    """
    told = () if out_of_memory(facts) else said(facts, "said-memory-taken")
    kept = () if told or out_of_memory(facts) else said(facts, "said-memory-kept")
    if kept and not any(gpu.processes.get() for gpu in facts.gpus):
        yield self.finding(seen(kept), variant="kept", confidence=Confidence.LIKELY, remedies=(APART,))
        return
    if told and not any(gpu.processes.get() for gpu in facts.gpus):
        yield self.finding(seen(told), variant="said", confidence=Confidence.POSSIBLE, remedies=(GROW,))
        return
    if not any(gpu.processes.get() is not None for gpu in facts.gpus):
        (facts.gpus[0].processes if facts.gpus else facts.driver.nvml).require()
        return
    if out_of_memory(facts) or facts.training.step_seconds.get() is not None:
        return
    for pid, indices in _held(facts).items():
        idle = [index for index in indices if (facts.gpus[index].utilization_percent.get() or 0) < IDLE_PERCENT
                and facts.gpus[index].utilization_percent.get() is not None]  # fmt: skip
        if not idle:
            continue
        several = len(indices) > 1
        yield self.finding(
            tuple(path for index in indices[:4] for path in (f"gpus[{index}].processes",
                  f"gpus[{index}].utilization_percent", f"gpus[{index}].memory_used_bytes")),
            variant=None if several else "one",
            severity=None if several or told else Severity.NOTE,
            confidence=Confidence.CERTAIN if several else Confidence.LIKELY if told else Confidence.POSSIBLE,
            remedies=(GROW,),
            pid=pid,
            count=len(indices),
            busy=len(indices) - len(idle) or "none",
        )  # fmt: skip


def _held(facts: Facts) -> dict[int, list[int]]:
    """Return the numbers of the GPUs whose memory a process of TensorFlow holds nearly whole, by its pid."""
    held: dict[int, list[int]] = {}
    for index, gpu in enumerate(facts.gpus):
        for process in compute_processes(gpu):
            # What other users' programs are is not known; one that is known to be of another kind is not meant.
            tensorflow = process.framework in (None, "tensorflow") and is_python(process)
            if tensorflow and share(process.memory_bytes, gpu) >= NEARLY_ALL:
                held.setdefault(process.pid, []).append(index)
    return held
