"""How long a check takes beside the TensorFlow that it judges: two ratios, measured in one run on one interpreter.

Run `python -m pytest bench/micro/test_startup.py -s`. The wheel is built and installed first, since pip compiles its
bytecode as it does that of TensorFlow. Rounds are interleaved, so that a machine that slows down slows down all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.installing import build, install, new_environment

ROUNDS = int(os.environ.get("GPUDOCTOR_BENCH_ROUNDS", "5"))
QUICK_LIMIT = 0.10
CHECK_LIMIT = 1.2

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with gpudoctor installed from its wheel, and with our TensorFlow."""
    folder = tmp_path_factory.mktemp("startup")
    build(folder)
    (wheel,) = folder.glob("*.whl")
    found = new_environment(folder / "env")
    install(found, wheel)
    return found


def seconds(argv: list[str], cwd: Path) -> float:
    """Return the wall time of a command that writes to nobody."""
    hidden = ("PYTHON", "VIRTUAL_ENV", "CONDA_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    started = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    elapsed = time.perf_counter() - started
    assert done.returncode in (0, 1, 3), argv
    return elapsed


def compare(name: str, ours: list[str], theirs: list[str], cwd: Path) -> float:
    """Print and return the ratio of the median times of two commands."""
    for argv in (ours, theirs):  # files into the cache
        seconds(argv, cwd)
    pairs = [(seconds(ours, cwd), seconds(theirs, cwd)) for _ in range(ROUNDS)]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio: float = first / second
    spread = sorted(left / right for left, right in pairs)
    sys.stdout.write(
        f"\n{name}: {first:.3f} s / {second:.3f} s = {ratio:.3f}"
        f" (medians of {ROUNDS} rounds; by round {spread[0]:.3f} to {spread[-1]:.3f})\n"
    )
    return ratio


def test_quick_check_beside_importing_tensorflow(python: Path, tmp_path: Path) -> None:
    ours = [str(python.parent / "gpudoctor"), "check", "--quick"]
    assert compare("check --quick", ours, [str(python), "-c", "import tensorflow"], tmp_path) <= QUICK_LIMIT


def test_check_beside_listing_devices(python: Path, tmp_path: Path) -> None:
    ours = [str(python.parent / "gpudoctor"), "check"]
    code = "import tensorflow as tf; tf.config.list_physical_devices()"
    assert compare("check", ours, [str(python), "-c", code], tmp_path) <= CHECK_LIMIT
