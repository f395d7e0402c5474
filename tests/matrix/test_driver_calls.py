"""Every call of NVML and libcuda that the probes make, failing in every way: each report says what it lacks.

One test for each function goes through all error codes that NVIDIA documents, a function that the driver lacks, a call
that never returns, one that aborts, and answers without sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpudoctor.facts.model import Api, Facts
from gpudoctor.facts.probes import libcuda, nvml
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from tests.fakes.build import GIB, RTX_4090, FakeGpu, Profile, compiler
from tests.matrix.driver import HANG_SECONDS, FaultyDriver, symbols
from tests.matrix.judged import assert_judged, joined, not_started, unknown_reasons
from tests.rule_case import facts_of

# nvml.h, nvmlReturn_t; cuda.h of CUDA 13, CUresult.
NVML_CODES = (*range(1, 31), 999)
CUDA_CODES = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 34, 36, 46, 100, 101, 102),
    *range(200, 228),
    *(300, 301, 302, 303, 304, 400, 401, 402, 500, 600),
    *range(700, 722),
    *range(800, 814),
    *range(900, 918),
    999,
)
# As a number: all bits, the sign bit, nothing, more than a machine has. As a text: bytes without end.
NONSENSE = (0xFFFFFFFFFFFFFFFF, 0x80000000, 0, 100_000)
Both = tuple[DriverAnswers, DriverAnswers]
HANG, ABORT, MISSING = "hang", "abort", "missing"
CALLS = [("nvml", symbol) for symbol in symbols("nvml")] + [("cu", symbol) for symbol in symbols("cu")]
# The call that starts a library: what it answers is what these rules are about.
START = ("nvmlInitWithFlags", "nvmlInit_v2", "cuInit")
ABOUT_THE_START = (
    *("driver-library-mismatch", "driver-not-loaded", "driver-too-old-for-cuda", "permission-denied-device"),
    *("gpu-exclusive-or-mig", "wsl-driver-or-stub", "no-gpu-in-container", "gpu-hidden-by-env", "gpu-fell-off-bus"),
    *("driver-did-not-answer", "nouveau-or-secureboot", "cuda-libs-shadowed", "nccl-or-distributed-failure"),
    "cuda-does-not-start",
)
# Nonsense that could be true is believed: some bits of the reasons, 2 GiB of memory of which all is used.
PLAUSIBLE = {
    "nvmlDeviceGetCurrentClocksEventReasons": "thermal-or-power-throttle",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "thermal-or-power-throttle",
    "nvmlDeviceGetMemoryInfo_v2": "competing-gpu-process",
    "nvmlDeviceGetMemoryInfo": "competing-gpu-process",
    "nvmlDeviceGetTotalEccErrors": "gpu-hardware-fault-xid",
    "cuDeviceGetCount": "gpu-exclusive-or-mig",
}
OF_SERVERS = {
    "utilization": 0,
    "power": 60_000,
    "power_limit": 400_000,
    "temperature.0": 33,
    "clock.1": 210,
    "clock_max.1": 1410,
    "throttle": 1,
    "pcie_gen": 4,
    "pcie_gen_max": 4,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "compute_mode": 0,
    "persistence": 1,
    "display_active": 0,
    "compute": "",
    "graphics": "",
    "mps": "",
    "ecc": 1,
    "ecc_uncorrected": 0,
    "pages_pending": 0,
    "remapped_rows": "0,0,0,0",
    "virtualization": 0,
    "bar1_total": 128 * GIB,
    "numa_node": 0,
    "nvlinks": "1,1,1,1",
    "nvlink_errors": "0,0,0,0",
    "distance": 40,
    "p2p": 0,
    "driver_model": 0,
    "fabric": 3,
    "fabric_status": 0,
    "mig": 0,
    "mig_most": 7,
}


def a100(number: int, **extra: object) -> FakeGpu:
    """Return one GPU of the base cluster-a100."""
    return FakeGpu(
        name="NVIDIA A100-SXM4-80GB",
        uuid=f"GPU-00000000-0000-0000-0000-00000000000{number + 7}",
        pci=("0000:40:00.0", "0000:b1:00.0")[number],
        pci_id="20B210DE",
        cc="8.0",
        memory_total=80 * GIB,
        extra={**OF_SERVERS, **extra},
    )


# As drivers before 418 are: each of these calls has an older form, which is asked then.
OLD_CALLS = (
    *("nvmlInitWithFlags", "nvmlSystemGetCudaDriverVersion_v2", "nvmlDeviceGetMemoryInfo_v2", "cuDeviceGetUuid_v2"),
    *("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetDriverModel_v2"),
    *(f"nvmlDeviceGet{kind}RunningProcesses_v{version}" for kind in ("Compute", "Graphics", "MPSCompute")
      for version in (2, 3)),
)  # fmt: skip
MIDDLE_CALLS = tuple(name for name in OLD_CALLS if name.endswith("_v3"))
MIG = {"mig": 1, "mig_uuids": "MIG-1,MIG-2", "mig_ids": "1,2"}
# Healthy machines: the base that the driver is a part of, and what the driver answers. Together they reach each call.
MACHINES: dict[str, tuple[str, Profile]] = {
    "desktop": ("desktop-rtx4090", Profile(gpus=(RTX_4090,))),
    "servers": ("cluster-a100", Profile(driver_version="530.41.03", cuda_version=12010, gpus=(a100(0), a100(1)))),
    "mig": ("cluster-a100", Profile(driver_version="530.41.03", cuda_version=12010, gpus=(a100(0, **MIG), a100(1)))),
    "vgpu": ("desktop-rtx4090", Profile(gpus=(replace(RTX_4090, extra={**RTX_4090.extra, "virtualization": 2,
                                                                        "license": "1:1"}),))),
    "old": ("desktop-rtx4090", Profile(gpus=(RTX_4090,), missing=OLD_CALLS)),
    "middle": ("desktop-rtx4090", Profile(gpus=(RTX_4090,), missing=MIDDLE_CALLS)),
}  # fmt: skip
# What the stand-ins have for other programs: TensorFlow, the benchmark, nvidia-smi's look-alikes.
NOT_ASKED = {
    *("nvmlShutdown", "nvmlDeviceGetBrand", "nvmlDeviceGetPerformanceState", "nvmlDeviceGetDisplayMode"),
    "nvmlDeviceGetDriverModel",  # the binding asks the second version only
}


# What drivers answer in the wild; the default run has these, the complete product is marked slow.
OFTEN = {"nvml": (3, 4, 7, 9, 13, 15, 18, 25, 999), "cu": (2, 3, 46, 100, 101, 304, 500, 801, 803, 804, 999)}


def faults(healthy: Profile, call: tuple[str, str], *, every: bool = True) -> Iterator[tuple[str, Profile, str | None]]:
    """Yield for each fault of one function its name, the profile, and the function that is missing."""
    kind, symbol = call
    for code in (NVML_CODES if kind == "nvml" else CUDA_CODES) if every else OFTEN[kind]:
        yield f"error {code}", healthy.but(**{f"fail__{symbol}": code}), None
    for value in NONSENSE:
        yield f"nonsense {value:#x}", healthy.but(**{f"garbage__{symbol}": value}), None
    yield MISSING, healthy, symbol
    for action in (HANG, ABORT):
        yield action, healthy.but(**{f"{action}__{symbol}": 1}), None


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDriver]:
    """A driver to be broken."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    folder = tmp_path_factory.mktemp("driver")
    with FaultyDriver(folder, folder / "cache") as made:
        yield made


