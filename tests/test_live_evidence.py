"""What the driver answers, and what is made of it: the real nvidia-ml-py over the C stand-ins, up to the finding.

A case: what the GPUs answer (keys of tests/fakes/nvml.c), and of one rule its outcome, the severity and the message of
its first finding. What lies just beside a fault is judged as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from gpudoctor.engine import judge
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Facts, Known, LogEvent
from gpudoctor.facts.probes import libcuda, nvml
from gpudoctor.findings import CheckResult, Finding, Report, Role, Severity, Source, SourceKind
from gpudoctor.report.areas import areas
from gpudoctor.rules.registry import load_rules
from tests.fakes.build import A100_WITH_MIG, GEFORCE_940M, RTX_4090, FakeGpu, Libcuda, Profile, StandIns, compiler
from tests.matrix.driver import FaultyDriver
from tests.matrix.judged import joined, not_started
from tests.rule_case import facts_of

PASS, FAIL, SKIP, NOTE = "pass", "fail", "skip", "note"
T4 = FakeGpu(name="GRID T4-16Q", uuid="GPU-44444444-0000-0000-0000-000000000001", pci="0000:02:00.0", cc="7.5")
H200 = FakeGpu(name="NVIDIA H200", uuid="GPU-20000000-0000-0000-0000-000000000001", pci="0000:18:00.0", cc="9.0")


def but(gpu: FakeGpu, number: int = 0, /, **extra: object) -> FakeGpu:
    """Return a GPU that answers otherwise: keys with two underscores in place of a dot; number: one of several."""
    more = {key.replace("__", "."): value for key, value in extra.items()}
    own = {"uuid": f"{gpu.uuid}-{number}", "pci": f"0000:{0x20 + number:02x}:00.0"} if number else {}
    return replace(gpu, extra={**gpu.extra, **more}, **own)  # type: ignore[arg-type]  # texts all


@dataclass(frozen=True)
class Case:
    """GPUs, the rule that is looked at, and what becomes of it."""

    name: str
    rule: str
    gpus: tuple[FakeGpu, ...]
    outcome: str
    message: str = ""
    severity: str = ""
    driver: Mapping[str, object] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


HOT = "heat holds down the clocks of NVIDIA GeForce RTX 4090 (hw-thermal-slowdown; 83 °C)"
BRAKE = "power or its supply holds down the clocks of NVIDIA GeForce RTX 4090 (hw-power-brake)"
NO_LICENCE = "the virtual GPU has no licence: the driver slows it down, and later refuses CUDA"
NO_INSTANCE = "the GPU is in MIG mode, and CUDA sees none of its instances"
HELD = "the GPU is in compute mode exclusive-process, and another process holds it: no second one may use it"
LOST = "the driver lost the GPU{}: it no longer answers on the PCI bus"
ON_BATTERY = "the machine runs on its battery, which holds down the clocks of NVIDIA GeForce RTX 4090 "
NO_CUDA = {"fail.cuInit": 100}
THROTTLE, EXCLUSIVE = "thermal-or-power-throttle", "gpu-exclusive-or-mig"
SPLIT = {"mig_uuids": "MIG-a,,MIG-b", "mig_ids": "7,,9", "mig_most": 7}
LINK = {"utilization": 80, "throttle": 0, "pcie_gen": 4, "pcie_width": 4}
ROOM = {"bar1_total": 1 << 38, "bar1_used": 1 << 20}

CASES = (
    Case("two kinds", "mixed-gpus", (RTX_4090, GEFORCE_940M), NOTE, severity="note",
         message="there are GPUs of different kinds (GeForce 940M, NVIDIA GeForce RTX 4090): nvidia-smi and CUDA "
         "number them in different orders"),
    Case("two of a kind", "mixed-gpus", (RTX_4090, but(RTX_4090, 1)), PASS),
    Case("one by one", "mixed-gpus", (RTX_4090,), PASS),
    Case("hot at work", THROTTLE, (but(RTX_4090, throttle=0x40, temperature__0=83, utilization=99),), FAIL, HOT,
         "warning"),
    Case("hot at rest", THROTTLE, (but(RTX_4090, throttle=0x40, temperature__0=75, utilization=0),), FAIL,
         HOT.replace("83", "75")),
    Case("warm at rest", THROTTLE, (but(RTX_4090, throttle=0x40, temperature__0=74, utilization=0),), PASS),
    Case("braked, just enough load", THROTTLE, (but(RTX_4090, throttle=0x80, utilization=20),), FAIL, BRAKE),
    Case("braked, hardly any load", THROTTLE, (but(RTX_4090, throttle=0x80, utilization=19),), PASS),
    Case("a cap at full load", THROTTLE, (but(RTX_4090, throttle=0x4, utilization=100),), PASS),
    Case("reasons by their older name", THROTTLE, (but(RTX_4090, throttle=0x80, utilization=50),), FAIL, BRAKE,
         driver={"fail.nvmlDeviceGetCurrentClocksEventReasons": 13}),
    Case("reasons not told", THROTTLE, (GEFORCE_940M,), SKIP),
    Case("braked on the battery", THROTTLE, (but(RTX_4090, throttle=0x80, utilization=50),), PASS,
         change={"power_source": Known("battery", "test")}),
    Case("braked on the battery", "gpu-held-down-on-battery", (but(RTX_4090, throttle=0x80, utilization=50),), FAIL,
         ON_BATTERY + "(hw-power-brake; 2520 of 3105 MHz)", "warning",
         change={"power_source": Known("battery", "test")}),
    Case("a cap on the battery, low clocks", "gpu-held-down-on-battery",
         (but(RTX_4090, throttle=0x4, utilization=50, clock__1=2173),), FAIL,
         ON_BATTERY + "(sw-power-cap; 2173 of 3105 MHz)", change={"power_source": Known("battery", "test")}),
    Case("a cap on the battery, high clocks", "gpu-held-down-on-battery",
         (but(RTX_4090, throttle=0x4, utilization=50, clock__1=2174),), PASS,
         change={"power_source": Known("battery", "test")}),
    Case("braked on mains", "gpu-held-down-on-battery", (but(RTX_4090, throttle=0x80, utilization=50),), PASS,
         change={"power_source": Known("mains", "test")}),
    Case("no licence", "vgpu-unlicensed", (but(T4, virtualization=2, license="1:0"),), FAIL, NO_LICENCE, "warning"),
    Case("one of two features without", "vgpu-unlicensed", (but(T4, virtualization=2, license="1:1,1:0"),), FAIL,
         NO_LICENCE),
    Case("licensed; what is off needs none", "vgpu-unlicensed", (but(T4, virtualization=2, license="1:1,0:0"),), PASS),
    Case("nothing is on", "vgpu-unlicensed", (but(T4, virtualization=2, license="0:0"),), SKIP),
    Case("a driver that cannot tell", "vgpu-unlicensed", (but(T4, virtualization=2),), SKIP),
    Case("no virtual GPU", "vgpu-unlicensed", (but(T4, virtualization=1, license="1:0"),), PASS),
    Case("held exclusively", EXCLUSIVE, (but(RTX_4090, compute_mode=3),), FAIL, HELD, "error"),
    Case("exclusive and free", EXCLUSIVE, (but(RTX_4090, compute_mode=3, compute="", graphics=""),), PASS),
    Case("prohibited", EXCLUSIVE, (but(RTX_4090, compute_mode=2, compute=""),), FAIL,
         "the GPU is in compute mode prohibited: no program may compute on it"),
    Case("the default mode", EXCLUSIVE, (RTX_4090,), PASS),
    Case("MIG without an instance", EXCLUSIVE, (A100_WITH_MIG,), FAIL, NO_INSTANCE, driver=NO_CUDA, commands=(
        "nvidia-smi -L", "sudo nvidia-smi mig -lgip", "export CUDA_VISIBLE_DEVICES=MIG-UUID-OF-AN-INSTANCE")),
    Case("MIG, an instance to be named", EXCLUSIVE, (but(A100_WITH_MIG, **SPLIT),), FAIL, NO_INSTANCE, driver=NO_CUDA,
         commands=("export CUDA_VISIBLE_DEVICES=MIG-a",)),
    Case("MIG, the first is taken", EXCLUSIVE, (but(A100_WITH_MIG, compute="4242:1024@7", **SPLIT),), FAIL, NO_INSTANCE,
         driver=NO_CUDA, commands=("export CUDA_VISIBLE_DEVICES=MIG-b",)),
    Case("MIG, and CUDA sees an instance", EXCLUSIVE, (but(A100_WITH_MIG, **SPLIT),), PASS),
    Case("lost", "gpu-fell-off-bus", (but(RTX_4090, fail=15),), FAIL, LOST.format(""), "error"),
    Case("lost between two calls", "gpu-fell-off-bus", (but(RTX_4090, fail__nvmlDeviceGetPowerUsage=15),), FAIL,
         LOST.format(" at 0000:01:00.0")),
    Case("needs a reset", "gpu-fell-off-bus", (but(RTX_4090, fail__nvmlDeviceGetTemperature=16),), FAIL,
         "the driver says that the GPU at 0000:01:00.0 needs a reset before it can be used"),
    Case("another error is none of it", "gpu-fell-off-bus", (but(RTX_4090, fail__nvmlDeviceGetTemperature=999),), PASS),
    Case("answers", "gpu-fell-off-bus", (RTX_4090,), PASS),
    Case("three errors", "gpu-hardware-fault-xid", (but(RTX_4090, ecc_uncorrected=3),), FAIL,
         "the memory of NVIDIA GeForce RTX 4090 gave 3 errors that could not be corrected (ECC) since the driver "
         "started", "warning"),
    Case("no error", "gpu-hardware-fault-xid", (but(RTX_4090, ecc_uncorrected=0, remapped_rows="5,0,0,0"),), PASS),
    Case("a row waits", "gpu-hardware-fault-xid", (but(RTX_4090, ecc_uncorrected=0, remapped_rows="0,1,1,0"),), FAIL,
         "memory of NVIDIA GeForce RTX 4090 is to be repaired at its next reset: until then programs may fail on it"),
    Case("a page waits", "gpu-hardware-fault-xid", (but(GEFORCE_940M, pages_pending=1),), FAIL,
         "memory of GeForce 940M is to be repaired at its next reset: until then programs may fail on it"),
    Case("worn out", "gpu-hardware-fault-xid", (but(RTX_4090, remapped_rows="0,9,1,1"),), FAIL,
         "a row of the memory of NVIDIA GeForce RTX 4090 failed and could not be remapped: the memory is worn out",
         "error"),
    Case("nothing told", "gpu-hardware-fault-xid", (GEFORCE_940M,), SKIP),
    Case("a link to the switch is down", "nvlink-degraded",
         (but(H200, nvlinks="1,1,0"), but(H200, 1, nvlinks="1,1,1"), but(H200, 2, nvlinks="1,1,1")), FAIL,
         "NVIDIA H200 has 2 of 3 NVLinks up, and each other GPU of its kind has 3", "warning"),
    Case("no bridge", "nvlink-degraded", (but(H200, nvlinks="0,0"), but(H200, 1, nvlinks="0,0")), PASS),
    Case("links trained anew", "nvlink-degraded",
         (but(H200, nvlinks="1,1", nvlink_errors="0,2"), but(H200, 1, nvlinks="1,1", nvlink_errors="0,0")), NOTE,
         "NVLinks of NVIDIA H200 had to be trained anew 2 times since the driver was loaded"),
    Case("counters that are at zero", "nvlink-degraded",
         (but(H200, nvlinks="1,1", nvlink_errors="0,0"), but(H200, 1, nvlinks="1,1")), PASS),
    Case("the chipset is in the way", "gpus-without-direct-access", (but(H200, distance=30, p2p=1), but(H200, 1)),
         NOTE,
         "GPUs 0 and 1 cannot read each other's memory (the chipset does not allow it): what they exchange goes "
         "through the computer's"),
    Case("across processors", "gpus-without-direct-access", (but(H200, distance=50, p2p=0), but(H200, 1)), NOTE,
         "GPUs 0 and 1 are attached to different processors: what they exchange crosses the link between those"),
    Case("behind one switch", "gpus-without-direct-access", (but(H200, distance=10, p2p=0), but(H200, 1)), PASS),
    Case("a window nearly full", "bar1-nearly-full",
         (but(H200, bar1_total=1 << 28, bar1_used=250 << 20), but(H200, 1)), NOTE,
         "250 of 256 MiB of the BAR1 window of NVIDIA H200 are in use: what maps its memory next may fail"),
    Case("a window with room", "bar1-nearly-full", (but(H200, **ROOM), but(H200, 1, **ROOM)), PASS),
    Case("a server lets its GPU go", "persistence-mode-off", (but(H200, persistence=0, display_active=0),), NOTE,
         "persistence mode is off on a machine without a display: the driver starts its GPUs anew for each program, "
         "which takes seconds", change={"power_source": Absent("test")}),
    Case("a display holds it", "persistence-mode-off", (but(H200, persistence=0, display_active=1),), PASS,
         change={"power_source": Absent("test")}),
    Case("a laptop", "persistence-mode-off", (but(H200, persistence=0, display_active=0),), PASS,
         change={"power_source": Known("mains", "test")}),
    Case("a link of a quarter, at work", "pcie-link-reduced", (but(RTX_4090, **LINK),), FAIL,
         "NVIDIA GeForce RTX 4090 works over a reduced PCIe link: generation 4 with 4 lanes, of generation 4 with 16",
         "warning"),
    Case("a little less work", "pcie-link-reduced", (but(RTX_4090, **{**LINK, "utilization": 79}),), PASS),
    Case("a link of a half", "pcie-link-reduced", (but(RTX_4090, **{**LINK, "pcie_width": 8}),), PASS),
    Case("two generations less", "pcie-link-reduced",
         (but(RTX_4090, **{**LINK, "pcie_width": 16, "pcie_gen": 2}),), FAIL,
         "NVIDIA GeForce RTX 4090 works over a reduced PCIe link: generation 2 with 16 lanes, of generation 4 with 16"),
    Case("the driver calls it idle", "pcie-link-reduced", (but(RTX_4090, **{**LINK, "throttle": 0x1}),), PASS),
    Case("the fabric manager does not run", "driver-not-loaded", (but(H200, fabric=1),), FAIL,
         "the driver is not ready: on a machine with NVSwitch the fabric manager does not run, or is of another "
         "version than the driver", "error", driver={"fail.cuInit": 802}),
    Case("CUDA does not start, who knows why", "cuda-does-not-start", (RTX_4090,), FAIL,
         "CUDA cannot be started: libcuda answered error 800", "error",
         driver={"fail.cuInit": 800}),
    Case("CUDA starts", "cuda-does-not-start", (RTX_4090,), PASS),
)  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDriver]:
    """A driver whose answers are set."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    folder = tmp_path_factory.mktemp("driver")
    with FaultyDriver(folder, folder / "cache") as made:
        yield made


