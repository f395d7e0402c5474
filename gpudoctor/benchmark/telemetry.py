"""What NVML tells while rounds run, asked by a child of the manager: nothing of it happens in the measured process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.results import GpuUse
from gpudoctor.facts.lifeline import Lifeline
from gpudoctor.facts.probes.driver_answers import FLAGS, program
from gpudoctor.facts.probes.nvml import THROTTLE_BITS, binding_folder
from gpudoctor.facts.probes.processes import FIRST_PID_NAMESPACE

SAMPLE_SECONDS = 0.2
LEAVE_SECONDS = 1.0
# A GPU that waits, or whose clocks were set by hand, is not held back.
HARMLESS = ("gpu-idle", "applications-clocks", "display-clocks", "sync-boost")


class Sample(Struct, frozen=True, kw_only=True):
    """One look at a GPU; None for what it does not tell."""

    time: float
    """Of the system's monotonic clock."""
    utilization_percent: int | None = None
    memory_used_bytes: int | None = None
    power_mw: int | None = None
    temperature_celsius: int | None = None
    clock_sm_mhz: int | None = None
    throttle: int | None = None
    pids: tuple[int, ...] | None = None


class Telemetry:
    """Samples one GPU in the background; close it in any case."""

    def __init__(self, gpu_uuid: str, environ: Mapping[str, str], *, seconds: float = SAMPLE_SECONDS) -> None:
        """Start sampling. Where that fails there are no samples, and use() gives None."""
        self._spans: dict[Mode, list[tuple[float, float]]] = {}
        self._began = 0.0
        self._pids: set[int] = set()
        self._buffer = bytearray()
        self._samples: list[Sample] = []
        request = {"nvidia_ml_py_dir": binding_folder(), "gpu": gpu_uuid, "seconds": seconds}
        self._lifeline = Lifeline()  # a child that hangs in the driver reads no end of its standard input
        self._read_end, write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        argv = [sys.executable, *FLAGS, "-c", program("sample_nvml"), str(write_end), json.dumps(request)]
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(write_end, *self._lifeline.descriptors),
                env=dict(environ),
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        self._lifeline.tie(self._process.pid)

    def begin(self, mode: Mode, pid: int | None = None) -> None:
        """A round of a mode begins, in the process pid."""
        self._collect()
        if pid is not None:
            self._pids.add(pid)
        self._spans.setdefault(mode, [])
        self._began = time.monotonic()

    def end(self, mode: Mode) -> None:
        """It ends."""
        self._spans[mode].append((self._began, time.monotonic()))
        self._collect()

    def use(self, mode: Mode) -> GpuUse | None:
        """Return what was seen during a mode's rounds; None for nothing."""
        self._collect()
        spans = self._spans.get(mode, [])
        seen = [item for item in self._samples if any(begin <= item.time <= end for begin, end in spans)]
        if not seen:
            return None
        try:
            ours = os.readlink("/proc/self/ns/pid") == FIRST_PID_NAMESPACE
        except OSError:
            ours = False
        return summarise(seen, self._pids, pids_are_ours=ours)

    def _collect(self) -> None:
        with contextlib.suppress(OSError):  # nothing there yet, or closed
            while chunk := os.read(self._read_end, 65536):
                self._buffer += chunk
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError):
                self._samples.append(msgspec.json.decode(line, type=Sample))

    def cpu_seconds(self) -> float:
        """Return the processor time that the child took so far (Linux). Raises OSError."""
        with open(f"/proc/{self._process.pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def ended(self) -> bool:
        """Whether the child is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the child and reap it; a child that is stuck in the driver is left behind."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVE_SECONDS)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVE_SECONDS)
        self._collect()
        with contextlib.suppress(OSError):
            os.close(self._read_end)
        self._read_end = -1
        self._lifeline.close()


def summarise(samples: Sequence[Sample], own_pids: set[int], *, pids_are_ours: bool = True) -> GpuUse:
    """Return means and peaks; samples must not be empty. Processes other than own_pids are counted as others."""

    def told(name: str) -> list[int]:
        return [value for item in samples if (value := getattr(item, name)) is not None]

    power, temperatures = told("power_mw"), told("temperature_celsius")
    bits = 0
    for value in told("throttle"):
        bits |= value
    reasons = [name for bit, name in THROTTLE_BITS.items() if bits & bit and name not in HARMLESS]
    lists = [set(item.pids) for item in samples if item.pids is not None]
    # In a container NVML's process numbers are those of the outside: then one of them is taken to be ours.
    others = [len(pids - own_pids) if pids_are_ours else max(0, len(pids) - 1) for pids in lists]
    return GpuUse(
        samples=len(samples),
        utilization=_mean(told("utilization_percent")),
        memory_peak_bytes=max(told("memory_used_bytes"), default=None),
        power_watts=statistics.fmean(power) / 1000 if power else None,
        temperature_start_celsius=temperatures[0] if temperatures else None,
        temperature_peak_celsius=max(temperatures, default=None),
        clock_sm_mhz=_mean(told("clock_sm_mhz")),
        throttle_reasons=tuple(reasons),
        other_processes=max(others, default=None),
    )


def _mean(values: Sequence[int]) -> float | None:
    return statistics.fmean(values) if values else None
