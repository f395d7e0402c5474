"""Situations that tools of this kind are known to get wrong, one test each, named by the situation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from gpudoctor import compat
from gpudoctor.cli import app
from gpudoctor.compat import GpuCode
from gpudoctor.facts import codec
from gpudoctor.facts.model import (
    Absent,
    Api,
    ApiAnswer,
    DriverFacts,
    Facts,
    Known,
    LibcudaKind,
    Library,
    LogEvent,
    RunOutcome,
    TensorFlowRun,
    Unknown,
)
from gpudoctor.findings import Finding, Outcome
from tests.machine import machine, started
from tests.rule_case import facts_of
from tests.test_combinations import judge, serious

NO_DEVICE = ApiAnswer(outcome=Api.ERROR, code=100, name="CUDA_ERROR_NO_DEVICE")


def roots(facts: Facts) -> list[str]:
    return [rule for rule, _ in serious(judge(facts))]


def only(facts: Facts) -> Finding:
    """Return the one finding at warning or above."""
    report = judge(facts)
    [rule] = [rule for rule, _ in serious(report)]
    return next(finding for finding in report.findings if finding.rule == rule)


def driven(facts: Facts, **fields: object) -> Facts:
    return replace(facts, driver=replace(facts.driver, **fields))


def without_gpu_in_sight(facts: Facts, **fields: object) -> Facts:
    """Return a machine whose driver lists no GPU; CUDA says that there is none unless told otherwise."""
    zero = Known(0, "libcuda")
    fields = {"cuda_init": Known(NO_DEVICE, "libcuda"), **fields}
    return driven(replace(facts, gpus=()), cuda_device_count=zero, cuda_device_count_unmasked=zero, **fields)


def test_driver_of_an_older_minor_version_of_cuda_than_the_wheel() -> None:
    assert roots(machine(driver="535.183.01", tensorflow="2.18.1")) == []
    assert roots(machine(driver="525.60.13", tensorflow="2.21.0")) == []
    # Where the GPU's code is PTX, the driver does have to know it.
    hopper = machine(("NVIDIA H100 PCIe",), driver="535.183.01", tensorflow="2.21.0")
    assert only(hopper).rule == "gpu-arch-too-new-for-wheel"


def test_version_texts_are_compared_by_their_parts_and_printed_as_read() -> None:
    # 12.10 is newer than 12.9; no CUDA 12.10 exists, so the driver's number alone is judged.
    hopper = machine(("NVIDIA H100 PCIe",), driver="575.57.08", tensorflow="2.21.0", driver_cuda="12.10")
    assert roots(hopper) == []
    old = machine(driver="450.80.02", tensorflow="2.20.0")
    assert only(old).message == (
        "driver 450.80.02 is older than 525.60.13, the minimum for CUDA 12.5.1, which TensorFlow 2.20.0 is built with"
    )


@pytest.mark.parametrize("carried", ["sm_86", "sm_80", "sm_89"])
def test_ada_runs_code_for_a_lower_minor_number(carried: str) -> None:
    assert compat.gpu_code([carried], None, "8.9").code is GpuCode.NATIVE
    facts = machine(("NVIDIA GeForce RTX 4090",))
    own = replace(facts, tensorflow=replace(facts.tensorflow, compute_capabilities=Known((carried,), "build_info.py")))
    assert roots(own) == []


def test_blackwell_on_a_wheel_without_code_for_it_is_not_passed_over() -> None:
    finding = only(machine(("NVIDIA GeForce RTX 5090",), driver="575.57.08", tensorflow="2.21.0"))
    assert finding.rule == "gpu-arch-too-new-for-wheel"
    assert "CUDA_ERROR_INVALID_PTX" in finding.message


def test_driver_of_cuda_11_under_a_wheel_of_cuda_12() -> None:
    finding = only(machine(driver="470.57.02", tensorflow="2.21.0"))
    assert finding.rule == "driver-too-old-for-cuda" and "525.60.13" in finding.message
    assert any("Update the NVIDIA driver to 525.60.13 or newer" in remedy.summary for remedy in finding.remedies)
    # A card that this driver's CUDA knows has another way: the newest TensorFlow that the driver serves.
    turing = only(machine(("NVIDIA GeForce RTX 2080 Ti",), driver="470.57.02", tensorflow="2.21.0"))
    driver, newest = turing.remedies
    assert "Install TensorFlow 2.14.1" in newest.summary
    assert "Update the NVIDIA driver to 525.60.13 or newer" in driver.summary


def test_driver_that_is_not_loaded_is_not_called_missing() -> None:
    nvml = ApiAnswer(outcome=Api.ERROR, code=9, name="NVML_ERROR_DRIVER_NOT_LOADED")
    facts = without_gpu_in_sight(
        machine(), nvml=Known(nvml, "NVML"), kernel_module_version=Absent("/proc/driver/nvidia"),
        modules_loaded=Known((), "/sys/module"),
    )  # fmt: skip
    assert roots(facts) == ["driver-not-loaded"]


def test_library_of_another_version_asks_for_a_reboot_not_for_a_driver() -> None:
    nvml = ApiAnswer(outcome=Api.ERROR, code=18, name="NVML_ERROR_LIB_RM_VERSION_MISMATCH")
    mismatch = ApiAnswer(outcome=Api.ERROR, code=803, name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")
    facts = without_gpu_in_sight(machine(), nvml=Known(nvml, "NVML"), cuda_init=Known(mismatch, "libcuda"),
                                 nvml_version=Known("550.54.15", "NVML"))  # fmt: skip
    finding = only(facts)
    assert finding.rule == "driver-library-mismatch"
    assert [remedy.commands for remedy in finding.remedies] == [("sudo reboot",)]


def test_driver_that_sees_no_gpu_is_not_called_missing() -> None:
    finding = only(without_gpu_in_sight(machine(), nvml_device_count=Known(0, "NVML")))
    assert finding.message == "the NVIDIA driver is loaded and takes no GPU: nvidia-smi finds no devices"


def test_driver_that_hangs_is_not_called_missing() -> None:
    silent = ApiAnswer(outcome=Api.NO_ANSWER, detail="NVML did not answer in 10 s")
    facts = driven(replace(machine(), gpus=()), nvml=Known(silent, "NVML"), cuda_init=Known(silent, "libcuda"),
                   nvml_device_count=Unknown("no answer"), cuda_device_count=Unknown("no answer"),
                   cuda_device_count_unmasked=Unknown("no answer"))  # fmt: skip
    assert roots(facts) == ["driver-did-not-answer"]


def test_container_with_the_drivers_libraries_and_without_its_tools() -> None:
    # No fact depends on nvidia-smi: NVML answers, and that is enough.
    assert roots(machine(container="docker")) == []


def test_toolkit_without_a_driver_ends_with_status_1(tmp_path: Path) -> None:
    nothing = Known(ApiAnswer(outcome=Api.NO_LIBRARY, detail="libcuda.so.1 was not found"), "libcuda")
    facts = without_gpu_in_sight(
        machine(libraries="system", tensorflow="2.13.1", python="3.11"), cuda_init=nothing, nvml=nothing,
        kernel_module_version=Absent("/proc/driver/nvidia"), kernel_module_on_disk=Absent("/lib/modules"),
        modules_loaded=Known((), "/sys/module"), library_files=Known((), "folders"), version=Unknown("no NVML"),
        nvml_device_count=Unknown("no NVML"), libcuda_kind=Absent("the loader"),
    )  # fmt: skip
    assert roots(facts) == ["driver-missing"]
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(facts))
    assert CliRunner().invoke(app, ["check", "--facts", str(file)]).exit_code == 1


def test_toolkit_in_a_versioned_folder_while_cuda_home_is_unset() -> None:
    facts = machine(libraries="system", tensorflow="2.13.1")
    assert "CUDA_HOME" not in facts.python.environment.require()
    assert all("/usr/local/cuda-11.8/" in item.path for item in facts.libraries.found.require() if item.name != "cudnn")
    assert roots(facts) == []


def test_toolkit_of_cuda_13_beside_a_wheel_that_brings_cuda_12() -> None:
    facts = machine(driver="580.95.05", tensorflow="2.20.0")
    path = "/usr/local/cuda-13.0/lib64/libcudart.so.13"
    other = Library(name="cudart", soname="libcudart.so.13", version=Known("13.0", "folder"), cuda_major=13, wins=True,
                    path=path, origin="toolkit", found_by="ld.so.cache")  # fmt: skip
    both = replace(facts.libraries, found=Known((*facts.libraries.found.require(), other), "files"),
                   ptxas=Known("/usr/local/cuda/bin/ptxas", "PATH"), ptxas_version=Known("13.0", "folder"))  # fmt: skip
    assert roots(replace(facts, libraries=both)) == []
    # Without the wheels it is told which one is found, and where.
    alone = only(replace(facts, libraries=replace(both, found=Known((other,), "files"))))
    assert alone.rule == "cuda-libs-wrong-version" and "/usr/local/cuda-13.0/lib64" in alone.message


@pytest.mark.parametrize(
    ("outcome", "detail"),
    [
        (RunOutcome.SIGNAL, "SIGABRT"),
        (RunOutcome.SIGNAL, "SIGSEGV"),
        (RunOutcome.NO_ANSWER, "did not end within 120 s"),
        (RunOutcome.EXIT, "printed without end and was ended"),
    ],
)
def test_tensorflow_that_aborts_hangs_or_floods_at_import(outcome: RunOutcome, detail: str) -> None:
    facts = machine()
    run = TensorFlowRun(outcome=outcome, stage="importing", detail=detail)
    broken = replace(facts, tensorflow=replace(facts.tensorflow, run=Known(run, "its start"), events=Known((), "log")))
    finding = only(broken)
    assert finding.rule == "tensorflow-import-fails" and detail in finding.message
    driver = next(check for check in judge(broken).checks if check.rule == "driver-too-old-for-cuda")
    assert driver.outcome is Outcome.PASS


def test_tensorflow_killed_by_an_illegal_instruction_names_the_processor() -> None:
    facts = machine()
    run = TensorFlowRun(outcome=RunOutcome.SIGNAL, stage="importing", detail="SIGILL")
    celeron = replace(facts.host, cpu_model=Known("Intel(R) Celeron(R) J4125", "/proc/cpuinfo"),
                      cpu_flags=Known(("sse4_2",), "/proc/cpuinfo"))  # fmt: skip
    tensorflow = replace(facts.tensorflow, run=Known(run, "its start"), events=Known((), "log"))
    finding = only(replace(facts, host=celeron, tensorflow=tensorflow))
    assert finding.rule == "cpu-lacks-avx" and "J4125" in finding.message


@pytest.mark.parametrize(("chosen_by", "severity"), [("own", "warning"), ("VIRTUAL_ENV", "error")])
def test_environment_that_was_looked_at_is_named(chosen_by: str, severity: str) -> None:
    facts = machine()
    nothing = Absent("the interpreter finds no tensorflow")
    bare = replace(
        facts,
        python=replace(facts.python, chosen_by=Known(chosen_by, "a test"), packages=Known((), "metadata")),
        tensorflow=replace(facts.tensorflow, version=nothing, distribution=nothing, location=nothing,
                           cuda_build=nothing, built_with_cuda=nothing),
    )  # fmt: skip
    finding = only(bare)
    assert (finding.rule, finding.severity.label) == ("tensorflow-not-installed", severity)
    assert "~/tf/bin/python" in finding.message
    # pipx and uvx: gpudoctor's own environment is the last that it looks at, and says so.
    assert ("environment of gpudoctor itself" in finding.message) == (chosen_by == "own")


def test_tensorflow_without_its_cuda_extra() -> None:
    finding = only(machine(libraries="none", tensorflow="2.20.0"))
    assert finding.rule == "cuda-libs-missing"
    assert finding.remedies[0].commands == ("~/tf/bin/python -m pip install 'tensorflow[and-cuda]==2.20.0'",)


def test_slim_image_with_the_wheels_of_cuda() -> None:
    report = judge(machine(container="docker", tensorflow="2.20.0"))
    assert serious(report) == []
    assert report.remedies == ()


def test_loader_path_that_is_unset() -> None:
    facts = machine(tensorflow="2.20.0")
    assert "LD_LIBRARY_PATH" not in facts.python.environment.require()
    assert roots(facts) == roots(started(facts)) == []


def test_wsl_whose_two_driver_numbers_differ() -> None:
    facts = machine(os="wsl2", driver="528.49", driver_cuda="12.0")
    two = Known("528.49", "NVML", (("525.85.05", "nvidia-smi"),))
    assert roots(driven(facts, version=two, nvml_version=Known("525.85.05", "NVML"))) == []


def test_linux_driver_inside_wsl() -> None:
    nvml = ApiAnswer(outcome=Api.ERROR, code=9, name="NVML_ERROR_DRIVER_NOT_LOADED")
    facts = without_gpu_in_sight(
        machine(os="wsl2", driver="552.44", driver_cuda="12.4"), nvml=Known(nvml, "NVML"),
        libcuda_kind=Known(LibcudaKind.DRIVER, "its folder"),
        libcuda_file=Known("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "the loader"),
    )  # fmt: skip
    assert roots(facts) == ["wsl-driver-or-stub"]


@pytest.mark.parametrize(("words", "status"), [((), 1), (("--expect", "cpu"), 0)])
def test_gate_on_a_machine_without_gpu_and_driver(tmp_path: Path, words: tuple[str, ...], status: int) -> None:
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(facts_of("no-gpu")))
    done = CliRunner().invoke(app, ["check", "--facts", str(file), "--format", "json", *words])
    assert done.exit_code == status
    assert (json.loads(done.output)["verdict"] == "errors") == bool(status)


def test_mig_hides_load_and_processes() -> None:
    facts = machine(("NVIDIA A100-SXM4-40GB",), tensorflow="2.20.0")
    silent = Unknown("this GPU does not report it")
    card = replace(facts.gpus[0], mig=Known(True, "NVML"), utilization_percent=silent, processes=silent)
    report = judge(replace(facts, gpus=(card,)))
    assert serious(report) == []
    processes = next(check for check in report.checks if check.rule == "competing-gpu-process")
    assert (processes.outcome, processes.reason) == (Outcome.SKIP, "this GPU does not report it")


def test_processes_that_cannot_be_seen_are_not_called_none() -> None:
    facts = machine(container="docker")
    silent = Unknown("this user may not see it")
    card = replace(facts.gpus[0], processes=silent, memory_used_bytes=Known(7 << 30, "NVML"))
    unseen = replace(facts, gpus=(card,))
    processes = next(check for check in judge(unseen).checks if check.rule == "competing-gpu-process")
    assert (processes.outcome, processes.reason) == (Outcome.SKIP, "this user may not see it")


def test_tensorboard_that_no_longer_comes_along() -> None:
    facts = machine(tensorflow="2.21.0")
    assert roots(facts) == []  # a note: nobody asked for it
    asked = LogEvent(message="tensorboard-missing", line=7, source="train.log")
    told = only(started(facts, events=[asked]))
    assert told.rule == "tensorboard-missing-for-callback"
    assert told.remedies[0].commands == ("~/tf/bin/python -m pip install tensorboard",)


def test_facts_know_nothing_of_nvidia_smi() -> None:
    assert not [name for name in DriverFacts.__struct_fields__ if "smi" in name]
