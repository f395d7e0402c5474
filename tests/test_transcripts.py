"""What `check` and `processes` print on ten machines, whole, and what is right for each.

GPUDOCTOR_REWRITE_GOLDEN=1 rewrites the texts; look at the difference as the user of that machine would.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from typer.testing import CliRunner

from gpudoctor.cli import app
from gpudoctor.facts import codec
from gpudoctor.facts.merge import merge_gpus
from gpudoctor.facts.model import (
    Absent,
    Api,
    ApiAnswer,
    DeviceNode,
    Facts,
    Gpu,
    GpuProcess,
    Known,
    LibcudaKind,
    LogEvent,
    ProcessKind,
    ProcessSight,
    Unknown,
)
from tests.machine import SOURCE, machine, started
from tests.rule_case import facts_of

FOLDER = Path(__file__).parent / "golden_machines"
REWRITE = os.environ.get("GPUDOCTOR_REWRITE_GOLDEN") == "1"
MIB, GIB = 1 << 20, 1 << 30
NVML, CUDA = "NVML", "libcuda"


def program(name: str, memory: int, **fields: Any) -> GpuProcess:
    """Return a program that computes on a GPU and was looked at."""
    values = {"pid": 4242, "kind": ProcessKind.COMPUTE, "sight": ProcessSight.SEEN, "own": True, **fields}
    return GpuProcess(name=name, memory_bytes=memory, **values)


def drawing(name: str, memory: int, **fields: Any) -> GpuProcess:
    """Return a program that draws on it."""
    return program(name, memory, kind=ProcessKind.GRAPHICS, **fields)


def with_gpu(card: Gpu, total: int, *on_it: GpuProcess, used: int | None = None, **values: Any) -> Gpu:
    """Return a GPU of this size with programs on it. used: bytes, where it is not what they hold."""
    taken = sum(item.memory_bytes or 0 for item in on_it) if used is None else used
    known = {name: value if not isinstance(value, int | str | tuple | bool) else Known(value, NVML)
             for name, value in values.items()}  # fmt: skip
    memory = {"memory_total_bytes": total, "memory_used_bytes": taken, "memory_free_bytes": total - taken}
    told = {name: Known(value, NVML) for name, value in memory.items()}
    return replace(card, **told, **{"processes": Known(on_it, NVML), **known})


def on(facts: Facts, *gpus: Gpu) -> Facts:
    return replace(facts, gpus=gpus)


def laptop_with_a_browser() -> Facts:
    facts = machine(("NVIDIA GeForce 940M",), "535.183.01", "2.16.2", python="3.12")
    browser = drawing("firefox", 1229 * MIB, command_line="/usr/lib/firefox/firefox", age_seconds=10800,
                      user="ann", parent_pid=2100, parent_name="gnome-shell")  # fmt: skip
    desktop = drawing("Xorg", 64 * MIB, pid=1088, own=False, user="root", age_seconds=90000,
                      command_line="/usr/lib/xorg/Xorg vt2 -displayfd 3")  # fmt: skip
    card = with_gpu(facts.gpus[0], 2 * GIB, browser, desktop, utilization_percent=7)
    return started(on(facts, card))


def shared_server() -> Facts:
    facts = machine(("NVIDIA A100-SXM4-40GB",) * 2, "535.183.01", "2.17.1")
    training = program("python3", 30 * GIB, own=False, user="bob", age_seconds=200_000, utilization_percent=98,
                       command_line="python3 train.py --epochs 90", container="docker",
                       control_group="/system.slice/docker-0123456789abcdef.scope")  # fmt: skip
    notebook = program(
        "python3", 6 * GIB, pid=77, own=False, user="eve", age_seconds=604_800, utilization_percent=0,
        command_line="/opt/conda/bin/python -m ipykernel_launcher -f /home/eve/.local/share/jupyter/runtime/"
        "kernel-3f2a0c1e.json",
    )  # fmt: skip
    first, second = facts.gpus
    return started(on(facts, with_gpu(first, 40 * GIB, training, utilization_percent=98),
                      with_gpu(second, 40 * GIB, notebook, utilization_percent=0)))  # fmt: skip


def a100_with_mig() -> Facts:
    facts = machine(("NVIDIA A100-SXM4-40GB",), "535.183.01", "2.17.1")
    instances = ("MIG-5c1a0000-0000-5000-8000-000000000001", "MIG-5c1a0000-0000-5000-8000-000000000002")
    closed = Unknown("this user has no permission to ask for it")
    card = with_gpu(facts.gpus[0], 40 * GIB, used=12 * GIB, mig=True, mig_instances=instances, ecc=True,
                    utilization_percent=Unknown("this GPU does not report it"), processes=closed)  # fmt: skip
    return started(on(facts, card))


def container_without_device_nodes() -> Facts:
    facts = machine(("Tesla T4",), "535.183.01", "2.17.1", container="docker")
    none = "libcuda.so.1: cannot open shared object file: No such file or directory"
    driver = replace(
        facts.driver,
        version=Known("535.183.01", "/proc/driver/nvidia/version"),
        device_nodes=Known((), "/dev"),
        library_files=Known((), "the usual library folders"),
        kernel_module_on_disk=Unknown("there is no module folder for the running kernel 6.8.0-40-generic here, as in "
                                      "a container"),
        nvml=Known(ApiAnswer(outcome=Api.NO_LIBRARY, detail="libnvidia-ml.so.1 was not found"), NVML),
        cuda_init=Known(ApiAnswer(outcome=Api.NO_LIBRARY, detail="libcuda.so.1 was not found"), CUDA),
        **dict.fromkeys(("nvml_version", "nvml_device_count"), Unknown("libnvidia-ml.so.1 was not found")),
        **dict.fromkeys(("cuda_version", "libcuda_file", "libcuda_kind", "libcuda_version", "cuda_device_count",
                         "cuda_device_count_unmasked"), Unknown("libcuda.so.1 was not found")),
    )  # fmt: skip
    event = LogEvent(message="library-not-loaded", line=1, source="TensorFlow's log",
                     parameters={"library": "libcuda.so.1", "error": none})  # fmt: skip
    gpus = merge_gpus((), (), facts.host.pci_gpus.require(), driver)  # of the PCI bus, which a container sees whole
    return started(replace(on(facts, *gpus), driver=driver), works=False, events=(event,))


def wsl_with_a_linux_driver() -> Facts:
    facts = machine(("NVIDIA GeForce RTX 3060",), "551.86", "2.17.1", os="wsl2", driver_cuda="12.4")
    inside = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01"
    driver = replace(
        facts.driver,
        version=Unknown("NVML tells no version"),
        library_files=Known((*facts.driver.library_files.require(), inside,
                             "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.183.01"), "the usual library folders"),
        nvml=Known(ApiAnswer(outcome=Api.ERROR, code=9, name="NVML_ERROR_DRIVER_NOT_LOADED",
                             detail="the NVIDIA kernel module is not loaded"), NVML),
        nvml_version=Known("535.183.01", NVML),
        nvml_device_count=Unknown("the NVIDIA kernel module is not loaded"),
        cuda_init=Known(ApiAnswer(outcome=Api.ERROR, code=100, name="CUDA_ERROR_NO_DEVICE",
                                  detail="CUDA sees no GPU"), CUDA),
        cuda_version=Known("12.2", CUDA),
        libcuda_file=Known(inside, "the loader"),
        libcuda_kind=Known(LibcudaKind.DRIVER, "the loader"),
        libcuda_version=Known("535.183.01", "its file name"),
        cuda_device_count=Known(0, CUDA),
        cuda_device_count_unmasked=Known(0, CUDA),
    )  # fmt: skip
    return started(replace(on(facts), driver=driver), works=False)


def k80_on_470() -> Facts:
    facts = machine(("Tesla K80",) * 2, "470.256.02", "2.21.0", python="3.11")
    cards = (with_gpu(card, 11441 * MIB, used=3 * MIB) for card in facts.gpus)
    return started(on(facts, *cards), works=False)


def rtx_5090() -> Facts:
    facts = facts_of("desktop-rtx5090")
    desktop = drawing("Xorg", 210 * MIB, pid=1088, own=False, user="root", command_line="/usr/lib/xorg/Xorg vt2")
    return on(facts, with_gpu(facts.gpus[0], 32607 * MIB, desktop))


def throttling_laptop() -> Facts:
    facts = machine(("NVIDIA GeForce RTX 3060 Laptop GPU",), "550.120", "2.18.1", python="3.12")
    training = program("python3", 4 * GIB, command_line="python3 train.py", age_seconds=5400, utilization_percent=97,
                       framework="tensorflow", user="ann")  # fmt: skip
    hot = with_gpu(facts.gpus[0], 6 * GIB, training, utilization_percent=97, temperature_celsius=93,
                   throttle_reasons=("sw-thermal-slowdown", "hw-slowdown", "hw-thermal-slowdown"),
                   clock_sm_mhz=420, clock_sm_max_mhz=2100, power_mw=38_000)  # fmt: skip
    return started(on(facts, hot))


def slurm_without_a_gpu() -> Facts:
    facts = machine(("NVIDIA A100-SXM4-40GB",) * 4, "535.183.01", "2.17.1", environment={"SLURM_JOB_ID": "4711"})
    nodes = tuple(DeviceNode(path=f"/dev/nvidia{number}", mode="0666", accessible=False) for number in range(4))
    driver = replace(
        facts.driver,
        device_nodes=Known((*nodes, DeviceNode(path="/dev/nvidiactl", mode="0666", accessible=True)), "/dev"),
        nvml_device_count=Known(0, NVML),
        cuda_init=Known(ApiAnswer(outcome=Api.ERROR, code=100, name="CUDA_ERROR_NO_DEVICE",
                                  detail="CUDA sees no GPU"), CUDA),
        cuda_device_count=Known(0, CUDA),
        cuda_device_count_unmasked=Known(0, CUDA),
    )  # fmt: skip
    return started(replace(on(facts), driver=driver), works=False)


def healthy_h200() -> Facts:
    facts = machine(("NVIDIA H200",), "550.90.07", "2.18.1", python="3.12")
    card = with_gpu(facts.gpus[0], 143771 * MIB, ecc=True, ecc_uncorrected=0, persistence=True, utilization_percent=0,
                    pcie_generation=5, pcie_generation_max=5, pcie_width=16, pcie_width_max=16, mig=False,
                    fault=Absent(NVML), mig_instances=Absent(NVML))  # fmt: skip
    return started(on(facts, card))


class Right(Struct, frozen=True, kw_only=True):
    """What is right of a machine. need: what is asked of `processes`; check, processes: exit status."""

    facts: Callable[[], Facts]
    verdict: str = "ok"
    roots: tuple[str, ...] = ()
    check: int = 0
    processes: int = 0
    need: str = ""
    says: tuple[str, ...] = ()
    """Words of `processes`."""


MACHINES = {
    "laptop-browser": Right(
        facts=laptop_with_a_browser, verdict="warnings", roots=("competing-gpu-process",), need="1GiB", processes=1,
        says=("firefox (browser Firefox, pid 4242) would free", "Use hardware acceleration when available"),
    ),
    "shared-server": Right(
        facts=shared_server, verdict="warnings", roots=("competing-gpu-process",), need="20GiB", processes=1,
        says=("20.0 GiB does not fit", "20.0 GiB fits", "Python program of another user", "notebook kernel, idle"),
    ),
    "mig": Right(
        facts=a100_with_mig, need="20GiB", processes=3,
        says=("cannot be told", "administrators only", "depends on the MIG instance"),
    ),
    "container-no-nodes": Right(
        facts=container_without_device_nodes, verdict="errors", roots=("no-gpu-in-container",), check=1, processes=3,
        says=("PCI device 10de:1eb8", "libnvidia-ml.so.1 was not found; `gpudoctor check` tells why"),
    ),
    "wsl-linux-driver": Right(
        facts=wsl_with_a_linux_driver, verdict="errors", roots=("wsl-driver-or-stub",), check=1, processes=3,
        says=("no GPU is known",),
    ),
    "k80-470": Right(
        facts=k80_on_470, verdict="errors", roots=("driver-too-old-for-cuda", "gpu-arch-too-old-for-wheel"), check=1,
        says=("No process uses it.",),
    ),
    "rtx5090": Right(
        facts=rtx_5090, verdict="errors", roots=("gpu-arch-too-new-for-wheel",), check=1, says=("display server",),
    ),
    "laptop-throttling": Right(
        facts=throttling_laptop, verdict="warnings", roots=("thermal-or-power-throttle",), says=("busy 97 %",),
    ),
    "slurm-no-gpu": Right(
        facts=slurm_without_a_gpu, verdict="errors", roots=("gpu-hidden-by-env",), check=1, processes=3,
        says=("no GPU is known",),
    ),
    "h200": Right(facts=healthy_h200, need="100GiB", says=("100.0 GiB fits", "No process uses it.")),
}  # fmt: skip


@pytest.fixture(params=MACHINES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Right, str]:
    """A machine's name, what is right of it, and a file with its facts."""
    right = MACHINES[request.param]
    file = tmp_path / "facts.json"
    facts = right.facts()
    chosen = facts.python.chosen_by
    if isinstance(chosen, Known) and chosen.source == SOURCE:
        facts = replace(facts, python=replace(facts.python, chosen_by=Known("VIRTUAL_ENV", "VIRTUAL_ENV names ~/tf.")))
    raw = codec.encode(facts, codec.Identity(home="/home/ann", user="ann", host="pc"))
    file.write_bytes(raw.replace(b'"a test"', b'"this machine"'))
    return request.param, right, str(file)


