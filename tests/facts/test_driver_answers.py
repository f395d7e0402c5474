"""What children streamed, turned into facts: every ending and any rubbish gives facts, never an exception."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.facts.host import ChildOutcome, ChildRun, Host
from gpudoctor.facts.model import Api, ApiAnswer, Known, Unknown
from gpudoctor.facts.probes import libcuda, nvml
from gpudoctor.facts.probes.driver_answers import Answers, DriverAnswers, cuda_version_text, version_in_name

HANG = ChildRun(outcome=ChildOutcome.TIMED_OUT, reason="did not answer within 3 s")
EXIT = ChildRun(outcome=ChildOutcome.EXITED, exit_code=1, reason="ended with exit status 1")
OK = ChildRun(outcome=ChildOutcome.OK)


class CannedHost(Host):
    """A host whose children have all run already."""

    def __init__(self, run: ChildRun) -> None:
        super().__init__(environ={"CUDA_VISIBLE_DEVICES": "0"})
        self.run = run

    def run_child(self, *_: object, **__: object) -> ChildRun:
        return self.run


def answers(run: ChildRun, **result: object) -> Answers:
    run = msgspec.structs.replace(run, result=result or None)
    return Answers(run, who="NVML", meanings={9: "no module"}, started="NVML_SUCCESS", limit=3)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (HANG, "the process that asks NVML did not answer within 3 s"),
        (EXIT, "the process that asks NVML ended with exit status 1"),
    ],
)
def test_what_ends_before_the_library_is_asked_is_not_the_librarys_doing(run: ChildRun, reason: str) -> None:
    assert answers(run).api() == Unknown(reason)
    assert answers(run).fact("count", lambda _: 1) == Unknown(reason)


@pytest.mark.parametrize(
    ("run", "outcome", "detail"),
    [
        (HANG, Api.NO_ANSWER, "NVML did not answer in 3 s; the last call was nvmlX"),
        (EXIT, Api.CRASHED, "the process that asks NVML ended with exit status 1; the last call was nvmlX"),
    ],
)
def test_what_ends_in_a_call_names_the_call(run: ChildRun, outcome: Api, detail: str) -> None:
    assert answers(run, calling="nvmlX").api() == Known(ApiAnswer(outcome=outcome, detail=detail), "NVML")


def test_a_process_that_dies_after_its_last_answer_has_answered() -> None:
    api = answers(EXIT, calling=None, init="NVML_SUCCESS", done=True).api()
    assert api == Known(ApiAnswer(outcome=Api.OK, code=0, name="NVML_SUCCESS"), "NVML")


@pytest.mark.parametrize(
    ("message", "outcome", "detail"),
    [
        ("libcuda.so.1: cannot open shared object file: No such file or directory", Api.NO_LIBRARY, "not found"),
        ("Error loading shared library libcuda.so.1: No such file or directory", Api.NO_LIBRARY, "not found"),
        ("libz.so.9: cannot open shared object file: No such file or directory", Api.ERROR, "libz.so.9: cannot open"),
        ("/home/someone/libcuda.so.1: file too short", Api.ERROR, "libcuda.so.1 cannot be loaded: file too short"),
    ],
)
def test_loader_messages(message: str, outcome: Api, detail: str) -> None:
    api = answers(OK, calling="loading", loader=message, done=True).api().require()
    assert api.outcome is outcome
    assert detail in api.detail
    assert "someone" not in api.detail


@pytest.mark.parametrize(
    ("number", "text"), [(12020, "12.2"), (11080, "11.8"), (13000, "13.0"), (0, None), ("x", None)]
)
def test_cuda_version(number: object, text: str | None) -> None:
    assert cuda_version_text(number) == text


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("/usr/lib/libcuda.so.535.183.01", "535.183.01"),
        ("/usr/lib/libcuda.so.340.108", "340.108"),
        ("/usr/lib/wsl/lib/libcuda.so.1", None),
        ("/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", None),
    ],
)
def test_version_in_a_file_name(path: str, version: str | None) -> None:
    assert version_in_name(path) == version


KEYS = (
    *(
        "calling",
        "done",
        "loader",
        "binding",
        "library",
        "init",
        "count",
        "driver_version",
        "cuda_version",
        "nvml_version",
    ),
    *(
        f"gpu.{number}.{name}"
        for number in (0, 1)
        for name in (
            *(
                "handle",
                "name",
                "uuid",
                "pci",
                "compute_capability",
                "memory",
                "utilization",
                "throttle",
                "compute_mode",
            ),
            *("driver_model", "ecc", "processes.compute", "processes.mps", "major", "minor", "memory_total_bytes"),
        )
    ),
)
LEAVES = st.none() | st.booleans() | st.integers(-1, 1 << 64) | st.text("a1:/. \x00\u00e9", max_size=8)
ERROR = st.fixed_dictionaries({"error": LEAVES, "code": LEAVES})
PCI = st.fixed_dictionaries(dict.fromkeys(("domain", "bus", "device", "pciDeviceId"), LEAVES))
VALUES = LEAVES | ERROR | PCI | st.lists(LEAVES | st.lists(LEAVES, max_size=3), max_size=3)
RUNS = st.builds(
    ChildRun,
    outcome=st.sampled_from(ChildOutcome),
    result=st.none() | st.dictionaries(st.sampled_from(KEYS), VALUES),
    signal_name=st.none() | st.just("SIGSEGV"),
    reason=st.just("ended"),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how fast the examples are made is no matter
@given(run=RUNS)
def test_any_rubbish_gives_facts_that_can_be_saved(run: ChildRun) -> None:
    for probe in (nvml.probe, libcuda.probe):
        facts = probe(CannedHost(run))
        assert msgspec.json.decode(msgspec.json.encode(facts), type=DriverAnswers) == facts
