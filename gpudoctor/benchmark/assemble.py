"""From what was measured of a mode to its result."""

from __future__ import annotations

import statistics

from msgspec.structs import replace

from gpudoctor.benchmark import attribution
from gpudoctor.benchmark.attribution import Parts
from gpudoctor.benchmark.environment import own_settings
from gpudoctor.benchmark.measured import Measured
from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.plan import GENERATOR, GroupPlan
from gpudoctor.benchmark.process import log_says
from gpudoctor.benchmark.protocol import ComputeOnly, Fitted, InputOnly
from gpudoctor.benchmark.results import Ceilings, Learns, ModeResult, Rate, Raw, Speedup, Status
from gpudoctor.benchmark.statistics import noise, rate

STANDARD_IMAGES = 25_000
LEARNED = 0.80


def mode_result(item: Measured, plan: GroupPlan) -> ModeResult:
    """Return the result of one mode; a failed one keeps what was measured before."""
    error = item.error
    rounds = item.rounds
    images = rate([run.images / run.seconds for run in rounds]) if rounds else None
    failed = error is not None or images is None
    wait = item.window.shares.get("wait") if item.window else None
    parts = parts_of(item, plan)
    disturbed = _noise(item, plan)
    return ModeResult(
        mode=item.mode.value,
        status=Status.FAILED if failed else Status.OK,
        reason=str(error) if error else "",
        failure=error.failure.value if error else None,
        detail=log_says(error, on_gpu=plan.device.needs_gpu) if error else "",
        images_per_second=images,
        cpu_ms_per_image=_median([1000 * run.cpu_seconds / run.images for run in rounds]),
        seconds_per_25000_images=STANDARD_IMAGES / images.median if images else None,
        first_step_seconds=item.first.step_seconds[0] if item.first and item.first.step_seconds else None,
        first_epoch_seconds=item.first.epoch_seconds[0] if item.first else None,
        data_wait=wait,
        time_shares=_shares(item),
        ceilings=_ceilings(item, plan),
        verdict=attribution.verdict(parts),
        gain=attribution.gain(parts),
        gpu=item.gpu,
        memory_peak_bytes=item.memory_peak_bytes or None,
        gpu_memory_peak_bytes=item.gpu_memory_peak_bytes,
        settings=item.settings.shown(),
        environment=own_settings(cores=plan.cores, gpu_uuid=plan.device.gpu_uuid),
        versions=_versions(item),
        tried=tuple(item.tried),
        learns=_learns(item),
        noisy=bool(disturbed),
        noise=disturbed,
        raw=_raw(rounds),
        log_tail=error.log if error else "",
    )


def parts_of(item: Measured, plan: GroupPlan) -> Parts:
    """Return the parts of a training: CPU times where input and computation share the cores, else wall times."""
    separate = plan.device.separate
    best = _best_pass(item.input_only, item)
    compute = item.compute_only
    return Parts(
        input=best and best[0 if separate else 1],
        compute=_compute_seconds(compute, separate) if compute else None,
        doubling=_doubling(compute) if compute else None,
        separate_device=separate,
    )


def _best_pass(found: InputOnly | None, item: Measured) -> tuple[float, float] | None:
    """Return the wall and CPU seconds for an image of the fastest pass, of those that are like an epoch's input."""
    if found is None or not found.passes:
        return None
    passes = found.passes[1:] if item.settings.cache != "none" and len(found.passes) > 1 else found.passes
    usable = [one for one in passes if one.images]
    if not usable:
        return None
    return min(one.seconds / one.images for one in usable), min(one.cpu_seconds / one.images for one in usable)


def _compute_seconds(compute: ComputeOnly, separate: bool) -> float:
    if separate:
        return statistics.median(compute.step_seconds) / (compute.images / len(compute.step_seconds))
    return compute.cpu_seconds / compute.images


def _doubling(compute: ComputeOnly) -> float | None:
    if not compute.double_step_seconds:
        return None
    return min(compute.double_step_seconds) / min(compute.step_seconds)


def _ceilings(item: Measured, plan: GroupPlan) -> Ceilings:
    best, compute, floor = _best_pass(item.input_only, item), item.compute_only, item.floor
    first = item.input_only.passes[0] if item.input_only and item.settings.cache != "none" else None
    return Ceilings(
        input_only=1 / best[0] if best else None,
        input_first_pass=first.images / first.seconds if first else None,
        compute_only=1 / _compute_seconds(compute, separate=True) if compute else None,
        decode_floor=plan.cores * floor.images / floor.cpu_seconds if floor and floor.cpu_seconds else None,
    )


def _noise(item: Measured, plan: GroupPlan) -> str:
    epochs = [seconds for run in item.rounds for seconds in run.epoch_seconds]
    steps = [seconds for run in item.rounds for seconds in run.step_seconds]
    return noise(epochs, steps, plan.load, plan.cores) if item.rounds else ""


def _shares(item: Measured) -> dict[str, float]:
    found = item.window.shares if item.window else {}
    return {name: share for name, share in sorted(found.items()) if share is not None and name != "wait"}


def _versions(item: Measured) -> dict[str, str]:
    hello = item.hello
    if hello is None:
        return {}
    return {"python": hello.python, "tensorflow": hello.tensorflow, "keras": hello.keras, "numpy": hello.numpy}


def _learns(item: Measured) -> Learns | None:
    found = item.validated
    if found is None:
        return None
    learned = item.finite and found.val_accuracy is not None and found.val_accuracy >= LEARNED
    return Learns(val_accuracy=found.val_accuracy, updates=found.updates, ok=learned)


def _raw(rounds: list[Fitted]) -> Raw:
    return Raw(
        step_seconds=tuple(seconds for run in rounds for seconds in run.step_seconds),
        epoch_seconds=tuple(seconds for run in rounds for seconds in run.epoch_seconds),
        cpu_seconds=tuple(run.cpu_seconds for run in rounds),
        loss=tuple(value for run in rounds for value in run.loss),
    )


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def with_speedups(modes: tuple[ModeResult, ...]) -> tuple[ModeResult, ...]:
    """Return the same results with each rate over that of the two baselines; none for a mode that does not learn."""

    def rate_of(mode: Mode) -> Rate | None:
        return next((one.images_per_second for one in modes if one.mode == mode.value and is_usable(one)), None)

    cpu, gpu = rate_of(Mode.CPU), rate_of(Mode.GPU_BASELINE)

    def over(one: ModeResult, base: Rate | None) -> float | None:
        own = one.images_per_second
        return own.median / base.median if own and base and is_usable(one) else None

    return tuple(replace(one, speedup=Speedup(cpu=over(one, cpu), gpu_baseline=over(one, gpu))) for one in modes)


def is_usable(one: ModeResult) -> bool:
    """Whether a mode ran and learns, as far as that was looked at."""
    return one.status is Status.OK and (one.learns is None or one.learns.ok)


def uses_generator(one: ModeResult) -> bool:
    """Whether the input is ImageDataGenerator."""
    return one.settings.get("input") == GENERATOR
