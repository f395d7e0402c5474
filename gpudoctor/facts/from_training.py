"""Progress of a training to facts."""

from __future__ import annotations

from msgspec import structs

from gpudoctor.facts.model import Fact, Known, TrainingFacts, TrainingRun
from gpudoctor.logs.formats import training
from gpudoctor.logs.seen import MISSING, median
from gpudoctor.logs.text import TextReader

# Fewer readings of the load tell nothing: one may fall between two steps.
READINGS = 3


def training_facts(reader: TextReader, facts: TrainingFacts) -> TrainingFacts:
    """Return facts with what progress bars, one's own loops, nvidia-smi and top tell of a training."""
    progress = reader.format(training.Reader)
    assert isinstance(progress, training.Reader)  # noqa: S101 (it is the class that was asked for)
    seen = reader.seen
    runs = [run for run in progress.runs if run.step_seconds() is not None or run.epochs]
    changes: dict[str, object] = {}
    if runs:
        changes.update(_of_run(runs[-1]))
    if len(runs) > 1 or (runs and (runs[0].gpus is not None or runs[0].device)):
        told = tuple(
            TrainingRun(
                gpus=run.gpus, device=run.device, step_seconds=round(seconds, 6), steps=run.steps, line=run.last_at
            )
            for run in runs
            if (seconds := run.step_seconds()) is not None
        )
        if told:
            changes["runs"] = Known(told, runs[0].last_at)
    loads = seen.samples.get("gpu-load", [])
    enough = len(loads) >= READINGS or (loads and ("gpu-load-said" in seen.hints or _in_use(reader)))
    asked = "training-said" in seen.hints or "load-asked" in seen.hints
    said = "gpu-load-said" in seen.hints and asked
    if ("training" in seen.hints or said) and enough:
        place = f"{len(loads)} readings in the text" if len(loads) > 1 else seen.hints.get("gpu-load-said", "the text")
        changes["gpu_utilization_percent"] = Known(round(sum(loads) / len(loads), 1), place)
    cpu = seen.samples.get("process-cpu", [])
    if cpu:
        changes["process_cpu_percent"] = Known(max(cpu), seen.hints["process-cpu"])
    parameters = _parameters(reader)
    if not isinstance(parameters, type(MISSING)):
        changes["parameters"] = parameters
    return structs.replace(facts, **changes)


def _in_use(reader: TextReader) -> bool:
    """Whether a GPU was in use when it was looked at: then even one reading tells of the training."""
    for gpu in reader.seen.gpus:
        used, total = gpu.value("memory_used_bytes"), gpu.value("memory_total_bytes")
        if isinstance(used, int) and isinstance(total, int) and used * 2 >= total > 0:
            return True
    return False


def _of_run(run: training.Run) -> dict[str, object]:
    found: dict[str, object] = {}
    seconds = run.step_seconds()
    if seconds is not None:
        found["step_seconds"] = Known(round(seconds, 6), run.last_at)
    if run.first is not None:
        found["first_step_seconds"] = Known(round(run.first[0], 6), run.first[1])
    if run.steps:
        found["steps_per_epoch"] = Known(run.steps, run.last_at)
    if run.one_step:
        found["steps_per_epoch"] = Known(1, run.last_at)
    if run.epochs:
        found["first_epoch_seconds"] = Known(run.epochs[0], run.last_at)
        if len(run.epochs) > 1:
            found["later_epoch_seconds"] = Known(median(run.epochs[1:]), run.last_at)
    return found


def _parameters(reader: TextReader) -> Fact[int]:
    for event in reversed(reader.seen.events):
        if event.message == "parameters":
            digits = event.parameters.get("count", "").replace(",", "")
            if digits.isdecimal():
                return Known(int(digits), f"{event.source}:{event.line}")
    return MISSING
