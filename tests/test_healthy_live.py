"""Healthy machines as the driver tells of them: odd cards, links, modes and places, and no alarm.

The real nvidia-ml-py asks the C stand-ins; the rest of the machine comes from tests/machine.py. Each is judged as a
quick check reads it and after TensorFlow was started. Beside them faults in places where something else is odd as well:
the fault leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from msgspec.structs import replace as but_with

from gpudoctor.facts.model import Facts, Known
from gpudoctor.facts.probes import libcuda, nvml
from gpudoctor.findings import Role, Severity
from tests.fakes.build import GEFORCE_940M, RTX_4090, FakeGpu, Profile, compiler
from tests.machine import machine, started
from tests.matrix.driver import FaultyDriver
from tests.matrix.judged import joined, not_started
from tests.test_combinations import judge, serious
from tests.test_live_evidence import but

GIB, SOURCE = 1 << 30, "a test"
IDLE = {
    "utilization": 0, "utilization_memory": 0, "throttle": 0x1, "temperature.0": 38, "power": 20_000,
    "power_limit": 300_000, "clock.1": 210, "clock_max.1": 3105, "pcie_gen": 1, "pcie_gen_max": 4, "pcie_width": 16,
    "pcie_width_max": 16, "compute_mode": 0, "persistence": 0, "display_active": 0, "compute": "", "graphics": "",
    "mps": "",
}  # fmt: skip
WORKS = {"utilization": 95, "throttle": 0, "pcie_gen": 4}
D470, D515 = ("470.256.02", 11040), ("515.105.01", 11070)
D525, D535 = ("525.147.05", 12000), ("535.183.01", 12020)
D550, D580, D610 = ("550.144.03", 12040), ("580.95.05", 13000), ("610.43.02", 13030)


def card(name: str, cc: str, gib: int = 24, **extra: object) -> FakeGpu:
    """Return a GPU at rest."""
    own = {key.replace("__", "."): value for key, value in extra.items()}
    uuid = "GPU-abcdef00-0000-0000-0000-000000000001"
    return FakeGpu(name, uuid, "0000:01:00.0", cc, memory_total=gib * GIB, extra={**IDLE, **own})


def many(gpu: FakeGpu, count: int) -> tuple[FakeGpu, ...]:
    return tuple(but(gpu, number) for number in range(count))


RTX = replace(RTX_4090, memory_used=0, memory_reserved=0, extra=IDLE)
AMPERE = card("NVIDIA GeForce RTX 3090", "8.6")
LAPTOP = card("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9", 8, pcie_width=8, pcie_width_max=8)
A100 = card("NVIDIA A100-SXM4-40GB", "8.0", 40, ecc=1, persistence=1, mig=0)
H200 = card("NVIDIA H200", "9.0", 141, ecc=1, persistence=1, nvlinks="1,1,1,1", fabric=3, fabric_status=0)
T4, GRID = card("Tesla T4", "7.5", 15, ecc=1), card("GRID T4-16Q", "7.5", 16, virtualization=2, license="1:1")
PASCAL, K80 = card("NVIDIA GeForce GTX 1080", "6.1", 8), card("Tesla K80", "3.7", 11)
BLACKWELL = card("NVIDIA GeForce RTX 5090", "12.0", 32)


@dataclass(frozen=True)
class Made:
    """A machine: its GPUs, its driver and what CUDA that serves, the words of tests.machine, and what is odd."""

    gpus: tuple[FakeGpu, ...]
    driver: tuple[str, int] = D535
    rest: Mapping[str, Any] = field(default_factory=dict)
    then: Callable[[Facts], Facts] = lambda facts: facts
    answers: Mapping[str, object] = field(default_factory=dict)
    lead: str = ""
    says: str = ""
    """What the commands of the first remedy hold."""


def on_battery(facts: Facts) -> Facts:
    return but_with(facts, host=but_with(facts.host, power_source=Known("battery", SOURCE)))


def within(**variables: str) -> Callable[[Facts], Facts]:
    """Return what adds environment variables."""

    def change(facts: Facts) -> Facts:
        environment = Known({**(facts.python.environment.get() or {}), **variables}, SOURCE)
        return but_with(facts, python=but_with(facts.python, environment=environment))

    return change


NEW = {"tensorflow": "2.21.0"}
HEALTHY: dict[str, Made] = {
    "one of two cards in a slot of four lanes, at rest": Made((AMPERE, but(AMPERE, 1, pcie_width=4))),
    "slots of 16, 8 and 8 lanes, at work": Made(
        tuple(but(AMPERE, number, **WORKS, pcie_width=16 if number == 0 else 8) for number in range(3))
    ),
    "a laptop's card with eight lanes, at work": Made((but(LAPTOP, **WORKS),)),
    "a box with four lanes, all that there are": Made(
        (but(RTX, **WORKS, pcie_width=4, pcie_width_max=4, pcie_gen_max=3),), D580
    ),
    "a laptop on its battery, at rest": Made((LAPTOP,), then=on_battery),
    "a laptop on its battery, at full clocks": Made(
        (but(LAPTOP, **{**WORKS, "throttle": 0x4, "clock.1": 2900}),), then=on_battery
    ),
    "MIG could be, and is off": Made((A100,)),
    "MIG with an instance": Made((but(A100, mig=1, mig_uuids="MIG-a", mig_ids="7", mig_most=7),), D550),
    "eight A100": Made(many(A100, 8), D550),
    "eight H200, the fabric completed": Made(many(H200, 8), D580, NEW),
    "ECC switched off": Made((card("NVIDIA RTX A6000", "8.6", 48, ecc=0),), D580),
    "persistence mode on a desktop": Made((but(RTX, persistence=1, display_active=1),)),
    "exclusive, and free": Made((but(A100, compute_mode=3),), D550),
    "exclusive, for the server of MPS": Made((but(A100, compute_mode=3, mps="55:1000000"),), D550),
    "at its power cap under full load": Made((but(A100, **{**WORKS, "throttle": 0x4}, temperature__0=66),), D550),
    "a browser with 300 MB of 24 GB": Made(
        (but(RTX, display_active=1, graphics="900:209715200,901:314572800", memory_used=524288000),), D550
    ),
    "a hybrid laptop, a display server with 4 MB": Made((but(LAPTOP, graphics="1200:4194304"),), D550),
    "WSL2 with a new driver": Made((RTX,), D610, {"os": "wsl2"}),
    "a container with compute only": Made(
        (RTX,), rest={"container": "docker"}, then=within(NVIDIA_DRIVER_CAPABILITIES="compute")
    ),
    "a container by CDI": Made((RTX,), rest={"container": "docker"}, then=within(NVIDIA_VISIBLE_DEVICES="void")),
    "podman": Made((RTX,), rest={"container": "podman"}),
    "a pod": Made((T4,), rest={"container": "kubernetes"}, then=within(NVIDIA_VISIBLE_DEVICES="GPU-abcdef00")),
    "Colab with a T4": Made(
        (T4,), D550, {"tensorflow": "2.19.0", "container": "docker"},
        then=within(COLAB_RELEASE_TAG="r", COLAB_GPU="1", JPY_PARENT_PID="9", LD_LIBRARY_PATH="/usr/local/nvidia/lib"),
    ),
    "a virtual GPU with its licence": Made((GRID,)),
    "a GPU that is passed through": Made((but(A100, virtualization=1),), D550),
    "conda with CUDA and cuDNN of its own": Made((AMPERE,), D550, {"tensorflow": "2.15.1", "libraries": "conda"}),
    "an old TensorFlow by conda on a new driver": Made(
        (AMPERE,), D580, {"tensorflow": "2.10.1", "python": "3.10", "libraries": "conda"}
    ),
    "LD_LIBRARY_PATH with other folders": Made((RTX,), then=within(LD_LIBRARY_PATH="/opt/intel/lib:/home/ann/lib")),
    "2.15 on driver 580": Made((AMPERE,), D580, {"tensorflow": "2.15.1"}),
    "2.21 with the newest cuDNN": Made((RTX,), D580, {**NEW, "cudnn": "9.28.0.42"}),
    "2.21 with NumPy 1.26": Made((RTX,), D580, {**NEW, "packages": {"numpy": "1.26.4"}}),
    "torch in the same environment": Made((RTX,), D580, {**NEW, "packages": {"torch": "2.9.0", "triton": "3.5.0"}}),
    "keras-nightly in place of keras": Made((RTX,), D580, {"packages": {"keras-nightly": "3.16.0.dev2026101504"}}),
    "Pascal with 2.17": Made((PASCAL,), D550, {"tensorflow": "2.17.1"}),
    "a driver that answers nothing that may be left out": Made(
        (FakeGpu("NVIDIA GeForce RTX 3060", "GPU-1", "0000:01:00.0", "8.6"),)
    ),
}  # fmt: skip
BROKEN: dict[str, Made] = {
    "Kepler under conda": Made(
        (K80,), D470, {"tensorflow": "2.15.1", "libraries": "conda"}, lead="driver-too-old-for-cuda",
        says="tensorflow==2.14.1 ",
    ),
    "Blackwell under WSL2": Made(
        (BLACKWELL,), D580, {"tensorflow": "2.19.0", "os": "wsl2"}, lead="gpu-arch-too-new-for-wheel"
    ),
    "Pascal, and a cuDNN without code for it": Made(
        (PASCAL,), D580, {"cudnn": "9.28.0.42"}, lead="cudnn-without-code-for-gpu", says="-cudnn-cu12>=9.3,<9.11"
    ),
    "a driver of CUDA 11 under Hopper": Made(
        (H200,), D515, {"tensorflow": "2.15.1"}, lead="driver-too-old-for-cuda", says="sudo reboot"
    ),
    "a driver that cannot read the wheel's PTX": Made(
        (H200,), D525, {"tensorflow": "2.17.1"}, lead="gpu-arch-too-new-for-wheel"
    ),
    "WSL2 without libraries": Made(
        (RTX,), D580, {**NEW, "os": "wsl2", "libraries": "none"}, lead="cuda-libs-missing", says="'tensorflow[and-cuda]"
    ),
    "CUDA 13 of the system for 2.20": Made(
        (AMPERE,), D580, {"libraries": "system", "cuda": "13.0"}, lead="cuda-libs-wrong-version", says="[and-cuda]"
    ),
    "cuDNN 8 of the system for 2.18": Made(
        (AMPERE,), D550, {"tensorflow": "2.18.1", "libraries": "system", "cuda": "12.5", "cudnn": "8.9.7"},
        lead="cudnn-too-old", says="'nvidia-cudnn-cu12>=9.3,<10'",
    ),
    "a build for the CPU in a container": Made(
        (RTX,), D550, {"package": "tensorflow-cpu", "libraries": "none", "container": "docker"},
        lead="cpu-only-tensorflow", says="uninstall -y tensorflow-cpu",
    ),
    "NumPy 2 under 2.16": Made(
        (AMPERE,), D550, {"tensorflow": "2.16.2", "packages": {"numpy": "2.1.3"}}, lead="numpy-abi-mismatch",
        says="numpy<2",
    ),
    "Keras 2 under 2.20, on a laptop's battery": Made(
        (LAPTOP,), D550, {"packages": {"keras": "2.15.0"}}, on_battery, lead="keras-version-mismatch", says="keras>=3"
    ),
    "another back-end, which is not there": Made(
        (AMPERE,), D550, then=within(KERAS_BACKEND="torch"), lead="wrong-keras-backend", says="KERAS_BACKEND=tensorflow"
    ),
    "an unknown error of CUDA's": Made(
        (LAPTOP,), D550, answers={"fail.cuInit": 999}, lead="cuda-does-not-start", says="modprobe nvidia_uvm"
    ),
    "libraries of another version than the module": Made(
        (RTX,), D550, lead="driver-library-mismatch", says="sudo reboot",
        answers={"fail.nvmlInit_v2": 18, "fail.nvmlInitWithFlags": 18, "fail.cuInit": 803},
    ),
    "the fabric manager does not run, on eight": Made(
        many(but(H200, fabric=1), 8), D580, NEW, answers={"fail.cuInit": 802}, lead="driver-not-loaded",
        says="nvidia-fabricmanager",
    ),
    "held exclusively": Made(
        (but(A100, compute_mode=3, compute="4242:1073741824"),), D550, lead="gpu-exclusive-or-mig", says="-c DEFAULT"
    ),
    "a virtual GPU without a licence": Made((but(GRID, license="1:0"),), lead="vgpu-unlicensed"),
    "hot on mains": Made(
        (but(LAPTOP, **{**WORKS, "throttle": 0x20}, temperature__0=92),), D550, lead="thermal-or-power-throttle"
    ),
    "memory that is worn out": Made((but(A100, remapped_rows="0,9,1,1"),), D550, lead="gpu-hardware-fault-xid"),
    "Maxwell in a container": Made(
        (GEFORCE_940M,), rest={"container": "docker"}, lead="gpu-arch-too-old-for-wheel", says="==2.16.2"
    ),
    "no libraries for 2.13": Made(
        (AMPERE,), rest={"tensorflow": "2.13.1", "python": "3.10", "libraries": "none"}, lead="cuda-libs-missing",
        says="tensorflow[and-cuda]==2.21.0",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDriver]:
    """A driver whose answers are set."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    folder = tmp_path_factory.mktemp("driver")
    with FaultyDriver(folder, folder / "cache") as made:
        yield made