@pytest.fixture(scope="module")
def well(driver: FaultyDriver) -> dict[str, Both]:
    """What both libraries of each machine tell where nothing is wrong."""
    found = {}
    driver.seconds = 60.0
    for name, (_, healthy) in MACHINES.items():
        driver.set(healthy)
        found[name] = nvml.probe(driver), libcuda.probe(driver)
    return found


@pytest.fixture(scope="module")
def reached(driver: FaultyDriver) -> dict[str, list[str]]:
    """The machines on which each function is called: there it can end the child."""
    found: dict[str, list[str]] = {}
    driver.seconds = 60.0
    for kind, symbol in CALLS:
        for name, (_, healthy) in MACHINES.items():
            if symbol not in healthy.missing:
                driver.set(healthy.but(**{f"{ABORT}__{symbol}": 1}))
                asked = nvml.probe(driver) if kind == "nvml" else libcuda.probe(driver)
                state = (asked.driver.nvml if kind == "nvml" else asked.driver.cuda_init).get()
                lost = unknown_reasons(Facts(driver=asked.driver, gpus=asked.gpus))
                if (state is not None and state.outcome is Api.CRASHED) or any("SIGABRT" in text for text in lost):
                    found.setdefault(symbol, []).append(name)
    return found


def test_each_call_is_reached_on_one_of_the_machines(reached: dict[str, list[str]]) -> None:
    asked = {symbol for _, symbol in CALLS}
    assert asked - reached.keys() == NOT_ASKED, "give a machine above what leads to the call, or name it NOT_ASKED"


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_wrong(well: dict[str, Both], name: str) -> None:
    base = facts_of(MACHINES[name][0])
    assert_judged(joined(base, *well[name]))
    assert_judged(not_started(joined(base, *well[name])))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["often", "every"])
