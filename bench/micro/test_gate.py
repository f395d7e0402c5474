"""How long the gate takes beside the TensorFlow that it guards: a quick check with a policy and four outputs.

Run `python -m pytest bench/micro/test_gate.py -s`. As in test_startup.py the wheel is installed first and rounds are
interleaved. A busy machine stretches wall times unevenly: the ratio of processor times is printed as well.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.installing import build, install, new_environment

ROUNDS = int(os.environ.get("GPUDOCTOR_BENCH_ROUNDS", "5"))
LIMIT = 0.10
POLICY = """
expect = "cpu"
min_gpus = 0
min_memory = "8 GiB"
tensorflow = ">=2.10"
python = ">=3.8"
min_shm = "64 MB"
ignore = [{ rule = "thermal-or-power-throttle", until = 2999-01-01 }]
[severity]
no-mixed-precision = "note"
"""
OUTPUTS = ("junit=gate.xml", "sarif=gate.sarif", "markdown=gate.md", "json=gate.json")

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


def spent(argv: list[str], cwd: Path) -> tuple[float, float]:
    """Return wall time and processor time, in seconds, of a command with its children."""
    hidden = ("PYTHON", "VIRTUAL_ENV", "CONDA_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1, 3), done.stderr
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_the_gate_beside_importing_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    build(tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    python = new_environment(tmp_path / "env")
    install(python, wheel)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "gpudoctor.toml").write_text(POLICY)
    ours = [str(python.parent / "gpudoctor"), "check", "--quick"]
    ours += [part for output in OUTPUTS for part in ("-o", output)]
    theirs = [str(python), "-c", "import tensorflow"]
    for argv in (ours, theirs):  # files into the cache
        spent(argv, folder)
    assert len(list(folder.glob("gate.*"))) == len(OUTPUTS)
    rounds = [(spent(ours, folder), spent(theirs, folder)) for _ in range(ROUNDS)]
    wall = _ratio("wall", [(first[0], second[0]) for first, second in rounds])
    processor = _ratio("processor", [(first[1], second[1]) for first, second in rounds])
    assert min(wall, processor) <= LIMIT


def _ratio(name: str, pairs: list[tuple[float, float]]) -> float:
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio: float = first / second
    spread = sorted(left / right for left, right in pairs)
    sys.stdout.write(
        f"\n{name} time of the gate: {first:.3f} s / {second:.3f} s = {ratio:.3f}"
        f" (medians of {len(pairs)} rounds; by round {spread[0]:.3f} to {spread[-1]:.3f})\n"
    )
    return ratio