def facts_of_made(driver: FaultyDriver, made: Made) -> Facts:
    """Return the machine with what the driver answers, before TensorFlow is started."""
    version, serves = made.driver
    rest = machine(("NVIDIA GeForce RTX 4090",) * len(made.gpus), version, **made.rest)
    driver.set(Profile(driver_version=version, cuda_version=serves, gpus=made.gpus, extra=made.answers))
    return made.then(not_started(joined(rest, nvml.probe(driver), libcuda.probe(driver))))


@pytest.mark.parametrize("name", HEALTHY)
def test_no_alarm(driver: FaultyDriver, name: str) -> None:
    facts = facts_of_made(driver, HEALTHY[name])
    assert [gpu.name.get() for gpu in facts.gpus] == [gpu.name for gpu in HEALTHY[name].gpus]
    assert serious(judge(facts)) == []
    assert serious(judge(started(facts))) == []


@pytest.mark.parametrize("name", BROKEN)
def test_the_fault_leads(driver: FaultyDriver, name: str) -> None:
    made = BROKEN[name]
    report = judge(facts_of_made(driver, made))
    weighty = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [item for item in weighty if item.role is Role.ROOT_CAUSE]
    assert roots[0].rule == made.lead
    first = next(remedy for remedy in report.remedies if made.lead in remedy.fixes)
    assert made.says in "\n".join(first.commands)
