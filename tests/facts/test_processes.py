"""Processes on a GPU: real ones of this machine, listed by the stand-in for NVML, looked at by the real probe."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.facts import codec
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Facts, Gpu, GpuProcess, Known, ProcessKind, ProcessSight, Unknown
from gpudoctor.facts.probes import nvml, processes
from gpudoctor.rules.memory._state import compute_processes
from tests.fakes.build import GEFORCE_940M, Profile, StandIns

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="no /proc")

Start = Callable[..., int]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """A function that starts a program which waits, under any name; it is not taken for a part of gpudoctor."""
    # Wherever the tests run: this namespace is the one whose numbers the driver tells.
    monkeypatch.setattr(processes, "FIRST_PID_NAMESPACE", os.readlink("/proc/self/ns/pid"))
    monkeypatch.setattr(processes, "_is_ours", lambda _: False)
    with ExitStack() as stack:

        def run(*argv: str, environ: Mapping[str, str] | None = None) -> int:
            child = subprocess.Popen(
                ["sleep", "600"] if not argv else list(argv),
                executable=None if not argv else sys.executable,
                env={**os.environ, **(environ or {})},
            )
            stack.callback(child.wait)
            stack.callback(child.kill)
            return child.pid

        yield run


WAIT = ("-c", "import time; time.sleep(600)")


def listed(stand_ins: StandIns, **extra: object) -> Gpu:
    """Return the GPU as the probe sees it, with these lists of NVML."""
    gpu = replace(GEFORCE_940M, extra=extra)
    return nvml.probe(Host(environ={**os.environ, **stand_ins(Profile(gpus=(gpu,)))}), 30.0).gpus[0]


def only(gpu: Gpu) -> GpuProcess:
    (process,) = gpu.processes.require()
    return process


def started(pid: int, words: str) -> None:
    """Wait until the new program has replaced the copy of this one."""
    while words.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes():
        time.sleep(0.01)


def test_a_process_of_this_user_is_told_in_full(stand_ins: StandIns, start: Start) -> None:
    pid = start(
        "python3",
        *WAIT,
        "-m",
        "ipykernel_launcher",
        "--token",
        "hunter2",
        environ={"JPY_SESSION_NAME": "/w/cats.ipynb"},
    )
    started(pid, "hunter2")
    process = only(listed(stand_ins, compute=f"{pid}:1288490189", samples=f"{pid}:40,{pid}:60,1:7"))
    assert (process.sight, process.own, process.parent_pid) == (ProcessSight.SEEN, True, os.getpid())
    assert (process.memory_bytes, process.utilization_percent) == (1288490189, 50)
    assert process.notebook == "/w/cats.ipynb"
    assert process.age_seconds is not None
    assert process.age_seconds < 600
    assert process.user
    assert process.control_group is None or process.control_group.startswith("/")
    assert process.command_line is not None
    assert process.command_line.endswith("-m ipykernel_launcher --token hunter2")
    text = codec.encode(Facts(gpus=(Gpu(processes=Known((process,), "NVML")),))).decode()
    assert "hunter2" not in text
    assert '"user": "me"' in text


def test_a_number_without_a_process_is_gone(stand_ins: StandIns, start: Start) -> None:
    start()
    process = only(listed(stand_ins, compute=f"{2**22 - 3}:1024"))  # above the highest that kernels give by default
    assert (process.sight, process.name, process.own) == (ProcessSight.GONE, None, None)


def test_a_process_that_nobody_collected_is_defunct(stand_ins: StandIns, start: Start) -> None:
    start()
    child = subprocess.Popen([sys.executable, "-c", ""])
    try:
        while " Z " not in Path(f"/proc/{child.pid}/stat").read_text():
            time.sleep(0.01)
        assert only(listed(stand_ins, compute=f"{child.pid}:1024")).sight is ProcessSight.DEFUNCT
    finally:
        child.wait()


def test_the_number_zero_is_a_process_that_cannot_be_seen(stand_ins: StandIns, start: Start) -> None:
    start()
    found = listed(stand_ins, compute="0:1024,0:2048").processes.require()
    assert [(item.pid, item.memory_bytes, item.sight) for item in found] == [
        (0, 1024, ProcessSight.UNSEEN),
        (0, 2048, ProcessSight.UNSEEN),
    ]


def test_in_a_container_the_numbers_mean_nothing(
    stand_ins: StandIns, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = start()
    monkeypatch.setattr(processes, "FIRST_PID_NAMESPACE", "pid:[1]")
    process = only(listed(stand_ins, compute=f"{pid}:1024"))
    assert process == GpuProcess(pid=pid, kind=ProcessKind.COMPUTE, memory_bytes=1024, sight=ProcessSight.UNSEEN)


def test_what_gpudoctor_itself_has_started_is_no_competitor(
    stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "FIRST_PID_NAMESPACE", os.readlink("/proc/self/ns/pid"))
    child = subprocess.Popen(["sleep", "600"])
    try:
        gpu = listed(stand_ins, compute=f"{child.pid}:1024")
        assert (only(gpu).name, only(gpu).memory_bytes) == ("gpudoctor", 1024)
        assert compute_processes(gpu) == ()
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("samples", "percent"), [("{pid}:250", None), ("", None), ("{pid}:0", 0), ("{pid}:1,{pid}:2,{pid}:3", 2)]
)
def test_samples_that_mean_nothing_leave_the_load_unknown(
    stand_ins: StandIns, start: Start, samples: str, percent: int | None
) -> None:
    pid = start()
    process = only(listed(stand_ins, compute=f"{pid}:1", samples=samples.format(pid=pid)))
    assert process.utilization_percent == percent


def test_a_driver_without_samples_still_lists_the_processes(stand_ins: StandIns, start: Start) -> None:
    pid = start()
    gpu = replace(GEFORCE_940M, extra={"compute": f"{pid}:1"})
    profile = Profile(gpus=(gpu,), missing=("nvmlDeviceGetProcessUtilization",))
    found = nvml.probe(Host(environ={**os.environ, **stand_ins(profile)}), 30.0).gpus[0]
    assert (only(found).pid, only(found).utilization_percent) == (pid, None)


def test_no_list_at_all_is_unknown_and_not_empty(stand_ins: StandIns, start: Start) -> None:
    assert listed(stand_ins, mig=1).processes == Unknown("this GPU does not report it")


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("0::/system.slice/docker-0123456789abcdef.scope", "docker"),
        ("4:memory:/docker/0123456789abcdef", "docker"),
        ("0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope", "kubernetes"),
        ("0::/machine.slice/libpod-abc.scope", "podman"),
        ("0::/system.slice/slurmstepd.scope/job_77/step_0", "slurm"),
        ("0::/user.slice/user-1000.slice", None),
    ],
)
def test_the_control_group_tells_the_container(tmp_path: Path, group: str, kind: str | None) -> None:
    (tmp_path / "proc/42").mkdir(parents=True)
    (tmp_path / "proc/42/cgroup").write_text(f"{group}\n")
    assert processes.Viewer(Host(root=tmp_path))._control_group(42) == {
        "container": kind,
        "control_group": group.split(":", 2)[2],
    }


@pytest.mark.parametrize(
    ("line", "framework"),
    [
        ("7f /site/tensorflow/libtensorflow_framework.so.2", "tensorflow"),
        ("7f /site/torch/lib/libtorch_cuda.so", "torch"),
        ("7f /lib/libc.so.6", None),
    ],
)
def test_the_memory_map_tells_the_framework(tmp_path: Path, line: str, framework: str | None) -> None:
    (tmp_path / "proc/42").mkdir(parents=True)
    (tmp_path / "proc/42/maps").write_text(f"{line}\n")
    assert processes.Viewer(Host(root=tmp_path))._framework(42) == framework
