"""What texts in which nothing is found are taken for: no sign of health is no health."""

from __future__ import annotations

import pytest

from gpudoctor import compat
from gpudoctor.findings import Verdict
from tests.logs.test_texts import lead_of, report_of


@pytest.mark.parametrize(
    "text",
    [
        "# Very slow training\nCan anyone tell how to increase the speed? Ten epochs take hours on my PC.\n",
        "My notebook has a GeForce GTX 1650.\n- GPU model and memory: GeForce GTX 1650, 4 GB\n",
        "It hangs as soon as it starts.\n",
    ],
)
def test_a_complaint_alone_or_the_name_of_a_gpu_is_no_health(text: str) -> None:
    assert report_of(text).verdict is Verdict.UNKNOWN


def test_the_complaint_is_shown_where_nothing_tells_why() -> None:
    report = report_of("# Very slow training\nIs that normal?\n")
    assert report.summary == "the text shows a trouble whose cause it does not tell (Very slow training)"


def test_a_list_of_packages_is_no_program_that_hangs() -> None:
    events = report_of("pip freeze\nabsl-py==0.8.1\n").facts.tensorflow.events.get() or ()
    assert not events


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("GeForce GTX 108...", "6.1"),
        ("Tesla V100-SXM2...", "7.0"),
        ("NVIDIA RTX PRO 2000 Blac...", "12.0"),
    ],
)
def test_a_name_that_nvidia_smi_has_cut_tells_what_all_its_ends_have_alike(name: str, capability: str) -> None:
    assert compat.compute_capability_of(name).compute_capability == capability


# The beginnings stand for GPUs of several generations.
@pytest.mark.parametrize("name", ["NVIDIA GeForce ...", "GeForce GTX TIT...", "GeForce GTX 95...", "..."])
def test_a_cut_name_of_several_generations_tells_nothing(name: str) -> None:
    with pytest.raises(compat.NotCovered):
        compat.compute_capability_of(name)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[100] Call to cuInit results in CUDA_ERROR_NO_DEVICE:", "CUDA_ERROR_NO_DEVICE"),
        ("[-1] Call to cuInit results in UNKNOWN_CUDA_ERROR", "CUDA_ERROR_STUB_LIBRARY"),
        ("Call to cuInit results in UNKNOWN_CUDA_ERROR", "UNKNOWN_CUDA_ERROR"),
        ("pycuda._driver.LogicError: cuInit failed: no CUDA-capable device is detected", "CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_an_error_of_cuinit_is_taken_from_other_programs(line: str, name: str) -> None:
    answer = report_of(line).facts.driver.cuda_init.get()
    assert answer is not None
    assert answer.name == name


def test_a_library_that_is_missing_is_read_without_the_name_of_the_error() -> None:
    said = "libcublas.so.10.0: cannot open shared object file:No such file or directory.\n"
    assert lead_of(report_of(f"{said}Failed to load the native TensorFlow runtime.\n")) == "cuda-libs-missing"


# Advice, memory of a program that was killed, and what is said not to be so.
@pytest.mark.parametrize(
    "text",
    [
        "If the GPU memory is not released, you can restart the kernel.\n",
        "GPU memory is not released after killing the process, it stays as a zombie.\n",
        "Adding GPUs does not slow it down.\n",
        "bazel requires a newer glibc to build it.\n",
    ],
)
def test_words_that_mean_something_else(text: str) -> None:
    assert lead_of(report_of(text)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "My program is not using the GPU at all.\n",
        "It uses the CPU and not the GPU.\n",
        "nvidia-smi shows that the GPU is not being used.\n",
    ],
)
def test_a_gpu_that_is_said_to_be_unused_is_no_health(text: str) -> None:
    report = report_of(text)
    assert report.verdict is Verdict.UNKNOWN
    assert not report.findings


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVIDIA driver: 460.39\n", "460.39"),
        ("- **GPU driver version**: 418.87.00\n", "418.87.00"),
        ("I run a GTX 1060, and NVIDIA Graphics Driver 388.73\n", "388.73"),
        ("NVIDIA driver: 442.19, 431.36\n", None),
        ("driver 442.19\nanother machine has driver 431.36\n", None),
        ("You need driver 450.80.02 or newer.\n", None),
        (
            "NVIDIA driver: 460.39\n| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |\n",
            "535.54.03",
        ),
    ],
)
def test_a_driver_that_is_written_down_fills_in_what_no_tool_tells(text: str, version: str | None) -> None:
    report = report_of(text)
    assert report.facts.driver.version.get() == version
    assert report.verdict is Verdict.UNKNOWN or "NVIDIA-SMI" in text


def test_an_error_that_no_rule_explains_is_no_health() -> None:
    report = report_of("cuda_driver.cc:1278] could not retrieve CUDA device count: CUDA_ERROR_NOT_INITIALIZED: error\n")
    assert report.verdict is Verdict.UNKNOWN
    assert report.summary == "the text shows an error whose cause it does not tell (cuda-error, line 1)"


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Wheels are published for Linux, macOS and Windows.\n", ""),
        ("I run TensorFlow 2.15 on macOS 14.2 and no GPU is found.\n", "macos-no-gpu"),
        ("macOS-13.4-arm64-arm-64bit\n", "macos-no-gpu"),
    ],
)
def test_the_name_of_macos_alone_is_no_sign_of_it(text: str, lead: str) -> None:
    assert lead_of(report_of(text)) == lead