def compare(name: str, seen: str) -> None:
    path = FOLDER / name
    if REWRITE:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(seen, "utf-8")
    assert seen == path.read_text("utf-8")


def test_check(case: tuple[str, Right, str]) -> None:
    name, right, file = case
    done = CliRunner().invoke(app, ["check", "--facts", file, "--no-policy"])
    compare(f"{name}.check.txt", done.stdout)
    assert done.exit_code == right.check
    report = json.loads(CliRunner().invoke(app, ["check", "--facts", file, "--no-policy", "--format", "json"]).stdout)
    assert report["verdict"] == right.verdict
    found = [item["rule"] for item in report["findings"] if item["role"] == "root-cause" and item["severity"] != "note"]
    assert tuple(dict.fromkeys(found)) == right.roots
    explained = {item["explained_by"] for item in report["findings"] if item["role"] == "consequence"}
    assert explained <= set(right.roots)


def test_processes(case: tuple[str, Right, str]) -> None:
    name, right, file = case
    words = ["processes", "--facts", file, *(["--need-memory", right.need] if right.need else [])]
    done = CliRunner().invoke(app, words)
    compare(f"{name}.processes.txt", done.stdout)
    assert done.exit_code == right.processes
    text = " ".join(done.stdout.split())
    assert [part for part in right.says if part not in text] == []


def test_no_golden_file_is_left_over() -> None:
    names = {f"{name}.{command}.txt" for name in MACHINES for command in ("check", "processes")}
    assert {path.name for path in FOLDER.iterdir()} == names