@pytest.mark.parametrize("call", CALLS, ids=[symbol for _, symbol in CALLS])
def test_each_fault_of_one_call(
    driver: FaultyDriver, well: dict[str, Both], reached: dict[str, list[str]], call: tuple[str, str], every: bool
) -> None:
    _, symbol = call
    machines = reached.get(symbol, [])
    for machine in machines if every else machines[:1]:
        for name, profile, missing in faults(MACHINES[machine][1], call, every=every):
            driver.set(profile, missing)
            driver.seconds = HANG_SECONDS if name == HANG else 60.0
            try:
                _assert_one(driver, MACHINES[machine][0], well[machine], call, name)
            except AssertionError as exc:
                raise AssertionError(f"{symbol}, {name}, {machine}") from exc


def _assert_one(driver: FaultyDriver, base: str, well: Both, call: tuple[str, str], fault: str) -> None:
    kind, symbol = call
    asked = nvml.probe(driver, 10.0) if kind == "nvml" else libcuda.probe(driver, 10.0)
    facts = joined(facts_of(base), *((asked, well[1]) if kind == "nvml" else (well[0], asked)))
    for judged in (facts, not_started(facts)):
        assert_judged(judged, _allowed(symbol, fault))
    _assert_said(asked, fault, symbol)


def _allowed(symbol: str, fault: str) -> tuple[str, ...]:
    if symbol in START:
        return ABOUT_THE_START
    if fault in (HANG, ABORT):
        return ("driver-did-not-answer",)
    if symbol in PLAUSIBLE and fault.startswith("nonsense"):
        return (PLAUSIBLE[symbol],)
    # That a GPU is lost is told by whichever call comes first; a GPU that no call reaches is not visible.
    return ("gpu-fell-off-bus",) if fault in ("error 15", "error 16") else ()


def _assert_said(asked: DriverAnswers, fault: str, symbol: str) -> None:
    """What was lost has a reason that is a sentence part; of a hang it names the call, if that was made at all."""
    reasons = unknown_reasons(Facts(driver=asked.driver, gpus=asked.gpus))
    assert all(reason.strip() and "\n" not in reason for reason in reasons)
    if any("did not answer in" in reason for reason in reasons):
        assert fault == HANG
        called = re.sub("_v[23]$", "", symbol)  # some calls are told by the name that the binding gives them
        assert any(reason.rpartition("the last call was ")[2] in (symbol, called) for reason in reasons)


def test_how_many(reached: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    def count(every: bool) -> int:
        pairs = [(call, name) for call in CALLS for name in reached.get(call[1], [])[: None if every else 1]]
        return sum(sum(1 for _ in faults(MACHINES[name][1], call, every=every)) for call, name in pairs)

    assert count(True) > 5000
    with capsys.disabled():
        calls, machines = len(reached), len(MACHINES)
        print(
            f"\n{count(True)} faults of {calls} driver calls on {machines} machines, {count(False)} by default", end=" "
        )
