"""The answer to "is the GPU worth it?": the mode to train with, and why, from the rates of all modes."""

from __future__ import annotations

from gpudoctor.benchmark.assemble import is_usable
from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.results import ModeResult, Recommendation, Status, Verdict

# Below this a GPU is not worth its trouble: two runs of the same differ by as much.
WORTH = 1.1
_LIMITS = {
    Verdict.INPUT_BOUND: "the GPU waits for images",
    Verdict.LAUNCH_BOUND: "its steps are too small for a GPU",
    Verdict.COMPUTE_BOUND: "it computes no faster than this CPU",
    Verdict.BALANCED: "images arrive no faster than it computes",
    Verdict.UNKNOWN: "what limits it was not measured",
}


def recommend(modes: tuple[ModeResult, ...]) -> Recommendation:
    """Return what to train with; no mode where nothing could be measured."""
    usable = {Mode(one.mode): one for one in modes if is_usable(one) and one.images_per_second is not None}
    if not usable:
        return Recommendation(text="Nothing could be measured, so there is nothing to recommend.")
    on_gpu = [one for mode, one in usable.items() if mode.on_gpu]
    on_cpu = [one for mode, one in usable.items() if not mode.on_gpu]
    if not on_gpu:
        return _without_gpu(modes, on_cpu)
    gpu = max(on_gpu, key=_rate)
    if not on_cpu:
        return Recommendation(mode=gpu.mode, text=f"Train with {gpu.mode}: {_rate(gpu):,.0f} images/s.")
    cpu = max(on_cpu, key=_rate)
    factor = _rate(gpu) / _rate(cpu)
    numbers = f"{_rate(gpu):,.0f} images/s on the GPU ({gpu.mode}), {_rate(cpu):,.0f} on the CPU ({cpu.mode})"
    if factor >= WORTH:
        return Recommendation(mode=gpu.mode, text=f"Train on the GPU: it is {factor:.1f} times as fast; {numbers}.")
    how = "slower" if factor < 1 else "hardly faster"
    text = f"Train on the CPU: the GPU is {how} ({numbers}), because {_LIMITS[gpu.verdict]}."
    return Recommendation(mode=cpu.mode, text=text)


def _without_gpu(modes: tuple[ModeResult, ...], on_cpu: list[ModeResult]) -> Recommendation:
    best = max(on_cpu, key=_rate)
    text = f"Train with the settings of {best.mode}: {_rate(best):,.0f} images/s"
    base = next((one for one in on_cpu if one.mode == Mode.CPU.value), None)
    if base is not None and base is not best:
        text += f", {_rate(best) / _rate(base):.1f} times {base.mode}"
        if (best.noisy or base.noisy) and best.cpu_ms_per_image and base.cpu_ms_per_image:
            factor = base.cpu_ms_per_image / best.cpu_ms_per_image
            text += f" (by processor time, which other programs disturb less, {factor:.1f} times)"
    missing = [one for one in modes if Mode(one.mode).on_gpu and one.status is not Status.OK]
    if missing:
        text += ". No GPU was measured; the reason stands beside its modes"
    return Recommendation(mode=best.mode, text=text + ".")


def _rate(one: ModeResult) -> float:
    return one.images_per_second.median if one.images_per_second else 0.0
