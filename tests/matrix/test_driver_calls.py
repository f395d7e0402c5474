"""Every call of NVML and libcuda that the probes make, failing in every way: each report says what it lacks.

One test for each function goes through all error codes that NVIDIA documents, a function that the driver lacks, a call
that never returns, one that aborts, and answers without sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gpudoctor.facts.model import Facts
from gpudoctor.facts.probes import libcuda, nvml
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from tests.fakes.build import RTX_4090, Profile, compiler
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
CASES = [("nvml", symbol) for symbol in symbols("nvml")] + [("cu", symbol) for symbol in symbols("cu")]
# The call that starts a library: what it answers is what these rules are about.
START = ("nvmlInitWithFlags", "nvmlInit_v2", "cuInit")
ABOUT_THE_START = (
    *("driver-library-mismatch", "driver-not-loaded", "driver-too-old-for-cuda", "permission-denied-device"),
    *("gpu-exclusive-or-mig", "wsl-driver-or-stub", "no-gpu-in-container", "gpu-hidden-by-env", "gpu-fell-off-bus"),
    *("driver-did-not-answer", "nouveau-or-secureboot", "cuda-libs-shadowed", "nccl-or-distributed-failure"),
)
# Nonsense that could be true is believed: some bits of the reasons, 2 GiB of memory of which all is used.
PLAUSIBLE = {
    "nvmlDeviceGetCurrentClocksEventReasons": "thermal-or-power-throttle",
    "nvmlDeviceGetMemoryInfo_v2": "competing-gpu-process",
}
HEALTHY = Profile(gpus=(RTX_4090,))


# What drivers answer in the wild; the default run has these, the complete product is marked slow.
OFTEN = {"nvml": (3, 4, 7, 9, 13, 15, 18, 25, 999), "cu": (2, 3, 46, 100, 101, 304, 500, 801, 803, 804, 999)}


def faults(kind: str, symbol: str, *, every: bool = True) -> Iterator[tuple[str, Profile, str | None]]:
    """Yield for each fault of one function its name, the profile, and the function that is missing."""
    for code in (NVML_CODES if kind == "nvml" else CUDA_CODES) if every else OFTEN[kind]:
        yield f"error {code}", HEALTHY.but(**{f"fail__{symbol}": code}), None
    for value in NONSENSE:
        yield f"nonsense {value:#x}", HEALTHY.but(**{f"garbage__{symbol}": value}), None
    yield MISSING, HEALTHY, symbol
    for action in (HANG, ABORT):
        yield action, HEALTHY.but(**{f"{action}__{symbol}": 1}), None


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDriver]:
    """A driver to be broken."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    folder = tmp_path_factory.mktemp("driver")
    with FaultyDriver(HEALTHY, folder, folder / "cache") as made:
        yield made


@pytest.fixture(scope="module")
def well(driver: FaultyDriver) -> Both:
    """What both libraries tell where nothing is wrong."""
    driver.set(HEALTHY)
    driver.seconds = 60.0
    return nvml.probe(driver), libcuda.probe(driver)


@pytest.fixture(scope="module")
def base() -> Facts:
    """The rest of the machine, which is healthy."""
    return facts_of("desktop-rtx4090")


def test_nothing_wrong(base: Facts, well: Both) -> None:
    assert_judged(joined(base, *well))
    assert_judged(not_started(joined(base, *well)))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["often", "every"])
@pytest.mark.parametrize("case", CASES, ids=[symbol for _, symbol in CASES])
def test_each_fault_of_one_call(
    driver: FaultyDriver, base: Facts, well: Both, case: tuple[str, str], every: bool
) -> None:
    kind, symbol = case
    for name, profile, missing in faults(kind, symbol, every=every):
        driver.set(profile, missing)
        driver.seconds = HANG_SECONDS if name == HANG else 60.0
        asked = nvml.probe(driver, 10.0) if kind == "nvml" else libcuda.probe(driver, 10.0)
        facts = joined(base, asked, well[1]) if kind == "nvml" else joined(base, well[0], asked)
        allowed = _allowed(symbol, name)
        try:
            for judged in (facts, not_started(facts)):
                assert_judged(judged, allowed)
            _assert_said(asked, name, symbol)
        except AssertionError as exc:
            raise AssertionError(f"{symbol}, {name}") from exc


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


def test_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    count = sum(sum(1 for _ in faults(kind, symbol)) for kind, symbol in CASES)
    often = sum(sum(1 for _ in faults(kind, symbol, every=False)) for kind, symbol in CASES)
    assert count > 2500
    with capsys.disabled():
        print(f"\n{count} faults of {len(CASES)} driver calls, {often} of them in the default run", end=" ")
