"""What the benchmark promises of itself, as ratios of one run: `python -m pytest bench/micro/test_training.py -s`.

Needs TensorFlow, Pillow and SciPy here. It takes some minutes. Processor times are compared where other programs may
run, wall times only where a device is pretended that takes no processor.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.benchmark import workload
from gpudoctor.benchmark.data import Spec, ensure
from gpudoctor.benchmark.environment import worker_environment
from gpudoctor.benchmark.options import Augment, BenchOptions, Effort, Mode
from gpudoctor.benchmark.plan import GENERATOR, TF_DATA, TrainingSettings
from gpudoctor.benchmark.process import Worker
from gpudoctor.benchmark.protocol import Answer, ComputeOnly, Fitted, Floor, InputOnly, Opened, Pass, ask
from gpudoctor.benchmark.results import BenchResult, ModeResult, Verdict
from gpudoctor.benchmark.run import Hooks, Run
from gpudoctor.facts.host import Host

pytest.importorskip("tensorflow")

SIZE = 150
BATCH = 32
IMAGES = 320
PAIRS = 5
PLAIN = Path(__file__).with_name("plain_fit.py")
ENVIRON = worker_environment(os.environ, cores=len(os.sched_getaffinity(0)), gpu_uuid=None)


@pytest.fixture(scope="module")
def folder() -> Path:
    """Generated images for training, from the user's cache."""
    found = ensure(Host(), sys.executable, Spec(images=2 * IMAGES, validation=200))
    assert found.class_folders is not None
    return Path(found.class_folders.train)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    argv = [sys.executable, "-u", *workload.unpack(tmp_path)]
    one = Worker(argv, folder=tmp_path, log=tmp_path / "log", environ=ENVIRON)
    yield one
    one.close(at_once=True)


def settings(folder: Path, **more: object) -> dict[str, object]:
    base = TrainingSettings(train_folder=str(folder), images=IMAGES, image_size=SIZE, batch_size=BATCH)
    return {**base.request(), **more}


def cpu_ms(one: Pass | Fitted) -> float:
    return 1000 * one.cpu_seconds / one.images


def wall_ms(one: Pass) -> float:
    return 1000 * one.seconds / one.images


