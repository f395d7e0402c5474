"""Whole machines from driver to verdict: `gpudoctor check` as a process over stand-ins for driver and TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.facts.host import LOG_TAIL_BYTES
from gpudoctor.rules.registry import load_rules
from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write
from tests.fakes.build import GEFORCE_940M, RTX_4090, Profile, StandIns

LAPTOP = Profile(driver_version="470.57.02", cuda_version=11040, gpus=(GEFORCE_940M,))
DESKTOP = Profile(driver_version="535.183.01", cuda_version=12020, gpus=(RTX_4090,))
# Far from any run that is not stuck; what hangs is ended by a limit of its own.
STUCK_SECONDS = 300.0
HIDDEN = ("CUDA_", "NVIDIA_", "TF_", "VIRTUAL_ENV", "CONDA_", "LD_LIBRARY_PATH", "PYTHONPATH")

needs_tensorflow = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@dataclass(frozen=True)
class Checked:
    """What one run gave."""

    status: int
    report: dict[str, Any]  # JSON
    text: str
    seconds: float

    def items(self, name: str) -> list[dict[str, Any]]:
        found = self.report[name]
        assert isinstance(found, list)
        return found

    def rules(self, severity: str) -> list[object]:
        """Return the rules with a root cause of this severity."""
        wanted = (severity, "root-cause")
        return [item["rule"] for item in self.items("findings") if (item["severity"], item["role"]) == wanted]

    def fact(self, path: str) -> dict[str, Any]:
        found: Any = self.report["facts"]
        for step in path.split("."):
            found = found[int(step)] if isinstance(found, list) else found[step]
        assert isinstance(found, dict)
        return found

    def assert_complete(self) -> None:
        """Every rule ended, none by a fault of ours, and the other probes were not disturbed."""
        assert [item["rule"] for item in self.items("checks")] == list(load_rules())
        assert [item for item in self.items("checks") if item["outcome"] == "error"] == []
        assert self.fact("host.os")["state"] == "known"
        assert self.fact("python.version")["state"] == "known"
        assert self.fact("driver.cuda_init")["state"] == "known"
        assert self.fact("gpus.0.name")["state"] == "known"


def check(tmp_path: Path, environ: Mapping[str, str], *arguments: str) -> Checked:
    """Run `gpudoctor check` for a text and a JSON file."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(HIDDEN)}
    file = tmp_path / "report.json"
    argv = [sys.executable, "-m", "gpudoctor", "check", *arguments, "-o", f"json={file}"]
    started = time.monotonic()
    done = subprocess.run(
        argv, env={**ours, **environ}, capture_output=True, text=True, timeout=STUCK_SECONDS, check=False
    )
    seconds = time.monotonic() - started
    assert done.stderr == ""
    return Checked(done.returncode, json.loads(file.read_text()), done.stdout, seconds)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment with a TensorFlow 2.21 that looks like the real one from outside."""
    made = make_environment(tmp_path)
    add_tensorflow(made.site)
    add_distribution(made.site, "keras", "3.12.0")
    return made


def test_old_laptop_has_two_causes_and_one_remedy(
    tmp_path: Path, stand_ins: StandIns, environment: Environment
) -> None:
    done = check(tmp_path, stand_ins(LAPTOP), "--quick", "--python", environment.python)
    assert done.status == 1
    causes = {"gpu-arch-too-old-for-wheel", "driver-too-old-for-cuda"}
    assert set(done.rules("error")) == causes
    assert done.rules("warning") == []
    (remedy,) = done.items("remedies")
    assert set(remedy["fixes"]) == causes
    # The newest TensorFlow with code for compute capability 5.0 and CUDA 11, which driver 470 serves.
    assert "tensorflow==2.14.1 " in "\n".join(remedy["commands"])
    assert done.text.count("mends driver-too-old-for-cuda, gpu-arch-too-old-for-wheel") == 1


def test_healthy_desktop_has_no_warning(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    done = check(tmp_path, stand_ins(DESKTOP), "--quick", "--python", environment.python, "--fail-on", "warning")
    assert (done.status, done.report["verdict"]) == (0, "ok")
    assert done.rules("error") == done.rules("warning") == []
    assert done.text.splitlines()[-1] == "OK: no fault found; TensorFlow was not started"


def test_nvml_that_hangs(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    stuck = stand_ins(DESKTOP.but(hang__nvmlInitWithFlags=1))
    done = check(tmp_path, stuck, "--quick", "--timeout", "1", "--python", environment.python)
    done.assert_complete()
    assert done.rules("warning") == ["driver-did-not-answer"]
    assert "NVML did not answer in 1 s" in done.text


def test_driver_that_hangs_everywhere(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    stuck = stand_ins(DESKTOP.but(hang__nvmlInitWithFlags=1, hang__cuInit=1))
    done = check(tmp_path, stuck, "--quick", "--timeout", "1", "--python", environment.python)
    assert done.status == 1
    assert done.rules("error") == ["driver-did-not-answer"]
    # Asked side by side: one limit, not two; far below what asking in turn with default limits would take.
    assert done.seconds < 2 * 10


def test_tensorflow_that_aborts(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    write(environment.site / "tensorflow" / "__init__.py", "import os\nos.abort()\n")
    done = check(tmp_path, stand_ins(DESKTOP), "--python", environment.python)
    done.assert_complete()
    assert (done.status, done.rules("error")) == (1, ["tensorflow-import-fails"])
    assert "SIGABRT" in done.text


def test_tensorflow_that_hangs(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    write(environment.site / "tensorflow" / "__init__.py", "import time\ntime.sleep(600)\n")
    done = check(tmp_path, stand_ins(DESKTOP), "--tensorflow-timeout", "2", "--python", environment.python)
    done.assert_complete()
    assert (done.status, done.rules("error")) == (1, ["tensorflow-import-fails"])


def test_tensorflow_that_prints_100_mb(tmp_path: Path, stand_ins: StandIns, environment: Environment) -> None:
    code = (
        "import os\nfor _ in range(1600): os.write(2, b'x' * 65535 + b'\\n')\nos.write(2, b'the end\\n')\nos.abort()\n"
    )
    write(environment.site / "tensorflow" / "__init__.py", code)
    done = check(tmp_path, stand_ins(DESKTOP), "--python", environment.python)
    done.assert_complete()
    assert done.rules("error") == ["tensorflow-import-fails"]
    log = done.fact("tensorflow.log_tail")["value"]
    assert "the end" in log
    assert len(log) <= LOG_TAIL_BYTES


@pytest.fixture(scope="module")
def real(stand_ins: StandIns, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """The real TensorFlow, started once, over a driver that answers and a GPU without CUDA libraries."""
    return check(tmp_path_factory.mktemp("real"), stand_ins(DESKTOP), "--python", sys.executable)


@needs_tensorflow
@pytest.mark.xdist_group("real-tensorflow")
def test_real_tensorflow_over_a_stand_in_driver(real: Checked) -> None:
    real.assert_complete()
    assert real.fact("tensorflow.run")["value"]["outcome"] == "ok"
    assert real.fact("tensorflow.version")["value"] == find_version()
    devices = real.fact("tensorflow.devices")["value"]
    assert [item["name"] for item in devices] == ["CPU:0"]


@needs_tensorflow
@pytest.mark.xdist_group("real-tensorflow")
def test_a_gpu_that_tensorflow_does_not_list_is_never_called_healthy(real: Checked) -> None:
    assert real.status != 0
    assert real.report["verdict"] in ("errors", "unknown")
    outcomes = {item["rule"]: item["outcome"] for item in real.items("checks")}
    assert outcomes["gpu-works"] != "pass"


@needs_tensorflow
@pytest.mark.xdist_group("real-tensorflow")
def test_real_tensorflow_over_a_failing_cuinit(tmp_path: Path, stand_ins: StandIns) -> None:
    environ = stand_ins(DESKTOP.but(fail__cuInit=803))
    done = check(tmp_path, environ, "--python", sys.executable)
    assert done.status == 1
    assert "driver-library-mismatch" in done.rules("error")
    events = done.fact("tensorflow.events")["value"]
    assert "cuinit-failed" in [item["message"] for item in events]


def find_version() -> str:
    from importlib.metadata import version

    return version("tensorflow")
