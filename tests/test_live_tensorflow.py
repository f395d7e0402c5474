"""What a TensorFlow that is started says and does, and what is made of it: stand-in packages in a real interpreter.

The driver's answers come from the C stand-ins, so that what a log leaves open (who holds the memory) is known as it
would be on the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace as but
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.engine import judge
from gpudoctor.facts.model import Facts, Known
from gpudoctor.facts.probes import libcuda, nvml, processes
from gpudoctor.facts.probes.tensorflow_run import LOG_NAME, run_tensorflow
from gpudoctor.findings import Report, Role, Severity, Source, SourceKind
from gpudoctor.rules.memory._state import OWN_LOG
from gpudoctor.rules.registry import load_rules
from tests.environments import Environment, make_environment
from tests.facts.test_probe_tensorflow import stub
from tests.fakes.build import GIB, RTX_4090, FakeGpu, Profile, compiler
from tests.matrix.driver import FaultyDriver
from tests.matrix.judged import joined
from tests.rule_case import facts_of

FREE = but(RTX_4090, extra={**RTX_4090.extra, "compute": "", "graphics": "", "utilization": 3})
ROCM, PLAIN = "rocm", ""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDriver]:
    """A driver whose answers are set."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    folder = tmp_path_factory.mktemp("driver")
    with FaultyDriver(folder, folder / "cache") as made:
        yield made


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path)


def held(*holders: str, used: int = 0) -> FakeGpu:
    """Return a GPU with processes that hold its memory: "4242:1073741824"."""
    return but(FREE, memory_used=used, extra={**FREE.extra, "compute": ",".join(holders)})


def failing(lines: str, error: str, operation: str = "") -> str:
    """Return code for a computation that prints lines and raises; operation: only this one."""
    does = f"(print({lines!r}, file=sys.stderr), (_ for _ in ()).throw(RuntimeError({error!r})))"
    return f"lambda operation, numbers: {does} if operation.startswith({operation!r}) else numbers"


def machine(driver: FaultyDriver, environment: Environment, gpu: FakeGpu = FREE, **of_stub: str) -> Facts:
    """Return the facts of a machine whose TensorFlow is the stand-in."""
    driver.set(Profile(gpus=(gpu,)))
    stub(environment, **{"DEVICES": "['CPU:0', 'GPU:0']", **of_stub})
    started = run_tensorflow(environment.host(), environment.target, 120.0)
    base = joined(facts_of("desktop-rtx4090"), nvml.probe(driver), libcuda.probe(driver))
    fields = {name: getattr(started, name) for name in ("run", "devices", "computations", "events", "log_tail")}
    return replace(base, tensorflow=replace(base.tensorflow, **fields))


def judged(facts: Facts) -> Report:
    return judge(facts, load_rules(), source=Source(kind=SourceKind.LIVE))


def causes(report: Report) -> dict[str, str]:
    """Return the rules that are root causes at warning or error, with what they say."""
    weighty = (item for item in report.findings if item.severity >= Severity.WARNING)
    return {item.rule: item.message for item in weighty if item.role is Role.ROOT_CAUSE}


