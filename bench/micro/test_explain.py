"""How long `gpudoctor explain` takes: against grep on large logs, against `import typer` on a paste.

Run `python -m pytest bench/micro/test_explain.py -s`. GPUDOCTOR_BENCH_MB sets the size of the logs (200; the goals are
for 1024). Rounds are interleaved, so that a machine that slows down slows down all. The literals given to grep are all
those of the message table; the share of lines with one of them is printed.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudoctor.logs.messages import MESSAGES
from tests.installing import build, install, new_environment

MEGABYTES = int(os.environ.get("GPUDOCTOR_BENCH_MB", "200"))
ROUNDS = int(os.environ.get("GPUDOCTOR_BENCH_ROUNDS", "3"))
PASTE_ROUNDS = 15
PLAIN_LIMIT, PROGRESS_LIMIT, PASTE_LIMIT = 3.0, 5.0, 2.2
MEMORY_LIMIT_KB = 200 * 1024
STEPS = 2000

PASTE = """\
$ nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |
|  0%   41C    P8    12W / 170W |    512MiB / 12053MiB |      3%      Default |
+-------------------------------+----------------------+----------------------+
$ python -c "import tensorflow as tf; print(tf.__version__)"
2.10.0
$ python train.py
2022-10-10 10:00:00.000001: I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary is optimized
2022-10-10 10:00:00.000002: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic \
library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such file or directory
"""

pytestmark = pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gpudoctor, installed from its wheel: pip compiles its bytecode."""
    folder = tmp_path_factory.mktemp("explain")
    build(folder)
    (wheel,) = folder.glob("*.whl")
    python = new_environment(folder / "env")
    install(python, wheel)
    return python.parent / "gpudoctor"


def plain_lines() -> Iterator[bytes]:
    """A service's log; a line of ours in each five hundred."""
    randomness = random.Random(1)  # noqa: S311 (the same bytes on each machine)
    while True:
        lines = [
            f"2024-03-01 10:{i % 60:02d}:11.{i:06d}: I app/worker_{i % 7}.cc:{i}] step {i} request id="
            f"{randomness.randrange(10**6)} status=OK latency={i % 300}ms queue depth {i % 17}"
            for i in range(2000)
        ]
        for place in range(250, 2000, 500):
            lines[place] = "2024: W gpu_device.cc:1] Cannot dlopen some GPU libraries. Please make sure"
        yield "\n".join(lines).encode() + b"\n"


def progress_lines() -> Iterator[bytes]:
    """A training's log: a line for each epoch, full of updates of its bar."""
    randomness = random.Random(2)  # noqa: S311 (the same bytes on each machine)
    epoch = 0
    while True:
        epoch += 1
        updates = [
            f"\r\x1b[1m{step:5d}/{STEPS}\x1b[0m \x1b[37m{'━' * 20}\x1b[0m \x1b[1m{(STEPS - step) // 50}s\x1b[0m "
            f"{randomness.randrange(20, 40)}ms/step - accuracy: 0.{randomness.randrange(1000, 9999)} - loss: 0.6931"
            for step in range(1, STEPS + 1)
        ]
        yield f"Epoch {epoch}/9999\n{''.join(updates)}\n".encode()


def write(path: Path, blocks: Iterator[bytes]) -> int:
    """Write a log of the wanted size; return its number of lines."""
    size = lines = 0
    with path.open("wb") as file:
        while size < MEGABYTES * 2**20:
            block = next(blocks)
            size += file.write(block)
            lines += block.count(b"\n")
    return lines


def usage(argv: list[str], given: bytes = b"", environ: dict[str, str] | None = None) -> tuple[float, int, bytes]:
    """Return wall time, peak memory (KB) of all children so far, and output of a command."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    started = time.perf_counter()
    done = subprocess.run(argv, input=given, env={**ours, **(environ or {})}, capture_output=True, check=False)
    elapsed = time.perf_counter() - started
    assert done.returncode in (0, 1, 3), done.stderr[-500:]
    return elapsed, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.stdout


@pytest.mark.parametrize(
    ("name", "blocks", "limit"),
    [("plain", plain_lines, PLAIN_LIMIT), ("progress", progress_lines, PROGRESS_LIMIT)],
    ids=["plain", "progress"],
)
def test_large_log(
    name: str, blocks: Callable[[], Iterator[bytes]], limit: float, program: Path, tmp_path: Path
) -> None:
    path, words = tmp_path / f"{name}.log", tmp_path / "literals"
    lines = write(path, blocks())
    literals = sorted({literal for message in MESSAGES for literal in message.literals})
    words.write_text("\n".join(literals) + "\n", "utf-8")
    grep = ["grep", "-c", "-F", "-f", str(words), str(path)]
    usage(grep, environ={"LC_ALL": "C"})
    pairs = [(usage([str(program), "explain", str(path)]), usage(grep, environ={"LC_ALL": "C"})) for _ in range(ROUNDS)]
    ours, theirs = min(pair[0][0] for pair in pairs), min(pair[1][0] for pair in pairs)
    hits, memory = int(pairs[0][1][2]), max(pair[0][1] for pair in pairs)
    sys.stdout.write(
        f"\n{name}, {MEGABYTES} MB, {len(literals)} literals, {hits} of {lines} lines hit: {ours:.2f} s / grep "
        f"{theirs:.2f} s = {ours / theirs:.2f}; at most {memory // 1024} MB\n"
    )
    assert ours <= limit * theirs
    assert memory < MEMORY_LIMIT_KB


def test_paste(program: Path) -> None:
    paste = (PASTE * 5).encode()
    assert paste.count(b"\n") >= 60
    argv = [str(program), "explain", "-"]
    typer = [str(program.parent / "python"), "-c", "import typer"]
    usage(argv, paste)
    pairs = [(usage(argv, paste)[0], usage(typer)[0]) for _ in range(PASTE_ROUNDS)]
    ours, theirs = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    sys.stdout.write(f"\npaste: {ours:.3f} s / import typer {theirs:.3f} s = {ours / theirs:.2f}\n")
    assert ours <= PASTE_LIMIT * theirs
