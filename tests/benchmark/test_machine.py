"""Which GPU is measured, and why none is."""

from __future__ import annotations

import pytest

from gpudoctor.benchmark.machine import Skip, UnknownGpuError, cpu_device, gpu_device, machine, why_not
from gpudoctor.benchmark.plan import Device
from gpudoctor.findings import Expect
from tests.rule_case import facts_of

TWO = facts_of(
    "server-h200", set={"gpus[0].uuid": "GPU-aaaa0000-0000", "gpus[1].uuid": "GPU-bbbb0000-0000"}
)  # fmt: skip


def uuid_of(found: Device | Skip) -> str | None:
    assert isinstance(found, Device)
    return found.gpu_uuid


@pytest.mark.parametrize(
    ("wanted", "uuid"),
    [
        (None, "GPU-aaaa0000-0000"),
        ("0", "GPU-aaaa0000-0000"),
        ("1", "GPU-bbbb0000-0000"),
        ("GPU-bbbb0000-0000", "GPU-bbbb0000-0000"),
        ("gpu-bbbb", "GPU-bbbb0000-0000"),
    ],
)
def test_a_gpu_is_chosen_by_number_or_uuid(wanted: str | None, uuid: str) -> None:
    assert uuid_of(gpu_device(TWO, wanted)) == uuid


@pytest.mark.parametrize("wanted", ["2", "GPU-cccc", "GPU-", "first"])
def test_a_gpu_that_is_not_there_or_not_the_only_one_is_refused(wanted: str) -> None:
    with pytest.raises(UnknownGpuError, match="GPU-aaaa0000-0000"):
        gpu_device(TWO, wanted)


def test_a_gpu_that_cuda_does_not_show_is_not_the_default() -> None:
    hidden = facts_of("server-h200", set={"gpus[0].visible": False, "gpus[1].uuid": "GPU-bbbb0000-0000"})
    assert uuid_of(gpu_device(hidden, None)) == "GPU-bbbb0000-0000"


@pytest.mark.parametrize(
    ("base", "rule"), [("no-gpu", "no-nvidia-gpu"), ("driver-missing", "driver-missing"), ("laptop-940m", None)]
)
def test_the_reason_is_that_of_the_check(base: str, rule: str | None) -> None:
    found = gpu_device(facts_of(base), None)
    assert isinstance(found, Skip)
    assert rule is None or found.reason == rule
    assert found.detail


def test_a_cpu_needs_no_gpu_but_a_tensorflow() -> None:
    assert why_not(facts_of("no-gpu"), Expect.CPU) is None
    bare = facts_of("no-gpu", absent={"tensorflow.version": "the environment", "tensorflow.distribution": "it"})
    reason = why_not(bare, Expect.CPU)
    assert reason is not None and reason.reason == "tensorflow-not-installed"


def test_what_is_not_known_of_a_machine_stays_unknown() -> None:
    nothing = machine(facts_of(), None)
    assert nothing.cpu is None and nothing.gpu is None and nothing.driver is None
    assert cpu_device(facts_of()).name == "CPU"