NO_HANDLE = "E external/local_xla/cuda_blas.cc:1 failed to create cublas handle: {}"
NO_MEMORY = (
    "I external/local_xla/cuda_driver.cc:1578] failed to allocate 64.00MiB (67108864 bytes) from device: "
    "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


def test_a_healthy_one(driver: FaultyDriver, environment: Environment) -> None:
    report = judged(machine(driver, environment))
    assert causes(report) == {}
    assert {check.outcome.value for check in report.checks if check.rule == "gpu-works"} == {"pass"}


def test_cublas_does_not_start(driver: FaultyDriver, environment: Environment) -> None:
    fault = failing(NO_HANDLE.format("CUBLAS_STATUS_NOT_INITIALIZED"), "Attempting to perform BLAS operation", "matmul")
    found = causes(judged(machine(driver, environment, FAULT=fault)))
    assert found == {"cublas-or-cudnn-init-oom": "cuBLAS could not start on the GPU, mostly for lack of GPU memory"}


def test_cublas_does_not_start_for_want_of_memory(driver: FaultyDriver, environment: Environment) -> None:
    fault = failing(NO_HANDLE.format("the resource allocation failed") + "\n" + NO_MEMORY, "failed", "matmul")
    gpu = held("4242:23622320128", used=23622320128)
    found = causes(judged(machine(driver, environment, gpu, FAULT=fault)))
    assert found["cublas-or-cudnn-init-oom"] == "cuBLAS could not start on the GPU: its memory is taken"


def test_no_memory_since_another_process_holds_it(driver: FaultyDriver, environment: Environment) -> None:
    gpu = held(f"4242:{23 * GIB}", used=23 * GIB)
    found = causes(
        judged(machine(driver, environment, gpu, FAULT=failing(NO_MEMORY, "Dst tensor is not initialized.")))
    )
    assert "pid 4242" in found["gpu-oom-competing-process"]
    assert "gpu-oom-own-model" not in found


def test_no_memory_since_something_unseen_holds_it(driver: FaultyDriver, environment: Environment) -> None:
    fault = failing(NO_MEMORY, "Dst tensor is not initialized.")
    found = causes(judged(machine(driver, environment, held(used=23 * GIB), FAULT=fault)))
    assert found["gpu-oom-competing-process"] == (
        "even a small computation finds no memory on the GPU: 23.0 GiB of 24.0 GiB is taken"
    )


def test_no_memory_and_nobody_holds_any(driver: FaultyDriver, environment: Environment) -> None:
    fault = failing(NO_MEMORY, "Dst tensor is not initialized.")
    found = causes(judged(machine(driver, environment, held(used=GIB), FAULT=fault)))
    assert "gpu-oom-competing-process" not in found
    assert found["gpu-oom-own-model"].startswith("the GPU has no memory even for a small computation (")


def test_the_rules_know_the_name_of_the_log() -> None:
    assert OWN_LOG == LOG_NAME


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A Python process of one's own that does nothing; its number."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize(("percent", "said"), [(86, True), (84, False)])
def test_memory_that_a_program_reserved_and_does_not_use(
    driver: FaultyDriver, environment: Environment, sleeper: int, percent: int, said: bool
) -> None:
    size = (RTX_4090.memory_total or 0) * percent // 100
    with pytest.MonkeyPatch.context() as patch:  # a pid of ours that NVML tells, and that computes with TensorFlow
        patch.setattr(processes, "FIRST_PID_NAMESPACE", os.readlink("/proc/self/ns/pid"))
        patch.setattr(processes.Viewer, "_framework", lambda *_: "tensorflow")
        patch.setattr(processes, "_is_ours", lambda _: False)
        report = judged(machine(driver, environment, held(f"{sleeper}:{size}", used=size)))
    found = [item.message for item in report.findings if item.rule == "gpu-memory-preallocated"]
    assert bool(found) == said
    assert all(
        text.startswith(f"a Python process (pid {sleeper}) holds nearly all memory of the GPU") for text in found
    )


DLL = (
    "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found."
)


@pytest.mark.parametrize(
    ("text", "system", "found"),
    [
        (DLL, "windows", "windows-msvc-runtime-missing"),
        ("Could not find the DLL(s) 'msvcp140_1.dll'. TensorFlow requires", "windows", "windows-msvc-runtime-missing"),
        (DLL, "linux", "tensorflow-import-fails"),
    ],
)
def test_windows_without_its_runtime(environment: Environment, text: str, system: str, found: str) -> None:
    stub(environment, EXTRA=f"raise ImportError({text.removeprefix('ImportError: ')!r})\n")
    started = run_tensorflow(environment.host(), environment.target, 120.0)
    base = facts_of("desktop-rtx4090")
    host = replace(base.host, os=Known(system, "Python"))
    facts = replace(base, host=host, tensorflow=replace(started, version=Known("2.10.1", "test")))
    assert found in causes(judged(facts))


def test_a_summary_without_tensorboard(driver: FaultyDriver, environment: Environment) -> None:
    error = "tensorflow.python.summary.tb_summary.TBNotInstalledError: TensorBoard is not installed"
    text = f"{error}, missing implementation for tf.summary.scalar\n"
    found = causes(judged(machine(driver, environment, EXTRA=f"print({text!r}, file=sys.stderr)\n")))
    assert found["tensorboard-missing-for-callback"] == (
        "tf.summary.scalar needs TensorBoard, which is not installed: TensorFlow no longer brings it"
    )
