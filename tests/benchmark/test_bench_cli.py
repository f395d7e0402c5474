"""The command: options, exit status, what is printed and written; and one real run from its beginning to its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpudoctor.benchmark import options as choices
from gpudoctor.benchmark.data_model import DataError
from gpudoctor.benchmark.options import BenchOptions, Effort, Mode
from gpudoctor.benchmark.results import BenchResult, ModeResult, Status
from gpudoctor.benchmark.run import BenchError
from gpudoctor.cli import app
from tests.benchmark.test_bench_report import BASE, SKIPPED, result

RUNNER = CliRunner()
BENCH = sys.modules["gpudoctor.cli.bench"]
FAILED = ModeResult(mode="cpu", status=Status.FAILED, reason="it crashed", failure="signal")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[BenchOptions]:
    """Options with which a benchmark was started; it ends at once."""
    seen: list[BenchOptions] = []

    def run(options: BenchOptions, _: list[Path]) -> BenchResult:
        seen.append(options)
        return result(BASE, SKIPPED)

    monkeypatch.setattr(BENCH, "_run", run)
    return seen


def test_the_choices_of_the_command_are_those_of_the_benchmark() -> None:
    assert [one.value for one in BENCH.Augment] == [one.value for one in choices.Augment]
    assert [one.value for one in BENCH.Precision] == [one.value for one in choices.Precision]


def test_options_arrive(asked: list[BenchOptions]) -> None:
    line = "bench --modes gpu-optimized,cpu --image-size 96 --batch-size 16 --epochs 2 --images 64 --augment full"
    line += " --precision bfloat16 --gpu 1 --python py --budget 60 --quick --verify --seed 7 --data images"
    assert RUNNER.invoke(app, line.split()).exit_code == 0
    (one,) = asked
    assert one.modes == (Mode.CPU, Mode.GPU_OPTIMIZED)
    assert (one.image_size, one.batch_size, one.epochs, one.images, one.seed) == (96, 16, 2, 64, 7)
    assert (one.augment.value, one.precision.value, one.gpu, one.python) == ("full", "bfloat16", "1", "py")
    assert (one.budget_seconds, one.effort, one.verify, one.data) == (60.0, Effort.QUICK, True, "images")
    assert one.fake_accelerator_ms == 0 and not one.stand_in_gpu


def test_the_default_asks_for_all_modes_in_three_minutes(asked: list[BenchOptions]) -> None:
    assert RUNNER.invoke(app, ["bench"]).exit_code == 0
    assert asked == [BenchOptions()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bench --modes cpu,tpu", "tpu is no mode"),
        ("bench --modes ,", "nothing is no mode"),
        ("bench --quick --full", "exclude each other"),
        ("bench --image-size 10", ""),
        ("bench --augment much", ""),
        ("bench -o yaml=x", ""),
    ],
)
def test_wrong_usage_exits_with_2(asked: list[BenchOptions], line: str, words: str) -> None:
    done = RUNNER.invoke(app, line.split())
    assert done.exit_code == 2
    assert words in done.output
    assert not asked


@pytest.mark.parametrize(
    ("modes", "interrupted", "status"),
    [((BASE, SKIPPED), False, 0), ((SKIPPED,), False, 1), ((BASE, FAILED), False, 1), ((BASE,), True, 130)],
)
def test_exit_status(
    monkeypatch: pytest.MonkeyPatch, modes: tuple[ModeResult, ...], interrupted: bool, status: int
) -> None:
    from msgspec.structs import replace

    monkeypatch.setattr(BENCH, "_run", lambda *_: replace(result(*modes), interrupted=interrupted))
    assert RUNNER.invoke(app, ["bench"]).exit_code == status


def test_both_formats_can_be_written(asked: list[BenchOptions], tmp_path: Path) -> None:
    text = tmp_path / "bench.txt"
    done = RUNNER.invoke(app, ["bench", "--format", "json", "-o", f"text={text}"])
    assert json.loads(done.stdout)["modes"][0]["mode"] == "cpu"
    assert "Where the time goes" in text.read_text("utf-8")


@pytest.mark.parametrize("error", [DataError("there is no Pillow"), BenchError("there is no such Python")])
def test_what_keeps_it_from_starting_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("gpudoctor.benchmark.run.Run.run", fail)
    done = RUNNER.invoke(app, ["bench"])
    assert done.exit_code == 2
    assert done.output == f"gpudoctor: {error}\n"


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gpudoctor", "bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


SMALL = ("--modes", "cpu,cpu-optimized", "--image-size", "64", "--images", "64", "--batch-size", "16", "--quick")


@pytest.mark.xdist_group("bench-worker")
def test_a_real_run_gives_consistent_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    path = tmp_path / "bench.json"
    done = started(*SMALL, "--precision", "float32", "-o", f"json={path}", "--budget", "600")
    out, err = done.communicate(timeout=900)
    assert done.returncode == 0, err
    assert "Where the time goes" in out
    content = json.loads(path.read_text("utf-8"))
    cpu, best = content["modes"]
    for one in (cpu, best):
        rate = one["images_per_second"]
        assert one["status"] == "ok" and rate["min"] <= rate["median"] <= rate["max"]
        assert one["seconds_per_25000_images"] == pytest.approx(25_000 / rate["median"])
        assert one["verdict"] in ("compute-bound", "balanced", "input-bound")
        assert one["cpu_ms_per_image"] > 0 and one["first_step_seconds"] > 0
        assert all(one["ceilings"][name] > 0 for name in ("input_only", "compute_only", "decode_floor"))
        assert one["data_wait"] is None or 0 <= one["data_wait"] <= 1  # so few steps may end before the window starts
        assert one["gpu"] is None and one["learns"] is None
        assert one["environment"]["CUDA_VISIBLE_DEVICES"] == "-1"
        assert one["settings"]["batch_size"] == 16 and one["settings"]["precision"] == "float32"
    assert cpu["speedup"]["cpu"] == 1.0
    assert best["speedup"]["cpu"] == pytest.approx(
        best["images_per_second"]["median"] / cpu["images_per_second"]["median"]
    )
    assert cpu["settings"]["input"] == "ImageDataGenerator" and best["settings"]["input"] == "tf.data"
    assert any(item["setting"].startswith("cache=") for item in best["tried"])
    saved = list((tmp_path / "state").rglob("gpudoctor-bench-*.json"))
    assert len(saved) == 1 and json.loads(saved[0].read_text("utf-8")) == content


@pytest.mark.xdist_group("bench-worker")
def test_an_interruption_leaves_no_child_and_exits_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    process = started(*SMALL, "--format", "json")
    workers = b""
    deadline = time.monotonic() + 120
    while not workers and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
        workers = _workers_of(process.pid)
    assert workers, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["interrupted"] is True
    for worker in workers.split():
        assert not _runs(int(worker))


def _workers_of(parent: int) -> bytes:
    done = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, check=False)
    lines = [line.split(None, 1) for line in done.stdout.splitlines()]
    return b" ".join(line[0] for line in lines if b"gpudoctor_workloads" in line[1])


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    return False
