"""Whole runs with a worker that answers like a machine that the test describes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from gpudoctor.benchmark import run as run_module
from gpudoctor.benchmark.lock import DeviceBusyError, DeviceLock
from gpudoctor.benchmark.options import BenchOptions, Effort, Mode, Precision
from gpudoctor.benchmark.pictures import Pictures
from gpudoctor.benchmark.plan import Folders
from gpudoctor.benchmark.process import Worker
from gpudoctor.benchmark.results import BenchResult, Data, ModeResult, Status, Verdict, decode, encode
from gpudoctor.benchmark.run import Hooks, Run
from gpudoctor.facts.collect import Collected
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Facts
from tests.rule_case import facts_of

FAKE = Path(__file__).with_name("fake_worker.py")
# A CPU on which computing takes 20 times as long as the input.
CPU = {"compute_ms": 10.0, "input_ms": 0.6, "decode_ms": 0.25, "cached_ms": 0.02, "half": 0.5}
FAST_GPU = {"compute_ms": 0.1, "input_ms": 0.6, "decode_ms": 0.25, "cached_ms": 0.02, "half": 0.5, "gpus": ["H200"]}
BOTH_CPU = (Mode.CPU, Mode.CPU_OPTIMIZED)
UUID = "GPU-00000000-0000-0000-0000-00000000f00d"

RunIt = Callable[..., BenchResult]


@pytest.fixture
def run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunIt:
    """A function that runs a benchmark over a script for CPU workers, and one for GPU workers."""
    folders = Folders(train="/nowhere/train", validation="/nowhere/validation", images=640)
    data = Data(
        origin="generated", hash="abc", classes=("cats", "dogs"), train_images=640, validation_images=200, bytes=1
    )

    def run(
        options: BenchOptions,
        cpu: Mapping[str, object] = CPU,
        gpu: Mapping[str, object] = FAST_GPU,
        *,
        facts: Facts | None = None,
        verify: bool = True,
        started: list[dict[str, str]] | None = None,
        saved: list[BenchResult] | None = None,
    ) -> BenchResult:
        pictures = Pictures(folders=folders, verify=folders if verify else None, data=data)
        seen = facts or facts_of("no-gpu", set={"host.cpu_flags": ["avx512_bf16"]})
        monkeypatch.setattr(run_module, "prepare", lambda *_: pictures)
        monkeypatch.setattr(run_module, "collect", lambda *_, **__: Collected(facts=seen))
        monkeypatch.setattr("gpudoctor.benchmark.machine.free_memory", lambda *_: 8 << 30)

        def start(log: Path, environ: Mapping[str, str], _: str) -> Worker:
            if started is not None:
                started.append(dict(environ))
            script = cpu if environ["CUDA_VISIBLE_DEVICES"] == "-1" else gpu
            argv = [sys.executable, str(FAKE), json.dumps(script)]
            return Worker(argv, folder=tmp_path, log=log, environ={**environ, "PATH": os.environ["PATH"]})

        hooks = Hooks(start_worker=start, save=(saved.append if saved is not None else lambda _: None))
        return Run(options, Host(), hooks, tmp_path / "locks").run()

    return run


def by_mode(result: BenchResult) -> dict[Mode, ModeResult]:
    return {Mode(one.mode): one for one in result.modes}


def gpu_facts() -> Facts:
    return facts_of("server-h200", set={"gpus[0].uuid": UUID})


def test_a_machine_without_a_gpu_measures_the_cpu_and_says_why_not_more(run_it: RunIt) -> None:
    modes = by_mode(run_it(BenchOptions()))
    cpu, best = modes[Mode.CPU], modes[Mode.CPU_OPTIMIZED]
    assert cpu.images_per_second is not None and cpu.images_per_second.median == pytest.approx(100, rel=0.01)
    assert best.images_per_second is not None and best.images_per_second.median == pytest.approx(200, rel=0.01)
    assert best.speedup.cpu == pytest.approx(2.0, rel=0.01)
    assert cpu.verdict is best.verdict is Verdict.COMPUTE_BOUND
    assert cpu.gain.without_input == pytest.approx(1.06)
    assert cpu.seconds_per_25000_images == pytest.approx(250, rel=0.01)
    for mode in (Mode.GPU_BASELINE, Mode.GPU_OPTIMIZED):
        assert (modes[mode].status, modes[mode].reason) == (Status.SKIPPED, "no-nvidia-gpu")
        assert modes[mode].detail and modes[mode].images_per_second is None


def test_a_setting_is_kept_only_if_it_wins(run_it: RunIt) -> None:
    best = by_mode(run_it(BenchOptions(modes=BOTH_CPU), {**CPU, "half": 1.8}))[Mode.CPU_OPTIMIZED]
    tried = {item.setting: item for item in best.tried}
    assert tried["cache=memory"].kept and tried["cache=memory"].gain == pytest.approx(12.5)
    assert not tried["precision=bfloat16"].kept
    assert tried["precision=bfloat16"].gain == pytest.approx(1 / 1.8)
    assert not tried["batch_size=64"].kept
    assert best.settings["precision"] == "float32" and best.settings["batch_size"] == 32
    assert not tried["jit_compile=True"].kept and tried["jit_compile=True"].gain is None


def test_what_costs_the_same_whatever_its_size_gets_larger_batches_and_longer_executions(run_it: RunIt) -> None:
    script = {**CPU, "compute_ms": 0.01, "launch_ms": 2.0}
    best = by_mode(run_it(BenchOptions(modes=(Mode.CPU_OPTIMIZED,)), script))[Mode.CPU_OPTIMIZED]
    tried = {item.setting: item.kept for item in best.tried}
    assert tried["batch_size=64"] and tried["batch_size=128"]
    assert best.settings["batch_size"] == 128  # a quarter of the images is the limit
    assert "steps_per_execution=8" in tried


def test_a_precision_that_is_asked_for_is_taken_untried(run_it: RunIt) -> None:
    options = BenchOptions(modes=BOTH_CPU, precision=Precision.FLOAT32, batch_size=16)
    modes = by_mode(run_it(options))
    best = modes[Mode.CPU_OPTIMIZED]
    assert best.settings["precision"] == "float32"
    assert [item.note for item in best.tried if item.setting in ("precision=float32", "batch_size=16")] == [
        "asked for"
    ] * 2
    assert {one.settings["batch_size"] for one in modes.values()} == {16}


def test_rounds_are_interleaved_and_all_values_kept(run_it: RunIt) -> None:
    cpu = by_mode(run_it(BenchOptions(modes=BOTH_CPU)))[Mode.CPU]
    assert cpu.images_per_second is not None and len(cpu.images_per_second.rounds) == 3
    assert len(cpu.raw.epoch_seconds) == 3 and len(cpu.raw.step_seconds) == 3 * 19


def test_two_workers_live_on_a_cpu_and_a_fresh_one_each_round_on_a_gpu(run_it: RunIt) -> None:
    started: list[dict[str, str]] = []
    run_it(BenchOptions(modes=BOTH_CPU), started=started)
    assert len(started) == 3  # one to try settings, two to be measured
    started.clear()
    gpu_only = BenchOptions(modes=(Mode.GPU_BASELINE, Mode.GPU_OPTIMIZED))
    run_it(gpu_only, facts=gpu_facts(), started=started)
    assert {environ["CUDA_VISIBLE_DEVICES"] for environ in started} == {UUID}
    assert {environ["CUDA_DEVICE_ORDER"] for environ in started} == {"PCI_BUS_ID"}
    # One tries settings, two warm up, one for each round but those that find theirs just warmed up, two look closer.
    assert len(started) > 1 + 2 * 3


def test_a_gpu_that_is_worth_it(run_it: RunIt) -> None:
    result = run_it(BenchOptions(), facts=gpu_facts())
    modes = by_mode(result)
    base, best = modes[Mode.GPU_BASELINE], modes[Mode.GPU_OPTIMIZED]
    assert base.verdict is Verdict.INPUT_BOUND
    assert base.gain.without_input == pytest.approx(6.0)
    assert best.settings["precision"] == "float16"
    assert best.speedup.gpu_baseline == pytest.approx(12, rel=0.05)
    assert result.recommendation.mode == "gpu-optimized"
    assert "Train on the GPU" in result.recommendation.text


def test_a_slow_gpu_leads_to_train_on_the_cpu(run_it: RunIt) -> None:
    slow = {**FAST_GPU, "compute_ms": 20.0, "half": 1.0}
    result = run_it(BenchOptions(), facts=gpu_facts(), gpu=slow)
    assert result.recommendation.mode == "cpu-optimized"
    assert result.recommendation.text.startswith("Train on the CPU: the GPU is slower (50 images/s")
    assert "computes no faster" in result.recommendation.text


def test_a_gpu_that_tensorflow_does_not_list_is_not_replaced_by_the_cpu(run_it: RunIt) -> None:
    modes = by_mode(run_it(BenchOptions(), facts=gpu_facts(), gpu={**FAST_GPU, "gpus": []}))
    assert modes[Mode.GPU_BASELINE].status is Status.FAILED
    assert "lists no GPU" in modes[Mode.GPU_BASELINE].reason
    assert modes[Mode.CPU].status is Status.OK


def test_out_of_memory_halves_the_batch_in_a_fresh_process(run_it: RunIt) -> None:
    modes = by_mode(run_it(BenchOptions(modes=BOTH_CPU), {**CPU, "memory_batch": 16}))
    for one in modes.values():
        assert one.status is Status.OK
        assert one.settings["batch_size"] == 16
        assert any("halved to 16" in item.note for item in one.tried)


@pytest.mark.parametrize(
    ("kind", "failure"), [("crash", "signal"), ("kill", "killed"), ("exit", "exit"), ("garbage", "bad-result")]
)
def test_a_mode_that_fails_takes_no_other_with_it(run_it: RunIt, kind: str, failure: str) -> None:
    faults = [{"do": "fit", "when": 2, "as": kind, "input": "ImageDataGenerator"}]
    modes = by_mode(run_it(BenchOptions(modes=BOTH_CPU), {**CPU, "faults": faults}))
    assert (modes[Mode.CPU].status, modes[Mode.CPU].failure) == (Status.FAILED, failure)
    assert "something to be found in the log" in modes[Mode.CPU].log_tail
    assert modes[Mode.CPU_OPTIMIZED].status is Status.OK
    assert modes[Mode.CPU_OPTIMIZED].speedup.cpu is None


def test_a_mode_that_does_not_learn_has_no_speedup(run_it: RunIt) -> None:
    modes = by_mode(run_it(BenchOptions(modes=BOTH_CPU), {**CPU, "accuracy": 0.5}))
    for one in modes.values():
        assert one.learns is not None and not one.learns.ok and one.learns.updates >= 93
        assert one.speedup.cpu is None


def test_all_modes_are_examined_after_as_many_updates(run_it: RunIt) -> None:
    script = {**CPU, "launch_ms": 200.0}  # so that larger batches win
    modes = by_mode(run_it(BenchOptions(modes=BOTH_CPU), script))
    assert modes[Mode.CPU_OPTIMIZED].settings["batch_size"] == 128
    updates = [one.learns.updates for one in modes.values() if one.learns]
    assert len(updates) == 2 and min(updates) >= 93 and max(updates) - min(updates) < 20


def test_a_spent_budget_names_what_was_left_out(run_it: RunIt) -> None:
    result = run_it(BenchOptions(modes=BOTH_CPU, budget_seconds=60.0), {**CPU, "compute_ms": 40.0})
    assert any(text.startswith("the learning check") for text in result.dropped)
    assert any("training images" in text for text in result.dropped)
    modes = by_mode(result)
    assert modes[Mode.CPU].images_per_second is not None
    assert modes[Mode.CPU].learns is None


def test_unknown_data_wait_is_not_zero(run_it: RunIt) -> None:
    assert by_mode(run_it(BenchOptions(modes=(Mode.CPU,))))[Mode.CPU].data_wait is None
    shares = {"wait": 0.25, "python": 0.5}
    one = by_mode(run_it(BenchOptions(modes=(Mode.CPU,)), {**CPU, "shares": shares}))[Mode.CPU]
    assert (one.data_wait, one.time_shares) == (0.25, {"python": 0.5})


def test_quick_runs_one_round(run_it: RunIt) -> None:
    one = by_mode(run_it(BenchOptions(modes=(Mode.CPU,), effort=Effort.QUICK), verify=False))[Mode.CPU]
    assert one.images_per_second is not None and len(one.images_per_second.rounds) == 1
    assert one.learns is None


def test_an_interruption_keeps_what_was_measured(run_it: RunIt, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gpudoctor.benchmark.group.Group._diagnose", stop)
    result = run_it(BenchOptions())
    assert result.interrupted
    modes = by_mode(result)
    assert modes[Mode.CPU].images_per_second is not None and modes[Mode.CPU].status is Status.OK
    assert modes[Mode.CPU].verdict is Verdict.UNKNOWN


def test_results_are_saved_after_each_device_and_can_be_read_again(run_it: RunIt) -> None:
    saved: list[BenchResult] = []
    result = run_it(BenchOptions(), facts=gpu_facts(), saved=saved)
    assert len(saved) == 3
    assert by_mode(saved[0])[Mode.CPU].status is Status.OK
    assert by_mode(saved[0])[Mode.GPU_BASELINE].status is Status.SKIPPED
    assert decode(encode(result).encode()) == result
    assert "gpu-baseline" in msgspec.json.decode(encode(result))["modes"][0]["speedup"]


def test_one_benchmark_at_a_time_on_a_gpu(run_it: RunIt, tmp_path: Path) -> None:
    with DeviceLock(tmp_path / "locks", UUID):
        modes = by_mode(run_it(BenchOptions(), facts=gpu_facts()))
        with pytest.raises(DeviceBusyError), DeviceLock(tmp_path / "locks", UUID):
            pass
    assert modes[Mode.GPU_BASELINE].status is Status.SKIPPED
    assert "another" in modes[Mode.GPU_BASELINE].reason
    assert modes[Mode.CPU].status is Status.OK


def test_gpu_modes_can_be_tried_with_the_cpu_in_place_of_the_gpu(run_it: RunIt) -> None:
    started: list[dict[str, str]] = []
    options = BenchOptions(modes=(Mode.GPU_BASELINE, Mode.GPU_OPTIMIZED), stand_in_gpu=True)
    modes = by_mode(run_it(options, started=started))
    assert all(one.status is Status.OK and one.gpu is None for one in modes.values())
    assert len(started) > 1 + 2 * 3
    assert {environ["CUDA_VISIBLE_DEVICES"] for environ in started} == {"-1"}


def test_a_device_of_its_own_is_foretold_by_its_slower_part(run_it: RunIt) -> None:
    script = {**CPU, "compute_ms": 0.3125, "input_ms": 2.0, "decode_ms": 0.5, "cached_ms": 0.3}
    options = BenchOptions(modes=BOTH_CPU, batch_size=32, fake_accelerator_ms=0.3125)
    modes = by_mode(run_it(options, script))
    base, best = modes[Mode.CPU], modes[Mode.CPU_OPTIMIZED]
    assert base.verdict is Verdict.INPUT_BOUND
    assert base.gain.without_input == pytest.approx(best.speedup.cpu, rel=0.05)
    assert base.learns is None  # a device that only sleeps learns nothing
