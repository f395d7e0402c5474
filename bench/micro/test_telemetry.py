"""What telemetry costs the process that is measured, and itself: `python -m pytest bench/micro/test_telemetry.py -s`.

Over the stand-in for NVML of the tests, so it needs a C compiler and no GPU.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.telemetry import Telemetry
from tests.fakes.build import RTX_4090, Profile, build, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the stand-in of NVML")
SECONDS = 3.0


@pytest.fixture
def telemetry(tmp_path: Path) -> Iterator[Telemetry]:
    environ = build(Profile(gpus=(RTX_4090,)), tmp_path)
    one = Telemetry(str(RTX_4090.uuid), {**os.environ, **environ})
    yield one
    one.close()


def work() -> float:
    """Return the processor time of a fixed piece of work in this process."""
    began = time.process_time()
    sum(number * number for number in range(300_000))
    return time.process_time() - began


def test_sampling_takes_next_to_nothing_of_one_core(telemetry: Telemetry) -> None:
    calm = [work() for _ in range(9)]
    telemetry.begin(Mode.GPU_BASELINE)
    time.sleep(SECONDS)
    before = telemetry.cpu_seconds()
    began = time.monotonic()
    watched = [work() for _ in range(9)]
    time.sleep(SECONDS)
    share = (telemetry.cpu_seconds() - before) / (time.monotonic() - began)
    telemetry.end(Mode.GPU_BASELINE)
    use = telemetry.use(Mode.GPU_BASELINE)
    ratio = statistics.median(watched) / statistics.median(calm)
    samples = use.samples if use else 0
    print(f"\n{samples} samples in {2 * SECONDS:.0f} s; {share:.2%} of a core; work beside it {ratio:.3f}")
    assert use is not None and 2 <= use.samples / (2 * SECONDS) <= 10
    assert share < 0.05