@pytest.fixture(scope="module")
def base() -> Facts:
    """The rest of the machine, which is healthy; its device files are those that CUDA wants."""
    nodes = [{"path": f"/dev/nvidia{name}", "mode": "0666", "accessible": True} for name in ("0", "ctl", "-uvm")]
    return facts_of("desktop-rtx4090", set={"driver.device_nodes": nodes}, unknown={"python.environment": "not read"})


def asked(driver: FaultyDriver, base: Facts, profile: Profile) -> Facts:
    """Return the machine with what the driver answers, before TensorFlow is started."""
    driver.set(profile)
    return not_started(joined(base, nvml.probe(driver), libcuda.probe(driver)))


def judged(facts: Facts) -> Report:
    return judge(facts, load_rules(), source=Source(kind=SourceKind.LIVE))


def outcome_of(report: Report, rule: str) -> tuple[CheckResult, list[Finding]]:
    check = next(check for check in report.checks if check.rule == rule)
    return check, [finding for finding in report.findings if finding.rule == rule]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}: {case.name}" for case in CASES])
def test_from_the_driver_to_the_finding(driver: FaultyDriver, base: Facts, case: Case) -> None:
    facts = asked(driver, base, replace(Profile(gpus=case.gpus), extra=case.driver))
    facts = msgspec.structs.replace(facts, host=msgspec.structs.replace(facts.host, **case.change))
    check, found = outcome_of(judged(facts), case.rule)
    assert check.outcome.value == (PASS if case.outcome == NOTE else case.outcome), check
    assert bool(found) == (case.outcome in (FAIL, NOTE))
    if found:
        assert found[0].message == case.message
        assert not case.severity or found[0].severity.label == case.severity
        assert found[0].evidence
    if case.commands:
        assert tuple(command for remedy in found[0].remedies for command in remedy.commands) == case.commands


