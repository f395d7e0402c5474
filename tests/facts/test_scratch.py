"""The temporary folder that goes with its process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.facts import scratch
from gpudoctor.facts.scratch import scratch_folder

PROGRAM = """
import sys, time
from gpudoctor.facts.scratch import scratch_folder
with scratch_folder(parent=__import__("pathlib").Path(sys.argv[1])) as folder:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with scratch_folder("it's a-", tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("it's a-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_renamed_stays_where_it_went(tmp_path: Path) -> None:
    with scratch_folder(parent=tmp_path) as folder:
        folder.rename(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_without_a_shell_it_is_removed_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SHELL", str(tmp_path / "no shell"))
    with scratch_folder(parent=tmp_path) as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_it_goes_with_its_process(tmp_path: Path, number: signal.Signals) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "deep" / "file").exists()
        os.kill(process.pid, number)
        process.wait(30)
    deadline = time.monotonic() + 30
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []
