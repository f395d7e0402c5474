"""Statistics, attribution, budget and environment: plain functions of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.benchmark.attribution import Parts, gain, verdict
from gpudoctor.benchmark.budget import Budget
from gpudoctor.benchmark.environment import ignored, worker_environment
from gpudoctor.benchmark.plan import Device, precision_candidates
from gpudoctor.benchmark.results import Verdict
from gpudoctor.benchmark.statistics import noise, percentile, rate, spread

TIMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)


@given(TIMES)
def test_a_rate_lies_in_its_range(values: list[float]) -> None:
    found = rate(values)
    assert found.min <= found.median <= found.max
    assert found.rounds == tuple(values)


@given(TIMES, st.floats(0, 1))
def test_percentiles_lie_among_the_values_and_grow(values: list[float], share: float) -> None:
    assert min(values) <= percentile(values, share) <= max(values)
    assert percentile(values, 0) == min(values) and percentile(values, 1) == max(values)
    assert percentile(values, share / 2) <= percentile(values, share)


def test_a_percentile_between_two_values_is_interpolated() -> None:
    assert percentile([10.0, 20.0], 0.25) == pytest.approx(12.5)


def test_few_values_have_no_spread() -> None:
    assert spread([1.0, 2.0]) is None
    assert spread([1.0, 1.0, 1.0]) == 0


def test_noise_is_told_with_its_reason() -> None:
    calm, wild = [1.0, 1.01, 0.99, 1.0], [1.0, 2.0, 0.5, 1.0]
    assert noise(calm, wild, 1.0, 2) == ""  # steps count only where there are too few epochs
    assert "epochs" in noise(wild, calm, 1.0, 2)
    assert "steps" in noise([1.0], wild, 1.0, 2)
    assert "2.5 on 2 cores" in noise(calm, calm, 2.5, 2)
    assert noise(calm, calm, None, 2) == ""


def parts(input: float | None, compute: float | None, *, separate: bool, doubling: float | None = 1.9) -> Parts:  # noqa: A002
    return Parts(input=input, compute=compute, doubling=doubling, separate_device=separate)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (parts(2.0, 1.0, separate=True), Verdict.INPUT_BOUND),
        (parts(1.0, 2.0, separate=True), Verdict.COMPUTE_BOUND),
        (parts(1.0, 2.0, separate=True, doubling=1.2), Verdict.LAUNCH_BOUND),
        (parts(1.0, 2.0, separate=True, doubling=None), Verdict.COMPUTE_BOUND),
        (parts(1.0, 2.0, separate=False, doubling=1.2), Verdict.COMPUTE_BOUND),
        (parts(2.0, 1.0, separate=True, doubling=1.2), Verdict.INPUT_BOUND),
        (parts(1.2, 1.0, separate=True), Verdict.BALANCED),
        (parts(1.0, 1.2, separate=False), Verdict.BALANCED),
        (parts(None, 1.0, separate=True), Verdict.UNKNOWN),
        (parts(1.0, None, separate=False), Verdict.UNKNOWN),
    ],
)
def test_verdicts(seen: Parts, expected: Verdict) -> None:
    assert verdict(seen) is expected


def test_on_its_own_device_the_slower_part_decides_and_on_a_cpu_both_add_up() -> None:
    side_by_side = gain(parts(3.0, 1.0, separate=True))
    assert (side_by_side.without_input, side_by_side.without_compute) == (3.0, 1.0)
    shared = gain(parts(1.0, 4.0, separate=False))
    assert (shared.without_input, shared.without_compute) == (1.25, 5.0)
    assert gain(parts(None, 4.0, separate=False)).without_input is None


def test_the_measured_case_of_a_small_network_on_two_cores() -> None:
    # 34.9 ms of CPU time for a batch from ImageDataGenerator, 344.9 ms for the network: removing the input gave 1.11.
    found = gain(parts(34.9, 344.9, separate=False))
    assert found.without_input == pytest.approx(1.11, rel=0.02)


def test_a_budget_counts_down_and_notes_what_it_refuses() -> None:
    now = [100.0]
    budget = Budget(60, clock=lambda: now[0])
    assert budget.allows("this", 50)
    now[0] = 130.0
    assert budget.left() == 30
    assert not budget.allows("that", 20, reserve=15)
    assert budget.dropped == ["that (takes about 20 s, 15 s were left)"]
    assert budget.share(0.5).left() == 15
    now[0] = 200.0
    assert budget.share(0.5).left() == 0


def test_a_worker_sees_one_gpu_or_none_and_nothing_that_would_change_its_speed() -> None:
    user = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": "3",
            "TF_USE_LEGACY_KERAS": "1", "SECRET_TOKEN": "x", "XLA_FLAGS": "--x"}  # fmt: skip
    on_cpu = worker_environment(user, cores=4, gpu_uuid=None)
    assert on_cpu["CUDA_VISIBLE_DEVICES"] == "-1"
    assert on_cpu["OMP_NUM_THREADS"] == on_cpu["TF_NUM_INTRAOP_THREADS"] == "4"
    assert on_cpu["TF_USE_LEGACY_KERAS"] == "1" and on_cpu["PATH"] == "/bin"
    assert not {"SECRET_TOKEN", "TF_ENABLE_ONEDNN_OPTS", "XLA_FLAGS"} & on_cpu.keys()
    on_gpu = worker_environment(user, cores=4, gpu_uuid="GPU-1")
    assert (on_gpu["CUDA_VISIBLE_DEVICES"], on_gpu["CUDA_DEVICE_ORDER"]) == ("GPU-1", "PCI_BUS_ID")
    assert ignored(user) == ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS", "XLA_FLAGS")


@pytest.mark.parametrize(
    ("capability", "flags", "expected"),
    [
        ("5.0", (), ()),  # a 940M gains nothing from 16 bits
        ("7.5", (), ("float16",)),
        ("8.9", (), ("float16", "bfloat16")),
        ("10.0", (), ("float16", "bfloat16")),
        (None, ("avx2",), ()),
        (None, ("avx512_bf16",), ("bfloat16",)),
        (None, ("amx_bf16",), ("bfloat16",)),
    ],
)
def test_16_bits_are_tried_only_where_the_hardware_has_them(
    capability: str | None, flags: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    device = Device(compute_capability=capability, cpu_flags=flags, needs_gpu=capability is not None)
    assert precision_candidates(device) == expected