def test_processes_are_told_with_their_mig_instance(driver: FaultyDriver, base: Facts) -> None:
    busy = but(A100_WITH_MIG, compute="11:1024@9,12:2048@7,13:4096@4,14:512", **SPLIT)
    (gpu,) = asked(driver, base, Profile(gpus=(busy,))).gpus
    assert gpu.mig_instances == Known(("MIG-a", "MIG-b"), "NVML")
    told = {item.pid: item.mig_instance for item in gpu.processes.require()}
    assert told == {11: "MIG-b", 12: "MIG-a", 13: None, 14: None}


@pytest.mark.parametrize("xid", [("79", "gpu-fell-off-bus"), ("48", "gpu-hardware-fault-xid"), ("31", None)])
def test_an_xid_of_the_kernels_log(driver: FaultyDriver, base: Facts, xid: tuple[str, str | None]) -> None:
    number, rule = xid
    facts = asked(driver, base, Profile(gpus=(RTX_4090,)))
    event = LogEvent(message="xid", line=7, source="the kernel's log", parameters={"xid": number, "pci": "0000:01:00"})
    log = msgspec.structs.replace(facts.driver, kernel_events=Known((event,), "the kernel's log"))
    report = judged(msgspec.structs.replace(facts, driver=log))
    for one in ("gpu-fell-off-bus", "gpu-hardware-fault-xid"):
        _, found = outcome_of(report, one)
        assert bool(found) == (one == rule)


def test_a_quick_check_does_not_count_the_errors_of_links(driver: FaultyDriver) -> None:
    driver.set(Profile(gpus=(but(H200, nvlinks="1,1", nvlink_errors="5,5"),)))
    assert nvml.probe(driver, thorough=True).gpus[0].nvlink_recoveries == Known(10, "NVML")
    assert nvml.probe(driver, thorough=False).gpus[0].nvlink_recoveries.get() is None


@pytest.mark.parametrize(
    ("state", "status", "told"),
    [(0, 0, None), (1, 0, "not-started"), (2, 0, "in-progress"), (3, 0, "completed"), (3, 999, "failed")],
)
def test_the_fabric_of_a_machine_with_switches(driver: FaultyDriver, state: int, status: int, told: str | None) -> None:
    driver.set(Profile(gpus=(but(H200, fabric=state, fabric_status=status),)))
    fact = nvml.probe(driver).gpus[0].fabric
    assert fact == (Known(told, "NVML") if told else Absent("NVML"))


REFUSED = "a compat libcuda stands in for the driver's, and this GPU or driver does not allow it"
OTHERS = {
    (Libcuda.COMPAT, 804): ("driver-too-old-for-cuda", REFUSED),
    (Libcuda.COMPAT, 803): ("driver-too-old-for-cuda", REFUSED),
    (Libcuda.STUB, 34): (
        "wsl-driver-or-stub",
        "the libcuda that is loaded is a stub of a CUDA toolkit, not the driver's: it cannot start CUDA",
    ),
    (Libcuda.DRIVER, 803): (
        "driver-library-mismatch",
        "the loaded NVIDIA kernel module and the driver's libraries are of different versions",
    ),
    (Libcuda.COMPAT, 0): None,
    (Libcuda.DRIVER, 0): None,
}


