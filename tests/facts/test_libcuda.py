"""The libcuda probe: the real child over a C stand-in for libcuda.so.1."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Api, ApiAnswer, Known, LibcudaKind, Unknown
from gpudoctor.facts.probes import libcuda
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from tests.fakes.build import GEFORCE_940M, RTX_4090, Libcuda, Profile, StandIns

TWO = Profile(gpus=(RTX_4090, GEFORCE_940M))
WITHOUT = "libcuda without CUDA_VISIBLE_DEVICES"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)


def ask(stand_ins: StandIns, profile: Profile, timeout: float = 30.0, **environ: str) -> DriverAnswers:
    return libcuda.probe(Host(environ={**os.environ, **stand_ins(profile), **environ}), timeout)


def api(answers: DriverAnswers) -> ApiAnswer:
    return answers.driver.cuda_init.require()


def visibility(answers: DriverAnswers) -> dict[str, bool | None]:
    return {gpu.name.require(): gpu.visible.get() for gpu in answers.gpus}


def test_tells_library_and_devices(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO)
    driver = answers.driver
    assert api(answers) == ApiAnswer(outcome=Api.OK, code=0, name="CUDA_SUCCESS")
    assert driver.cuda_version == Known("12.2", "libcuda")
    assert driver.cuda_device_count == driver.cuda_device_count_unmasked == Known(2, "libcuda")
    assert driver.libcuda_file.require().endswith("/lib/libcuda.so.535.183.01")
    assert driver.libcuda_version.require() == "535.183.01"
    assert driver.libcuda_kind.require() is LibcudaKind.DRIVER
    gpu = answers.gpus[0]
    assert gpu.name == Known("NVIDIA GeForce RTX 4090", "libcuda")
    assert gpu.uuid == Known("GPU-11111111-2222-3333-4444-555555555555", "libcuda")
    assert gpu.pci_address == Known("0000:01:00.0", "libcuda")
    assert gpu.compute_capability == Known("8.9", "libcuda")
    assert gpu.memory_total_bytes == Known(25_757_220_864, "libcuda")
    assert gpu.visible == Known(True, "libcuda")


def test_no_library(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, Profile(libcuda=Libcuda.NONE))
    detail = "libcuda.so.1 was not found"
    assert api(answers) == ApiAnswer(outcome=Api.NO_LIBRARY, detail=detail)
    assert answers.driver.libcuda_file == Absent("the dynamic loader")
    assert answers.driver.cuda_device_count == Unknown(detail)


def test_a_library_that_the_loader_refuses_is_no_missing_library(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    answers = libcuda.probe(Host(environ={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}), 30.0)
    assert api(answers).outcome is Api.ERROR
    assert api(answers).detail == "libcuda.so.1 cannot be loaded: file too short"
    assert answers.driver.libcuda_file == Known(str(tmp_path / "libcuda.so.1"), "the dynamic loader")
    assert answers.driver.libcuda_kind == Unknown("libcuda.so.1 cannot be loaded: file too short")


@pytest.mark.parametrize(
    ("place", "kind", "version"),
    [
        (Libcuda.COMPAT, LibcudaKind.COMPAT, Known),
        (Libcuda.WSL, LibcudaKind.WSL, Unknown),
        (Libcuda.STUB, LibcudaKind.STUB, Unknown),
    ],
)
def test_kind_by_folder(stand_ins: StandIns, place: Libcuda, kind: LibcudaKind, version: type) -> None:
    driver = ask(stand_ins, replace(TWO, libcuda=place)).driver
    assert driver.libcuda_kind.require() is kind
    assert isinstance(driver.libcuda_version, version)


def test_a_stub_anywhere_is_known_by_its_answer(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(fail__cuInit=34))
    assert api(answers).name == "CUDA_ERROR_STUB_LIBRARY"
    assert answers.driver.libcuda_kind.require() is LibcudaKind.STUB


@pytest.mark.parametrize(
    ("code", "name", "detail"),
    [
        (802, "CUDA_ERROR_SYSTEM_NOT_READY", "the GPUs are not ready yet"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "libcuda and the loaded kernel module belong to different"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "a forward-compatibility libcuda is in use"),
        (999, "CUDA_ERROR_UNKNOWN", "the driver reports an unknown error; the nvidia_uvm module"),
        (4711, "error 4711", "libcuda answered error 4711"),
    ],
)
def test_a_failed_start_is_told_by_name_and_meaning(stand_ins: StandIns, code: int, name: str, detail: str) -> None:
    answers = ask(stand_ins, TWO.but(fail__cuInit=code))
    assert (api(answers).outcome, api(answers).code, api(answers).name) == (Api.ERROR, code, name)
    assert api(answers).detail.startswith(detail)
    assert answers.driver.cuda_device_count == Unknown(api(answers).detail)
    assert answers.driver.cuda_version == Known("12.2", "libcuda")  # it answers before the start
    assert answers.gpus == ()


def test_no_device_is_a_count_of_zero(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, Profile())
    assert api(answers).code == 100
    assert answers.driver.cuda_device_count == Known(0, "libcuda")


def test_one_of_two_gpus_hidden(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO, CUDA_VISIBLE_DEVICES="1")
    assert answers.driver.cuda_device_count == Known(1, "libcuda")
    assert answers.driver.cuda_device_count_unmasked == Known(2, WITHOUT)
    assert visibility(answers) == {"GeForce 940M": True, "NVIDIA GeForce RTX 4090": False}


@pytest.mark.parametrize("value", ["", "-1", "7", "-1,0", "GPU-no-such"])
def test_all_gpus_hidden(stand_ins: StandIns, value: str) -> None:
    answers = ask(stand_ins, TWO, CUDA_VISIBLE_DEVICES=value)
    assert (api(answers).code, api(answers).name) == (100, "CUDA_ERROR_NO_DEVICE")
    assert answers.driver.cuda_device_count == Known(0, "libcuda")
    assert answers.driver.cuda_device_count_unmasked == Known(2, WITHOUT)
    assert visibility(answers) == {"NVIDIA GeForce RTX 4090": False, "GeForce 940M": False}


@pytest.mark.parametrize("value", ["0,1", "1,0", "GPU-94,GPU-11"])
def test_a_variable_that_hides_nothing(stand_ins: StandIns, value: str) -> None:
    answers = ask(stand_ins, TWO, CUDA_VISIBLE_DEVICES=value)
    assert visibility(answers) == {"NVIDIA GeForce RTX 4090": True, "GeForce 940M": True}


def test_passes_are_joined_by_address_and_not_by_number(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(cuda_order="1,0"), CUDA_VISIBLE_DEVICES="0")
    assert visibility(answers) == {"GeForce 940M": True, "NVIDIA GeForce RTX 4090": False}


def test_a_start_that_hangs_leaves_visibility_unknown(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(hang__cuInit=1), timeout=1.0, CUDA_VISIBLE_DEVICES="0")
    assert api(answers) == ApiAnswer(
        outcome=Api.NO_ANSWER, detail="libcuda did not answer in 1 s; the last call was cuInit"
    )
    assert answers.driver.cuda_version == Known("12.2", "libcuda")
    assert answers.driver.libcuda_kind.require() is LibcudaKind.DRIVER
    reason = f"{WITHOUT} did not answer in 1 s; the last call was cuInit"
    assert answers.driver.cuda_device_count_unmasked == Unknown(reason)


def test_an_abort_keeps_all_answers_before_it(stand_ins: StandIns) -> None:
    answers = ask(stand_ins, TWO.but(abort__cuDeviceTotalMem_v2=1))
    detail = "libcuda crashed with SIGABRT; the last call was cuDeviceTotalMem_v2"
    assert api(answers) == ApiAnswer(outcome=Api.CRASHED, code=0, name="CUDA_SUCCESS", detail=detail)
    assert answers.gpus[0].name == Known("NVIDIA GeForce RTX 4090", "libcuda")
    assert answers.gpus[0].memory_total_bytes == Unknown(detail)


def test_an_older_library_has_fewer_functions(stand_ins: StandIns) -> None:
    profile = replace(TWO, missing=("cuDeviceGetUuid_v2", "cuDeviceGetPCIBusId", "cuGetErrorName"))
    gpu = ask(stand_ins, profile).gpus[0]
    assert gpu.uuid == Known("GPU-11111111-2222-3333-4444-555555555555", "libcuda")
    assert gpu.pci_address == Unknown("the driver is too old to answer this question")


def test_one_device_that_fails_leaves_the_other(stand_ins: StandIns) -> None:
    first, second = ask(stand_ins, TWO.but(gpu__0__fail=999)).gpus
    assert isinstance(first.name, Unknown)
    assert second.name == Known("GeForce 940M", "libcuda")
