"""The stand-in for libcuda is enough for the real TensorFlow to print its real messages."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.fakes.build import RTX_4090, Profile, StandIns

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
HEALTHY = Profile(gpus=(RTX_4090,))


def start(environ: dict[str, str]) -> str:
    """Return what TensorFlow prints while it lists devices."""
    done = subprocess.run(
        [sys.executable, "-c", "import tensorflow; print(tensorflow.config.list_physical_devices('GPU'))"],
        env={**os.environ, **environ, "TF_CPP_MIN_LOG_LEVEL": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_failed_cuinit_is_told_with_name_and_text(stand_ins: StandIns) -> None:
    log = start(stand_ins(HEALTHY.but(fail__cuInit=803)))
    expected = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver / cuda driver combination"
    assert f"failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: {expected}" in log


def test_a_started_driver_without_cuda_libraries(stand_ins: StandIns) -> None:
    log = start(stand_ins(HEALTHY))
    assert "failed call to cuInit" not in log
    assert "Cannot dlopen some GPU libraries." in log
    assert log.rstrip().endswith("[]")
