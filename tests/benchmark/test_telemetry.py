"""NVML telemetry: the child that samples over the C stand-in, and what is made of its samples."""

from __future__ import annotations

import os
import time

import pytest

from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.results import GpuUse
from gpudoctor.benchmark.telemetry import Sample, Telemetry, summarise
from tests.fakes.build import A100_WITH_MIG, GIB, RTX_4090, Profile, StandIns


def watched(telemetry: Telemetry, samples: int) -> GpuUse | None:
    """Sample until there are so many, or for twenty seconds."""
    deadline = time.monotonic() + 20
    telemetry.begin(Mode.GPU_BASELINE)
    while time.monotonic() < deadline:
        time.sleep(0.05)
        telemetry.end(Mode.GPU_BASELINE)
        use = telemetry.use(Mode.GPU_BASELINE)
        if use is not None and use.samples >= samples:
            return use
        telemetry.begin(Mode.GPU_BASELINE)
    return None


@pytest.fixture
def machine(stand_ins: StandIns) -> dict[str, str]:
    return stand_ins(Profile(gpus=(A100_WITH_MIG, RTX_4090)))


def test_the_gpu_with_this_uuid_is_sampled_several_times_a_second(machine: dict[str, str]) -> None:
    telemetry = Telemetry(str(RTX_4090.uuid), {**os.environ, **machine}, seconds=0.02)
    try:
        use = watched(telemetry, 3)
        assert use is not None
        assert (use.utilization, use.power_watts) == (37, 71)
        assert use.memory_peak_bytes is not None and use.memory_peak_bytes >= 2 * GIB
        assert (use.temperature_peak_celsius, use.clock_sm_mhz) == (48, 2520)
        assert use.throttle_reasons == ("sw-power-cap",)
        assert telemetry.use(Mode.GPU_OPTIMIZED) is None
    finally:
        telemetry.close()


def test_what_a_gpu_does_not_tell_is_unknown(stand_ins: StandIns) -> None:
    environ = stand_ins(Profile(gpus=(A100_WITH_MIG,)))
    telemetry = Telemetry(str(A100_WITH_MIG.uuid), {**os.environ, **environ}, seconds=0.02)
    try:
        use = watched(telemetry, 1)
        assert use is not None
        assert use.utilization is None and use.power_watts is None and use.temperature_peak_celsius is None
    finally:
        telemetry.close()


def test_a_driver_that_hangs_costs_its_samples_and_nothing_else(stand_ins: StandIns) -> None:
    environ = stand_ins(Profile(gpus=(RTX_4090,)).but(hang__nvmlDeviceGetPowerUsage=1))
    telemetry = Telemetry(str(RTX_4090.uuid), {**os.environ, **environ}, seconds=0.02)
    telemetry.begin(Mode.GPU_BASELINE)
    time.sleep(0.3)
    telemetry.end(Mode.GPU_BASELINE)
    assert telemetry.use(Mode.GPU_BASELINE) is None
    telemetry.close()
    assert telemetry.ended


def test_without_a_driver_there_are_no_samples() -> None:
    telemetry = Telemetry("GPU-none", {**os.environ, "LD_LIBRARY_PATH": "/nonexistent"}, seconds=0.02)
    telemetry.begin(Mode.GPU_BASELINE)
    telemetry.end(Mode.GPU_BASELINE)
    telemetry.close()
    assert telemetry.use(Mode.GPU_BASELINE) is None


def test_other_processes_are_those_that_are_not_ours() -> None:
    samples = [Sample(time=1.0, pids=(7, 8)), Sample(time=2.0, pids=(7, 8, 9))]
    assert summarise(samples, {7}).other_processes == 2
    # In a container the numbers are those of the outside: one of them is ours.
    assert summarise(samples, {7}, pids_are_ours=False).other_processes == 2
    assert summarise([Sample(time=1.0, pids=())], set(), pids_are_ours=False).other_processes == 0
    assert summarise([Sample(time=1.0)], set()).other_processes is None


def test_harmless_reasons_for_low_clocks_are_not_told() -> None:
    assert summarise([Sample(time=1.0, throttle=0x1), Sample(time=2.0, throttle=0x20)], set()).throttle_reasons == (
        "sw-thermal-slowdown",
    )
