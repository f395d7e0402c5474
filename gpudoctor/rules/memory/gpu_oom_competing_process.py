"""gpu-oom-competing-process."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Evidence, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.memory._state import (
    MIB,
    NEARLY_ALL,
    by_small_computation,
    compute_processes,
    gib,
    out_of_memory,
    share,
)
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

HELD_SHARE = 0.3
# TensorFlow takes what is free: a device with less than this part of the GPU's memory was made beside others.
SMALL_DEVICE = 0.3
FULL = "could not be opened"
# Of what was free when TensorFlow started. A desktop and a browser leave more.
LITTLE_FREE = 0.25
WAS_FREE = " free"
END_IT = Remedy(
    summary="End the other process if it is yours (a notebook keeps its memory until its kernel is shut down), use "
    "another GPU, or let both take memory as they need it.",
    commands=(
        "nvidia-smi",
        "export CUDA_VISIBLE_DEVICES=NUMBER-OF-A-FREE-GPU",
        "export TF_FORCE_GPU_ALLOW_GROWTH=true",
    ),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.MEMORY,
    needs=(Capability.KERNELS, Capability.USER_DRIVER),
    message="the GPU's memory is held by others ({who}), and too little is left for this program",
    variants={
        "full": "the GPU's memory was taken before TensorFlow came: it could not even be opened",
        "start": "only {size} of the GPU's memory was free when TensorFlow started: the rest is held by others",
        "device": "TensorFlow got only {size} of the GPU's memory: the rest is held by others",
        "small": "even a small computation finds no memory on the GPU: {who} is taken",
    },
)
def gpu_oom_competing_process(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Other processes hold the memory of the GPU, and too little is left.

    Why it matters: the program fails for lack of memory though it would fit on the GPU alone.
    How to fix: end the other process, choose a free GPU, or let each take only what it needs.
    """
    told = out_of_memory(facts)
    if not told:
        facts.tensorflow.events.require()
        return
    held = others_hold_it(facts)
    if not held:
        return
    by_log, unnamed = held[0].fact == "tensorflow.events", held[0].fact.endswith("memory_used_bytes")
    yield self.finding(
        (*seen(told), *held),
        variant=_by_log(held[0].value) if by_log else "small" if unnamed else None,
        confidence=Confidence.LIKELY,
        remedies=(END_IT,),
        who=held[0].value,
        size=held[0].value.removesuffix(WAS_FREE),
    )


def _by_log(value: str) -> str:
    """Return the wording of what TensorFlow's log showed."""
    return "full" if value == FULL else "start" if value.endswith(WAS_FREE) else "device"


def others_hold_it(facts: Facts) -> tuple[Evidence, ...]:
    """Return what shows that others hold the memory of a GPU."""
    refused = tuple(event for event in out_of_memory(facts) if "call" in event.parameters)
    unopened = (*events(facts, "device-not-opened"), *refused)
    if unopened:  # it was full before TensorFlow came
        source = f"{unopened[0].source}, line {unopened[0].line}"
        return (Evidence(fact="tensorflow.events", value=FULL, source=source),)
    if little := _little_free(facts):
        return little
    for index, gpu in enumerate(facts.gpus):
        # With one process it may be this program itself; a log and a table of one time show both.
        processes = [item for item in compute_processes(gpu) if share(item.memory_bytes, gpu) >= HELD_SHARE]
        alone = _small_device(facts, index) or _refused_from_the_start(facts, index) or by_small_computation(facts)
        if len(processes) > 1 or (processes and alone):
            value = ", ".join(
                f"{item.name or 'a process'} (pid {item.pid}) {gib(item.memory_bytes)}" for item in processes
            )
            source = getattr(gpu.processes, "source", "nvidia-smi")
            return (Evidence(fact=f"gpus[{index}].processes", value=value, source=source),)
        small = _small_device(facts, index)
        if small:
            return small
        used = gpu.memory_used_bytes.get()
        if by_small_computation(facts) and share(used, gpu) >= NEARLY_ALL and not is_hidden(gpu):
            text = f"{gib(used)} of {gib(gpu.memory_total_bytes.get())}"
            return (Evidence(fact=f"gpus[{index}].memory_used_bytes", value=text, source="NVML"),)
    return ()


def _little_free(facts: Facts) -> tuple[Evidence, ...]:
    """Return what TensorFlow told of a GPU with little free memory, before it took any itself."""
    total = ""
    for event in events(facts, "memory-at-start"):
        total = event.parameters.get("total", total)
        free = event.parameters.get("free")
        if free and total and 0 < _size(free) < LITTLE_FREE * _size(total):
            place = f"{event.source or 'the log'}, line {event.line}"
            return (Evidence(fact="tensorflow.events", value=f"{free}{WAS_FREE}", source=place),)
    return ()


def _size(text: str) -> float:
    """Return the number of MiB of 148.69MiB; 0 for what is none."""
    factor = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}.get(text[-3:-2], 0.0)
    try:
        return float(text[:-3]) * factor
    except ValueError:
        return 0.0


def _refused_from_the_start(facts: Facts, index: int) -> bool:
    """Whether the driver refused memory before any tensor was asked for, on a GPU that one process fills."""
    gpu, told = facts.gpus[index], out_of_memory(facts)
    full = any(share(item.memory_bytes, gpu) >= NEARLY_ALL for item in compute_processes(gpu))
    return full and all("size" in event.parameters for event in told)


def _small_device(facts: Facts, index: int) -> tuple[Evidence, ...]:
    gpu = facts.gpus[index]
    for event in events(facts, "created-device"):
        megabytes = event.parameters.get("memory_mb", "")
        same = event.parameters.get("pci_address") in (None, gpu.pci_address.get())
        if same and megabytes.isdecimal() and 0 < share(int(megabytes) * MIB, gpu) < SMALL_DEVICE:
            return (
                Evidence(
                    fact="tensorflow.events", value=f"{megabytes} MB", source=f"{event.source}, line {event.line}"
                ),
            )
    return ()
