"""Workers that misbehave in every way: each ends as a known failure, and nothing of them is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpudoctor.benchmark.process import Failure, Worker, WorkerError, log_says
from gpudoctor.benchmark.protocol import Hello, ask
from gpudoctor.logs.reader import read_log

FAKE = Path(__file__).with_name("fake_worker.py")


@contextmanager
def worker(folder: Path, **script: object) -> Iterator[Worker]:
    started = Worker(
        [sys.executable, str(FAKE), json.dumps(script)], folder=folder, log=folder / "log", environ=dict(os.environ)
    )
    try:
        yield started
    finally:
        started.close(at_once=True)


def fault(kind: str) -> dict[str, object]:
    return {"faults": [{"do": "hello", "as": kind}]}


def group_is_gone(pid: int) -> bool:
    # Zombies of orphans may wait for init to reap them: they are gone all the same.
    done = subprocess.run(
        ["ps", "-o", "stat=", "--no-headers", "-s", str(pid)], capture_output=True, text=True, check=False
    )
    return all(line.strip().startswith("Z") for line in done.stdout.splitlines())


def test_answers_are_typed(tmp_path: Path) -> None:
    with worker(tmp_path) as one:
        assert ask(one, Hello, "hello", seconds=30).tensorflow == "2.20.0"


@pytest.mark.parametrize(
    ("kind", "failure", "text"),
    [
        ("exit", Failure.EXIT, "exit status 3"),
        ("crash", Failure.SIGNAL, "SIGSEGV"),
        ("kill", Failure.KILLED, "memory"),
        ("garbage", Failure.BAD_RESULT, "cannot be read"),
        ("list", Failure.BAD_RESULT, "cannot be read"),
        ("wrong-id", Failure.BAD_RESULT, "not asked"),
        ("empty", Failure.BAD_RESULT, "memory_peak_bytes"),
        ("fail", Failure.FAILED, "ValueError: no"),
    ],
)
def test_each_misdeed_is_a_known_failure(tmp_path: Path, kind: str, failure: Failure, text: str) -> None:
    with worker(tmp_path, **fault(kind)) as one, pytest.raises(WorkerError, match=text) as caught:
        ask(one, Hello, "hello", seconds=30)
    assert caught.value.failure is failure


def test_a_failure_brings_the_end_of_the_log(tmp_path: Path) -> None:
    with worker(tmp_path, **fault("exit")) as one, pytest.raises(WorkerError) as caught:
        ask(one, Hello, "hello", seconds=30)
    assert "something to be found in the log" in caught.value.log


def test_a_worker_that_hangs_is_given_up_at_the_deadline(tmp_path: Path) -> None:
    with worker(tmp_path, **fault("hang")) as one:
        with pytest.raises(WorkerError) as caught:
            ask(one, Hello, "hello", seconds=1)
        pid = one.pid
    assert caught.value.failure is Failure.TIMEOUT
    assert group_is_gone(pid)


def test_a_grandchild_that_holds_the_channel_does_not_outlive_its_worker(tmp_path: Path) -> None:
    with worker(tmp_path, **fault("orphan")) as one:
        with pytest.raises(WorkerError):
            ask(one, Hello, "hello", seconds=2)
        pid = one.pid
    deadline = time.monotonic() + 10
    while not group_is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert group_is_gone(pid)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="could not be started") as caught:
        Worker([str(tmp_path / "nothing")], folder=tmp_path, log=tmp_path / "log", environ={})
    assert caught.value.failure is Failure.NOT_STARTED


def test_a_worker_whose_input_ends_leaves_by_itself(tmp_path: Path) -> None:
    with worker(tmp_path) as one:
        ask(one, Hello, "hello", seconds=30)
        pid = one.pid
        one.close()
    assert group_is_gone(pid)


def test_a_log_explains_a_failure_and_says_nothing_of_notices() -> None:
    log = b"oneDNN custom operations are on\nOOM when allocating tensor with shape[64,150,150,32] on GPU:0\n"
    error = WorkerError(Failure.EXIT, "x", events=tuple(read_log((log,))))
    assert {event.message for event in error.events} >= {"onednn-notice"}
    assert len(error.events) > 1
    said = log_says(error, on_gpu=True)
    assert "memory" in said and "oneDNN" not in said
    assert log_says(WorkerError(Failure.EXIT, "x"), on_gpu=True) == ""