def test_measuring_costs_at_most_three_percent(worker: Worker, folder: Path) -> None:
    plain = subprocess.Popen(
        [sys.executable, str(PLAIN), str(folder), str(SIZE), str(BATCH)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRON,
        text=True,
    )
    assert plain.stdin is not None and plain.stdout is not None

    def plain_epoch() -> float:
        assert plain.stdin is not None and plain.stdout is not None
        plain.stdin.write("\n")
        plain.stdin.flush()
        return next(float(line.split()[1]) for line in plain.stdout if line.startswith("CPU"))

    ask(worker, Opened, "open", seconds=600, settings=settings(folder, input=GENERATOR))
    ask(worker, Fitted, "fit", seconds=600, epochs=1)
    plain_epoch()
    ratios = []
    for number in range(PAIRS):
        if number % 2:
            theirs = plain_epoch()
        ours = cpu_ms(ask(worker, Fitted, "fit", seconds=600, epochs=1))
        if not number % 2:
            theirs = plain_epoch()
        ratios.append(theirs / ours)
    plain.stdin.close()
    plain.wait(60)
    print(
        f"\nplain fit() / measured fit(), CPU time: {statistics.median(ratios):.3f} of {[f'{r:.3f}' for r in ratios]}"
    )
    assert statistics.median(ratios) >= 0.97


def test_the_input_reaches_the_floor_of_decoding_and_a_cache_leaves_it_behind(worker: Worker, folder: Path) -> None:
    cached = settings(folder, input=TF_DATA, cache="memory")
    ask(worker, Opened, "open", seconds=600, settings=cached)
    ask(worker, InputOnly, "input_only", seconds=600, passes=1)
    passes = ask(worker, InputOnly, "input_only", seconds=600, passes=10).passes
    floor = ask(worker, Floor, "decode_floor", seconds=600, settings=cached, images=128)
    floor_ms = 1000 * floor.cpu_seconds_with_resize / floor.images
    ask(worker, Opened, "open", seconds=600, settings=settings(folder, input=GENERATOR))
    generator = min(map(wall_ms, ask(worker, InputOnly, "input_only", seconds=600, passes=5).passes))
    best = min(map(wall_ms, passes[1:]))
    reached = floor_ms / cpu_ms(passes[0])
    faster = generator / best
    print(f"\ndecode and resize {floor_ms:.3f} ms, first pass {cpu_ms(passes[0]):.3f} ms: {reached:.2f} of the floor")
    print(f"wall times: cached pass {best:.4f} ms, ImageDataGenerator {generator:.3f} ms: {faster:.0f} times")
    assert reached >= 0.85
    assert faster >= 10


def test_full_augmentation_of_a_batch_is_several_times_as_fast(worker: Worker, folder: Path) -> None:
    times = {}
    for kind, cache in ((GENERATOR, "none"), (TF_DATA, "memory")):
        one = settings(folder, input=kind, cache=cache, augment="full")
        ask(worker, Opened, "open", seconds=600, settings=one)
        ask(worker, InputOnly, "input_only", seconds=600, passes=1)
        times[kind] = min(map(cpu_ms, ask(worker, InputOnly, "input_only", seconds=600, passes=3).passes[-3:]))
    print(f"\nfull augmentation: {times[GENERATOR]:.2f} ms an image, {times[TF_DATA]:.2f} ms fused")
    assert times[GENERATOR] / times[TF_DATA] >= 3


def run(options: BenchOptions, tmp_path: Path) -> dict[str, ModeResult]:
    found: BenchResult = Run(options, Host(), Hooks(), tmp_path).run()
    assert not found.interrupted
    return {one.mode: one for one in found.modes}


def median(one: ModeResult) -> float:
    assert one.images_per_second is not None, one.reason
    return one.images_per_second.median


def slower_part(one: ModeResult) -> float:
    """Return the rate that the parts alone let expect of the whole, where they run side by side."""
    assert one.ceilings.input_only is not None and one.ceilings.compute_only is not None
    return min(one.ceilings.input_only, one.ceilings.compute_only)


def test_a_device_that_waits_for_images_is_seen_and_its_gain_foretold(tmp_path: Path) -> None:
    options = BenchOptions(
        modes=(Mode.CPU, Mode.CPU_OPTIMIZED),
        augment=Augment.FULL,
        batch_size=BATCH,
        images=IMAGES,
        fake_accelerator_ms=0.3125,
        verify=False,
        budget_seconds=600,
    )
    modes = run(options, tmp_path)
    base, best = modes["cpu"], modes["cpu-optimized"]
    measured = median(best) / median(base)
    foretold = slower_part(best) / slower_part(base)
    print(
        f"\nfake device: {median(base):.0f} to {median(best):.0f} images/s: {measured:.2f} x, foretold {foretold:.2f} x"
    )
    assert base.verdict is Verdict.INPUT_BOUND
    assert abs(foretold / measured - 1) <= 0.25
    assert measured >= 3


def test_on_a_cpu_computing_is_the_limit_and_no_setting_makes_it_slower(tmp_path: Path) -> None:
    options = BenchOptions(
        modes=(Mode.CPU, Mode.CPU_OPTIMIZED), effort=Effort.QUICK, images=IMAGES, verify=False, budget_seconds=600
    )
    modes = run(options, tmp_path)
    base, best = modes["cpu"], modes["cpu-optimized"]
    assert base.cpu_ms_per_image is not None and best.cpu_ms_per_image is not None
    gain = base.cpu_ms_per_image / best.cpu_ms_per_image
    print(f"\ncpu-optimized: {gain:.2f} times cpu by processor time, kept: {[t.setting for t in best.tried if t.kept]}")
    assert base.verdict is Verdict.COMPUTE_BOUND
    assert gain >= 0.97


def test_a_training_step(worker: Worker, folder: Path) -> None:
    for precision in ("float32", "bfloat16"):
        one = settings(folder, input=TF_DATA, precision=precision)
        ask(worker, Opened, "open", seconds=600, settings=one)
        ask(worker, Fitted, "fit", seconds=600, epochs=1)
        found = ask(worker, ComputeOnly, "compute_only", seconds=600, steps=10)
        print(f"\nstep of {BATCH} in {precision}: {1000 * min(found.step_seconds):.1f} ms at best")
    ask(worker, Answer, "close", seconds=60)
