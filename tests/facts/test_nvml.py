"""The NVML probe: the real nvidia-ml-py, in the real child, over a C stand-in for libnvidia-ml.so.1."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import (
    Absent,
    Api,
    ApiAnswer,
    Gpu,
    GpuPair,
    GpuProcess,
    Known,
    ProcessKind,
    ProcessSight,
    Unknown,
)
from gpudoctor.facts.probes import nvml
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from tests.fakes.build import A100_WITH_MIG, GEFORCE_940M, RTX_4090, FakeGpu, Profile, StandIns

TWO = Profile(gpus=(RTX_4090, GEFORCE_940M))


def ask(stand_ins: StandIns, profile: Profile, timeout: float = 30.0) -> DriverAnswers:
    return nvml.probe(Host(environ={**os.environ, **stand_ins(profile)}), timeout)


def api(answers: DriverAnswers) -> ApiAnswer:
    return answers.driver.nvml.require()


def test_tells_the_driver_and_every_gpu(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO)
    assert api(answers) == ApiAnswer(outcome=Api.OK, code=0, name="NVML_SUCCESS")
    assert answers.driver.version == Known("535.183.01", "NVML")
    assert answers.driver.nvml_version == Known("535.183.01", "NVML")
    assert answers.driver.cuda_version == Known("12.2", "NVML")
    assert answers.driver.nvml_device_count == Known(2, "NVML")
    assert [gpu.name.require() for gpu in answers.gpus] == ["NVIDIA GeForce RTX 4090", "GeForce 940M"]


def test_reads_each_field_in_its_unit(stand_ins: StandIns) -> None:
    gpu = ask(stand_ins, TWO).gpus[0]
    values = {name: fact.value for name in Gpu.__struct_fields__ if isinstance(fact := getattr(gpu, name), Known)}
    processes = values.pop("processes")
    assert values == {
        "name": "NVIDIA GeForce RTX 4090",
        "uuid": "GPU-11111111-2222-3333-4444-555555555555",
        "pci_address": "0000:01:00.0",
        "pci_id": "2684",
        "compute_capability": "8.9",
        "memory_total_bytes": 25_757_220_864,
        "memory_used_bytes": 2 << 30,
        "memory_free_bytes": 25_757_220_864 - (2 << 30) - (1 << 29),
        "utilization_percent": 37,
        "temperature_celsius": 48,
        "power_mw": 71_000,
        "power_limit_mw": 450_000,
        "clock_sm_mhz": 2520,
        "clock_sm_max_mhz": 3105,
        "throttle_reasons": ("gpu-idle", "sw-power-cap"),
        "pcie_generation": 1,
        "pcie_generation_max": 4,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "compute_mode": "default",
        "persistence": False,
        "display_active": True,
    }
    assert (gpu.fault, gpu.mig_instances) == (Absent("NVML"), Absent("NVML"))
    assert [(one.pid, one.kind, one.memory_bytes) for one in processes] == [
        (4242, ProcessKind.COMPUTE, 1 << 30),
        (77, ProcessKind.COMPUTE, None),
        (900, ProcessKind.GRAPHICS, 209_715_200),
    ]


def test_what_a_gpu_does_not_report_is_unknown_and_never_zero(stand_ins: StandIns) -> None:
    gpu = ask(stand_ins, TWO).gpus[1]
    reason = Unknown("this GPU does not report it")
    assert gpu.utilization_percent == gpu.power_mw == gpu.ecc == gpu.mig == gpu.processes == reason
    assert gpu.memory_total_bytes == Known(2 << 30, "NVML")


def test_a_driver_model_that_is_not_supported_does_not_exist(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, Profile(gpus=(GEFORCE_940M, replace(GEFORCE_940M, extra={"driver_model": 1}))))
    assert [gpu.driver_model for gpu in answers.gpus] == [Absent("NVML"), Known("TCC", "NVML")]


def test_mig_mode_leaves_utilisation_unknown(stand_ins: StandIns) -> None:
    (gpu,) = ask(stand_ins, Profile(gpus=(A100_WITH_MIG,))).gpus
    assert (gpu.mig.require(), gpu.ecc.require(), gpu.persistence.require()) == (True, True, True)
    assert gpu.utilization_percent == Unknown("this GPU does not report it")


@pytest.mark.parametrize(
    ("code", "name", "detail"),
    [
        (4, "NVML_ERROR_NO_PERMISSION", "this user has no permission to ask for it"),
        (9, "NVML_ERROR_DRIVER_NOT_LOADED", "the NVIDIA kernel module is not loaded"),
        (15, "NVML_ERROR_GPU_IS_LOST", "the GPU is lost: it fell off the bus or can no longer be reached"),
        (17, "NVML_ERROR_OPERATING_SYSTEM", "the operating system blocks access to the GPU"),
        (
            18,
            "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
            "the driver was upgraded, but the old kernel module is still loaded; a reboot is due",
        ),
        (999, "NVML_ERROR_UNKNOWN", "the driver reports an unknown error"),
        (77, "error 77", "NVML answered error 77"),
    ],
)
def test_a_failed_start_is_told_by_name_and_meaning(stand_ins: StandIns, code: int, name: str, detail: str) -> None:
    answers = ask(stand_ins, TWO.but(fail__nvmlInitWithFlags=code))
    assert api(answers) == ApiAnswer(outcome=Api.ERROR, code=code, name=name, detail=detail)
    assert answers.driver.version == answers.driver.nvml_device_count == Unknown(detail)
    assert answers.driver.nvml_version == Known("535.183.01", "NVML")  # the library knows its own version regardless
    assert answers.gpus == ()


def test_the_file_name_tells_the_library_version_where_no_call_does(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(fail__nvmlSystemGetNVMLVersion=999))
    assert answers.driver.nvml_version == Known("535.183.01", "the file name of libnvidia-ml")


def test_no_library(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, Profile(nvml=False))
    detail = "libnvidia-ml.so.1 was not found"
    assert api(answers) == ApiAnswer(outcome=Api.NO_LIBRARY, detail=detail)
    assert answers.driver.version == Unknown(detail)


def test_a_library_that_the_loader_refuses_is_no_missing_library(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")
    answers = nvml.probe(Host(environ={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}), 30.0)
    assert api(answers).outcome is Api.ERROR
    assert api(answers).detail == "libnvidia-ml.so.1 cannot be loaded: file too short"


def test_no_binding(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "binding_folder", lambda: "")
    answers = ask(stand_ins, TWO)
    assert answers.driver.nvml == Unknown("nvidia-ml-py cannot be used: No module named 'pynvml'")


OLD = tuple(
    f"nvmlDeviceGet{kind}RunningProcesses_{version}"
    for kind in ("Compute", "Graphics", "MPSCompute")
    for version in ("v2", "v3")
)


@pytest.mark.parametrize(
    "missing",
    [
        ("nvmlInitWithFlags",),
        ("nvmlSystemGetCudaDriverVersion_v2",),
        ("nvmlDeviceGetMemoryInfo_v2",),
        ("nvmlDeviceGetCurrentClocksEventReasons",),
        OLD[1::2],
        OLD,
    ],
    ids="+".join,
)
def test_an_older_driver_is_asked_in_the_older_way(stand_ins: StandIns, missing: tuple[str, ...]) -> None:
    new, old = ask(stand_ins, TWO), ask(stand_ins, replace(TWO, missing=missing))
    assert old.driver == new.driver
    if "nvmlDeviceGetMemoryInfo_v2" not in missing:
        assert old.gpus == new.gpus
    else:  # version 1 counts what the system reserves as used
        assert old.gpus[0].memory_used_bytes == Known((2 << 30) + (1 << 29), "NVML")
        assert old.gpus[0].memory_free_bytes == new.gpus[0].memory_free_bytes


def test_a_function_that_the_driver_lacks_costs_one_fact(stand_ins: StandIns) -> None:
    gpu = ask(stand_ins, replace(TWO, missing=("nvmlDeviceGetMaxPcieLinkWidth",))).gpus[0]
    assert gpu.pcie_width_max == Unknown("the driver is too old to answer this question")
    assert gpu.pcie_width == Known(16, "NVML")


def test_a_lost_gpu_stays_in_the_list(stand_ins: StandIns) -> None:
    first, second = ask(stand_ins, TWO.but(gpu__0__fail=15)).gpus
    lost = Unknown("the GPU is lost: it fell off the bus or can no longer be reached")
    assert first.fault == Known("lost", "NVML")
    assert {getattr(first, name) for name in Gpu.__struct_fields__ if name != "fault"} == {lost}
    assert second.name == Known("GeForce 940M", "NVML")


def test_a_failing_call_costs_one_fact_of_one_gpu(stand_ins: StandIns) -> None:
    first, second = ask(stand_ins, TWO.but(gpu__0__fail__nvmlDeviceGetUUID=999)).gpus
    assert first.uuid == Unknown("the driver reports an unknown error")
    assert isinstance(first.name, Known)
    assert isinstance(second.uuid, Known)


def test_a_text_without_end_is_no_answer(stand_ins: StandIns) -> None:
    gpu = ask(stand_ins, TWO.but(garbage__nvmlDeviceGetName=1)).gpus[0]
    assert isinstance(gpu.name, Unknown)
    assert gpu.name.reason.startswith("NVML answered UnicodeDecodeError")
    assert isinstance(gpu.uuid, Known)


def test_a_start_that_hangs_is_told_as_such(stand_ins: StandIns) -> None:
    began = time.monotonic()
    answers = ask(stand_ins, TWO.but(hang__nvmlInitWithFlags=1), timeout=1.0)
    detail = "NVML did not answer in 1 s; the last call was nvmlInitWithFlags"
    assert api(answers) == ApiAnswer(outcome=Api.NO_ANSWER, detail=detail)
    assert answers.driver.version == Unknown(detail)
    assert answers.gpus == ()
    assert time.monotonic() - began < 20  # not a speed limit: the child would sleep for ever


def test_a_call_that_hangs_keeps_all_answers_before_it(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(hang__nvmlDeviceGetTemperature=1), timeout=2.0)
    detail = "NVML did not answer in 2 s; the last call was nvmlDeviceGetTemperature"
    assert api(answers) == ApiAnswer(outcome=Api.NO_ANSWER, code=0, name="NVML_SUCCESS", detail=detail)
    first, second = answers.gpus
    assert first.temperature_celsius == second.temperature_celsius == second.power_mw == Unknown(detail)
    assert first.power_mw == Known(71_000, "NVML")
    assert second.name == Known("GeForce 940M", "NVML")
    assert second.memory_total_bytes == Known(2 << 30, "NVML")


def test_an_abort_keeps_all_answers_before_it(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(abort__nvmlDeviceGetUtilizationRates=1))
    detail = "NVML crashed with SIGABRT; the last call was nvmlDeviceGetUtilizationRates"
    assert (api(answers).outcome, api(answers).detail) == (Api.CRASHED, detail)
    assert answers.gpus[0].utilization_percent == Unknown(detail)
    assert isinstance(answers.gpus[0].processes, Known)


def test_an_absurd_count_of_gpus_ends(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, replace(TWO, extra={"gpus": 4_000_000_000}))
    assert api(answers).outcome is Api.OK
    assert len(answers.gpus) <= 64


@pytest.mark.parametrize("mode", [(0, "default"), (2, "prohibited"), (3, "exclusive-process")])
def test_compute_mode_by_name(stand_ins: StandIns, mode: tuple[int, str]) -> None:
    (gpu,) = ask(stand_ins, Profile(gpus=(replace(GEFORCE_940M, extra={"compute_mode": mode[0]}),))).gpus
    assert gpu.compute_mode == Known(mode[1], "NVML")


def test_an_unknown_compute_mode_is_not_the_default_one(stand_ins: StandIns) -> None:
    (gpu,) = ask(stand_ins, Profile(gpus=(replace(GEFORCE_940M, extra={"compute_mode": 9}),))).gpus
    assert gpu.compute_mode == Unknown("NVML gave an answer without sense")


def _proc(root: Path, namespace: str) -> None:
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to(namespace)
    (root / "proc/4242").mkdir()
    (root / "proc/4242/comm").write_text("python3\n")


@pytest.mark.parametrize(("namespace", "name"), [("pid:[4026531836]", "python3"), ("pid:[4026532000]", None)])
def test_names_processes_only_in_the_namespace_whose_pids_nvml_tells(
    stand_ins: StandIns, tmp_path: Path, namespace: str, name: str | None
) -> None:
    _proc(tmp_path, namespace)
    gpu = replace(GEFORCE_940M, extra={"compute": "4242:1024,4243:2048"})
    environ = {**os.environ, **stand_ins(Profile(gpus=(gpu,)))}
    processes = nvml.probe(Host(root=tmp_path, environ=environ), 30.0).gpus[0].processes.require()
    there, not_there = (ProcessSight.SEEN, ProcessSight.GONE) if name else (ProcessSight.UNSEEN,) * 2
    assert processes == (
        GpuProcess(pid=4242, kind=ProcessKind.COMPUTE, memory_bytes=1024, name=name, sight=there),
        GpuProcess(pid=4243, kind=ProcessKind.COMPUTE, memory_bytes=2048, sight=not_there),
    )


def test_no_process_at_all_is_an_empty_list(stand_ins: StandIns) -> None:
    gpu = FakeGpu(name="x", uuid=None, pci=None, cc=None, extra={"compute": "", "graphics": ""})
    (fact,) = (one.processes for one in ask(stand_ins, Profile(gpus=(gpu,))).gpus)
    assert fact == Known((), "NVML")


def test_a_python_that_cannot_start_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    fact = nvml.probe(Host()).driver.nvml
    assert fact == Unknown("/no/such/python could not be started: No such file or directory")


def test_faults_links_and_topology_of_two_gpus(stand_ins: StandIns) -> None:
    ill = replace(
        RTX_4090,
        extra={
            **RTX_4090.extra,
            "ecc_uncorrected": 3,
            "remapped_rows": "0,1,1,0",
            "pages_pending": 0,
            "nvlinks": "1,1,0",
            "distance": 50,
            "p2p": 5,
            "bar1_total": 1 << 28,
            "virtualization": 1,
            "numa_node": 1,
        },
    )
    answers = ask(stand_ins, Profile(gpus=(ill, GEFORCE_940M)))
    gpu = answers.gpus[0]
    assert [fact.get() for fact in (gpu.ecc_uncorrected, gpu.rows_pending, gpu.rows_failed, gpu.pages_pending)] == [
        *(3, True, False, False)
    ]
    assert (gpu.nvlinks_up.get(), gpu.nvlinks.get(), gpu.bar1_total_bytes.get()) == (2, 3, 1 << 28)
    assert (gpu.virtualization.get(), gpu.numa_node.get(), gpu.licensed) == ("passthrough", 1, Absent("NVML"))
    assert answers.driver.topology == Known(
        (GpuPair(first=0, second=1, distance="system", reads=False, obstacle="not-supported"),), "NVML"
    )
    other = answers.gpus[1]
    assert isinstance(other.ecc_uncorrected, Unknown) and isinstance(other.rows_failed, Unknown)


def test_mig_instances_by_the_name_that_cuda_takes(stand_ins: StandIns) -> None:
    split = replace(A100_WITH_MIG, extra={**A100_WITH_MIG.extra, "mig_uuids": "MIG-aaaa,MIG-bbbb"})
    assert ask(stand_ins, Profile(gpus=(split,))).gpus[0].mig_instances == Known(("MIG-aaaa", "MIG-bbbb"), "NVML")
    assert ask(stand_ins, Profile(gpus=(A100_WITH_MIG,))).gpus[0].mig_instances == Known((), "NVML")
