"""The reports of a benchmark: what a person reads, and the JSON that others read."""

from __future__ import annotations

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from gpudoctor.benchmark.recommend import recommend
from gpudoctor.benchmark.results import (
    Advice,
    BenchResult,
    Ceilings,
    Data,
    Gain,
    GpuUse,
    Learns,
    Machine,
    ModeResult,
    Rate,
    Recommendation,
    Speedup,
    Status,
    Tried,
    Verdict,
    encode,
    json_schema,
)
from gpudoctor.report import bench_text
from gpudoctor.report.bench_lines import duration, percent

BASE = ModeResult(
    mode="cpu",
    status=Status.OK,
    images_per_second=Rate(median=152.0, min=148.0, max=155.0, rounds=(152.0, 148.0, 155.0)),
    cpu_ms_per_image=11.2,
    seconds_per_25000_images=164.5,
    first_step_seconds=0.9,
    first_epoch_seconds=5.1,
    data_wait=0.004,
    ceilings=Ceilings(input_only=1404.0, compute_only=160.0, decode_floor=4487.0),
    verdict=Verdict.COMPUTE_BOUND,
    gain=Gain(without_input=1.1, without_compute=11.0),
    speedup=Speedup(cpu=1.0),
    memory_peak_bytes=1_200_000_000,
    settings={"input": "ImageDataGenerator", "batch_size": 32, "precision": "float32", "jit_compile": False,
              "cache": "none", "steps_per_execution": 1},
    learns=Learns(val_accuracy=0.98, updates=93, ok=True),
)  # fmt: skip
BEST = msgspec.structs.replace(
    BASE,
    mode="cpu-optimized",
    images_per_second=Rate(median=390.0, min=380.0, max=400.0, rounds=(390.0,)),
    speedup=Speedup(cpu=2.57),
    data_wait=None,
    noisy=True,
    noise="times of epochs spread by 20% of their median",
    tried=(
        Tried(setting="precision=bfloat16", kept=True, gain=2.31),
        Tried(setting="batch_size=64", kept=False, gain=0.99),
    ),
)  # fmt: skip
GPU = msgspec.structs.replace(
    BASE,
    mode="gpu-baseline",
    verdict=Verdict.INPUT_BOUND,
    speedup=Speedup(cpu=3.0, gpu_baseline=1.0),
    gpu=GpuUse(samples=12, utilization=23.0, memory_peak_bytes=2 << 30, power_watts=71.0,
               throttle_reasons=("sw-power-cap",), other_processes=1),
    advice=(Advice(rule="input-pipeline-bound", severity="warning", message="the GPU waits", remedies=("Cache.",)),),
)  # fmt: skip
SKIPPED = ModeResult(mode="gpu-optimized", status=Status.SKIPPED, reason="no-nvidia-gpu", detail="there is none here")


def result(*modes: ModeResult) -> BenchResult:
    return BenchResult(
        tool={"name": "gpudoctor", "version": "1"},
        started="2026-01-01T00:00:00+00:00",
        machine=Machine(
            cpu="EPYC", cores=2, memory_bytes=24 << 30, tensorflow="2.21.0", keras="3.15.1", python="3.11.7"
        ),
        data=Data(
            origin="generated", hash="x", classes=("cats", "dogs"), train_images=640, validation_images=200, bytes=1
        ),
        workload_hash="abc",
        options={"image_size": 150, "augment": "flip"},
        modes=modes,
        recommendation=Recommendation(mode="cpu-optimized", text="Train with it."),
        dropped=("the learning check (takes about 40 s, 3 s were left)",),
        seconds=120.0,
    )


def test_a_report_fits_80_columns_and_names_every_mode_and_number() -> None:
    text = bench_text.render(result(BASE, BEST, GPU, SKIPPED))
    assert max(map(len, text.splitlines())) <= 80
    for part in ("152", "148-155", "2 min 44 s", "2.57 x", "3.00 x", "1,404/s", "4,487/s", "precision=bfloat16",
                 "2.31 x", "no-nvidia-gpu: there is none here", "23%", "71 W", "sw-power-cap",
                 "1 other processes", "input-pipeline-bound", "Cache.", "not done", "Train with it."):  # fmt: skip
        assert part in text, part


