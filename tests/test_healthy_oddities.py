"""Healthy machines that look odd: no finding at warning or above, with TensorFlow started and not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from gpudoctor.facts.model import (
    Absent,
    Facts,
    Gpu,
    GpuProcess,
    Known,
    LibcudaKind,
    PackageProblem,
    ProcessKind,
    Unknown,
)
from tests.machine import machine, started
from tests.test_combinations import judge, serious

SOURCE = "a test"


def of_another(card: Gpu) -> Gpu:
    """Return a GPU of a cluster's node that another user's program has, hot and at full load."""
    program = GpuProcess(pid=4711, kind=ProcessKind.COMPUTE, memory_bytes=2 << 30, name="python3")
    return replace(
        card,
        visible=Known(False, "libcuda"),
        utilization_percent=Known(100, "NVML"),
        temperature_celsius=Known(84, "NVML"),
        throttle_reasons=Known(("sw-power-cap", "sw-thermal-slowdown"), "NVML"),
        compute_mode=Known("exclusive-process", "NVML"),
        processes=Known((program,), "NVML"),
    )


def one_gpu_of_a_cluster() -> Facts:
    facts = machine(("NVIDIA A100-SXM4-40GB",) * 4, environment={"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_ID": "7"})
    first, *others = facts.gpus
    one = replace(facts.driver, cuda_device_count=Known(1, "libcuda"))
    return replace(facts, gpus=(first, *map(of_another, others)), driver=one)


def own_build(card: str, version: str, *, cuda: str, cudnn: str, driver: str, code: str) -> Facts:
    """Return a TensorFlow that is no published wheel, with the CUDA libraries of the system."""
    own = {"numpy": "1.26.4"}  # whichever release it is, it runs with that
    facts = machine((card,), driver, libraries="system", cuda=cuda, cudnn=cudnn, packages=own)
    build = replace(
        facts.tensorflow,
        version=Known(version, "package metadata"),
        built_with_cuda=Known(cuda, "build_info.py"),
        built_with_cudnn=Known("9", "build_info.py"),
        compute_capabilities=Known(tuple(code.split()), "build_info.py"),
        cuda_requirements=Absent("no extra and-cuda"),
    )
    return replace(facts, tensorflow=build)


def with_compat_libcuda() -> Facts:
    facts = own_build(
        "NVIDIA A100-SXM4-40GB",
        "2.17.0+nv25.9",
        cuda="13.0",
        cudnn="9.13.0",
        driver="535.183.01",
        code="sm_80 compute_80",
    )
    driver = replace(facts.driver, libcuda_kind=Known(LibcudaKind.COMPAT, SOURCE), cuda_version=Known("13.0", SOURCE))
    return replace(facts, driver=driver)


def image_without_a_compiler() -> Facts:
    facts = machine(libraries="system", tensorflow="2.10.1", python="3.10", container="docker")
    nothing = Absent("none where XLA looks")
    libraries = replace(facts.libraries, ptxas=nothing, ptxas_version=nothing, libdevice=nothing)
    return replace(facts, libraries=libraries)


def old_ptxas_on_path() -> Facts:
    facts = machine(tensorflow="2.20.0")
    old = replace(facts.libraries, ptxas=Known("/usr/bin/ptxas", "PATH"), ptxas_version=Known("10.1", SOURCE))
    return replace(facts, libraries=old)


def odd_packages() -> Facts:
    facts = machine(packages={"keras-nightly": "3.16.0.dev1", "tf-keras": "2.18.0", "jax": "0.7.0"})
    found = (
        PackageProblem(kind="duplicate", name="numpy", detail="1.26.4 in /usr/lib; 2.1.3 in ~/.local"),
        PackageProblem(kind="leftover", name="~ip", detail="~/tf/lib/python3.11/site-packages/~ip"),
        PackageProblem(kind="broken-metadata", name="six", detail="~/tf/lib/python3.11/site-packages/six"),
    )
    return replace(facts, python=replace(facts.python, problems=Known(found, SOURCE)))


def hidden(facts: Facts, number: int) -> Facts:
    cards = list(facts.gpus)
    cards[number] = replace(cards[number], visible=Known(False, "libcuda"))
    return replace(facts, gpus=tuple(cards))


def unknown_processor() -> Facts:
    facts = machine()
    return replace(facts, host=replace(facts.host, cpu_flags=Unknown("/proc/cpuinfo names no flags")))


ADA_AND_BLACKWELL = ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090")
MACHINES: dict[str, Callable[[], Facts]] = {
    "one GPU of a cluster's node, the others held by other users": one_gpu_of_a_cluster,
    "an old GPU beside a new one": lambda: machine(
        ("NVIDIA GeForce RTX 3090", "Tesla K80"), "470.256.02", "2.14.1", python="3.11"
    ),
    "Pascal beside Ampere, and a cuDNN without code for Pascal": lambda: machine(
        ("NVIDIA A100-SXM4-40GB", "Tesla P100 PCIe 16GB"), cudnn="9.28.0.42"
    ),
    "Blackwell beside Ada": lambda: machine(ADA_AND_BLACKWELL, "575.57.08"),
    "Blackwell hidden beside Ada": lambda: hidden(machine(ADA_AND_BLACKWELL, "575.57.08"), 1),
    "a build from source for one GPU": partial(
        own_build, "NVIDIA GeForce RTX 4090", "2.20.0", cuda="12.8", cudnn="9.1.0", driver="575.57.08", code="sm_89"
    ),
    "a build from source with CUDA 13": partial(
        own_build,
        "NVIDIA GeForce RTX 5090",
        "2.20.0",
        cuda="13.0",
        cudnn="9.17.0",
        driver="580.95.05",
        code="sm_89 sm_120",
    ),
    "NVIDIA's container on Blackwell": partial(
        own_build,
        "NVIDIA GeForce RTX 5090",
        "2.17.0+nv25.2",
        cuda="12.8",
        cudnn="9.7.1",
        driver="570.86.10",
        code="sm_80 sm_90 sm_100 compute_120",
    ),
    "NVIDIA's container on an older driver, with its compat libcuda": with_compat_libcuda,
    "an image for running only, before Keras compiled with XLA": image_without_a_compiler,
    "an old ptxas on PATH, which XLA passes over": old_ptxas_on_path,
    "remains, copies and packages that nobody uses": odd_packages,
    "a notebook": lambda: machine(environment={"JPY_PARENT_PID": "17", "CUDA_VISIBLE_DEVICES": "0"}),
    "a cluster described in TF_CONFIG": lambda: machine(
        environment={"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'}
    ),
    "Keras told what it does anyway": lambda: machine(environment={"KERAS_BACKEND": "tensorflow"}),
    "a processor whose flags cannot be read": unknown_processor,
}


@pytest.mark.parametrize("name", MACHINES)
def test_no_alarm(name: str) -> None:
    facts = MACHINES[name]()
    assert serious(judge(facts)) == []
    assert serious(judge(started(facts))) == []