@pytest.mark.parametrize(("place", "code"), OTHERS)
def test_a_libcuda_that_is_not_the_drivers(stand_ins: StandIns, base: Facts, place: Libcuda, code: int) -> None:
    profile = replace(Profile(gpus=(RTX_4090,)), libcuda=place, extra={"fail.cuInit": code} if code else {})
    host = Host(environ={**os.environ, **stand_ins(profile)})
    report = judged(not_started(joined(base, nvml.probe(host, 60.0), libcuda.probe(host, 60.0))))
    weighty = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [(item.rule, item.message) for item in weighty if item.role is Role.ROOT_CAUSE]
    assert roots == [expected for expected in (OTHERS[place, code],) if expected]


def test_the_report_names_each_instance_and_where_the_machine_stands(driver: FaultyDriver, base: Facts) -> None:
    facts = asked(driver, base, Profile(gpus=(but(A100_WITH_MIG, compute="4242:1024@7", **SPLIT),)))
    host = msgspec.structs.replace(
        facts.host,
        container=Known("podman", "/run/.containerenv"),
        container_gpu=Known("cdi", "test"),
        power_source=Known("battery", "test"),
    )
    lines = {area.title: area.lines for area in areas(judged(msgspec.structs.replace(facts, host=host)))}
    assert lines["GPUs"][1:] == ("   MIG-a, in use", "   MIG-b")
    assert lines["Host"][1] == "container (podman, driver given by CDI), on its battery"