def test_a_noisy_rate_is_marked_and_explained() -> None:
    text = bench_text.render(result(BASE, BEST))
    assert "390~" in text and "152~" not in text
    assert "spread by 20%" in text


def test_a_mode_that_does_not_learn_shows_no_speedup() -> None:
    wrong = msgspec.structs.replace(BEST, learns=Learns(val_accuracy=0.5, updates=93, ok=False), speedup=Speedup())
    text = bench_text.render(result(BASE, wrong))
    assert "no learning" in text and "2.57 x" not in text
    assert "50% right" in text


def test_a_failure_shows_the_end_of_its_log_without_control_characters() -> None:
    failed = ModeResult(mode="cpu", status=Status.FAILED, reason="the worker was ended by SIGSEGV", failure="signal",
                        log_tail="one\n\x1b[31mtwo")  # fmt: skip
    text = bench_text.render(result(failed))
    assert "failed (signal)" in text and "two" in text and "\x1b" not in text


def test_what_is_unknown_is_a_dash() -> None:
    assert percent(None) == duration(None) == "-"
    assert percent(0.0) == "0%"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.853, "0.85 s"), (5.12, "5.1 s"), (12.4, "12 s"), (184.6, "3 min 05 s"), (7384.0, "2 h 03 min")],
)
def test_times_are_said_as_a_person_says_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_json_follows_its_schema() -> None:
    content = msgspec.json.decode(encode(result(BASE, BEST, GPU, SKIPPED)))
    jsonschema.validate(content, json_schema())
    assert content["schema"] == 1
    one = content["modes"][1]
    assert set(one["images_per_second"]) == {"median", "min", "max", "rounds"}
    assert set(one["speedup"]) == {"cpu", "gpu-baseline"}
    assert one["tried"][0] == {"setting": "precision=bfloat16", "kept": True, "gain": 2.31, "note": ""}
    assert content["modes"][3]["images_per_second"] is None


def faster(base: ModeResult, mode: str, median: float, verdict: Verdict = Verdict.COMPUTE_BOUND) -> ModeResult:
    rate = Rate(median=median, min=median, max=median, rounds=(median,))
    return msgspec.structs.replace(base, mode=mode, images_per_second=rate, verdict=verdict)


@pytest.mark.parametrize(
    ("gpu", "verdict", "mode", "words"),
    [
        (1000.0, Verdict.COMPUTE_BOUND, "gpu-optimized", "10.0 times as fast"),
        (105.0, Verdict.INPUT_BOUND, "cpu", "hardly faster"),
        (50.0, Verdict.LAUNCH_BOUND, "cpu", "too small for a GPU"),
    ],
)
def test_the_gpu_is_recommended_only_if_it_is_worth_it(gpu: float, verdict: Verdict, mode: str, words: str) -> None:
    found = recommend((faster(BASE, "cpu", 100.0), faster(BASE, "gpu-optimized", gpu, verdict)))
    assert found.mode == mode
    assert words in found.text


def test_a_mode_that_does_not_learn_is_never_recommended() -> None:
    wrong = msgspec.structs.replace(
        faster(BASE, "gpu-optimized", 1000.0), learns=Learns(val_accuracy=0.5, updates=93, ok=False)
    )
    assert recommend((faster(BASE, "cpu", 100.0), wrong)).mode == "cpu"
    assert recommend((wrong,)).mode is None


def test_on_a_noisy_machine_the_processor_time_is_told_as_well() -> None:
    best = msgspec.structs.replace(faster(BASE, "cpu-optimized", 110.0), cpu_ms_per_image=5.6, noisy=True)
    text = recommend((faster(BASE, "cpu", 100.0), best)).text
    assert "1.1 times cpu (by processor time, which other programs disturb less, 2.0 times)" in text
    calm = msgspec.structs.replace(best, noisy=False)
    assert "processor" not in recommend((faster(BASE, "cpu", 100.0), calm)).text
