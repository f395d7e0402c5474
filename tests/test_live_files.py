"""Where it runs: folders that look like / of each kind of machine, read by the real probes, up to the finding.

What the driver's libraries answer is named by the case (none, or an error); all else is read from the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.engine import judge
from gpudoctor.facts.collect import NOT_STARTED
from gpudoctor.facts.host import Host
from gpudoctor.facts.merge import merge_drivers, merge_gpus
from gpudoctor.facts.model import Api, ApiAnswer, DriverFacts, Facts, Known, LibcudaKind, PythonFacts, Unknown
from gpudoctor.facts.probes import driver_files, host_files
from gpudoctor.findings import Report, Role, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.environments import write
from tests.rule_case import facts_of

KERNEL = "6.8.0-45-generic"
NO_LIBRARY = ApiAnswer(outcome=Api.NO_LIBRARY, detail="the library was not found")
LOADED = "nvidia_uvm 1 0 - Live 0x0\nnvidia 3 1 nvidia_uvm, Live 0x0\n"
NVRM = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
Files = Mapping[str, str | bytes]


def failed(code: int, name: str = "") -> ApiAnswer:
    return ApiAnswer(outcome=Api.ERROR, code=code, name=name)


OK = ApiAnswer(outcome=Api.OK, code=0)


def gpu_on_the_bus(driver: str = "") -> Callable[[Path], None]:
    """Put an RTX 4090 on the PCI bus, bound to a driver."""

    def make(root: Path) -> None:
        folder = root / "sys/bus/pci/devices/0000:01:00.0"
        for name, text in (("vendor", "0x10de"), ("class", "0x030000"), ("device", "0x2684"), ("numa_node", "-1")):
            write(folder / name, text + "\n")
        if driver:
            (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")

    return make


def ubuntu(*, module: str = "", kernel: str = KERNEL, **more: str) -> Files:
    """Return the files of an Ubuntu; module: of the NVIDIA driver for the running kernel."""
    return {
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n',
        "proc/sys/kernel/osrelease": kernel + "\n",
        f"lib/modules/{kernel}/modules.dep": f"kernel/fs/ext4.ko:\n{module}",
        "proc/modules": "snd 2 0 - Live 0x0\n",
        "proc/1/cgroup": "0::/init.scope\n",
        "proc/self/cgroup": "0::/user.slice\n",
        **more,
    }


HEADERS = {f"lib/modules/{KERNEL}/build/Makefile": ""}
DKMS_40 = {"var/lib/dkms/nvidia/535.183.01/6.8.0-40-generic/x86_64/module/nvidia.ko": ""}
MODULE = "updates/dkms/nvidia.ko.zst:\n"
NODES = {f"dev/nvidia{name}": "" for name in ("0", "ctl", "-uvm")}
LIBCUDA = {"usr/lib/x86_64-linux-gnu/libcuda.so.1": "", "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": ""}
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
DOCKER = {".dockerenv": "", "proc/driver/nvidia/version": NVRM, "proc/modules": LOADED}
WSL = {"proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n", "etc/os-release": "ID=ubuntu\n"}


@dataclass(frozen=True)
class Machine:
    """A machine, the root causes at warning or above, and what the first of them says."""

    name: str
    files: Files
    roots: tuple[str, ...]
    message: str = ""
    nvml: ApiAnswer = NO_LIBRARY
    cuda: ApiAnswer = NO_LIBRARY
    on_bus: str | None = "nvidia"
    environ: Mapping[str, str] = field(default_factory=dict)
    driver: Mapping[str, object] = field(default_factory=dict)
    closed: bool = False
    mode: int = 0o666
    commands: tuple[str, ...] = ()
    cuda_build: bool = True


DRIVER_9: dict[str, Any] = {
    "nvml": failed(9, "NVML_ERROR_DRIVER_NOT_LOADED"),
    "cuda": failed(100, "CUDA_ERROR_NO_DEVICE"),
    "on_bus": "",
}
MACHINES = (
    Machine("DKMS has built it for another kernel", ubuntu(**DKMS_40), ("driver-not-loaded",),
            "the NVIDIA kernel module is built for kernel 6.8.0-40-generic, and kernel 6.8.0-45-generic is running",
            **DRIVER_9, commands=("sudo apt-get update", 'sudo apt-get install "linux-headers-$(uname -r)"',
                                  "sudo dkms autoinstall", "sudo modprobe nvidia")),
    Machine("the same, with headers", ubuntu(**DKMS_40, **HEADERS), ("driver-not-loaded",), **DRIVER_9,
            commands=("dkms status", "sudo dkms autoinstall", "sudo modprobe nvidia")),
    Machine("a package of modules for another kernel",
            ubuntu(**{"lib/modules/6.5.0-27-generic/modules.dep": "kernel/nvidia-535/nvidia.ko:\n"}),
            ("driver-not-loaded",),
            "the NVIDIA kernel module is built for kernel 6.5.0-27-generic, and kernel 6.8.0-45-generic is running",
            **DRIVER_9),
    Machine("no module for any kernel", ubuntu(), ("driver-not-loaded",),
            "the NVIDIA driver's libraries are installed, but there is no kernel module for the running kernel "
            "6.8.0-45-generic", **DRIVER_9),
    Machine("a module that is not loaded", ubuntu(module=MODULE), ("driver-not-loaded",),
            "the NVIDIA driver is installed, but its kernel module is not loaded", **DRIVER_9),
    Machine("nouveau has the GPU", ubuntu(module=MODULE, **{"proc/modules": "nouveau 3 1 - Live 0x0\n"}),
            ("nouveau-or-secureboot",),
            "the NVIDIA driver is installed, but nouveau owns the GPU, so NVIDIA's module cannot load",
            nvml=failed(9), cuda=failed(100), on_bus="nouveau"),
    Machine("nouveau has it, since there is no module for this kernel",
            ubuntu(**{"proc/modules": "nouveau 3 1 - Live 0x0\n"}, **DKMS_40), ("driver-not-loaded",),
            nvml=failed(9), cuda=failed(100), on_bus="nouveau"),
    Machine("Secure Boot", ubuntu(module=MODULE, **{SECURE_BOOT: "\x06\x00\x00\x00\x01"}), ("nouveau-or-secureboot",),
            "the NVIDIA kernel module is installed, but not loaded, and Secure Boot is on: it refuses a module that is "
            "not signed with an enrolled key", **DRIVER_9),
    Machine("UEFI without Secure Boot", ubuntu(module=MODULE, **{SECURE_BOOT: "\x06\x00\x00\x00\x00"}),
            ("driver-not-loaded",), **DRIVER_9),
    Machine("no driver at all", ubuntu(), ("driver-missing",),
            "an NVIDIA GPU is on the PCI bus (GeForce RTX 4090, 0000:01:00.0), but its driver is not installed",
            on_bus=""),
    Machine("a docker container without the GPU", ubuntu(**DOCKER), ("no-gpu-in-container",),
            "this docker container was started without access to the machine's NVIDIA GPU"),
    Machine("a pod that asked for none", ubuntu(**{**DOCKER, ".dockerenv": "", "run/secrets/kubernetes.io/x": ""}),
            ("no-gpu-in-container",), "this kubernetes container was started without access to the machine's "
            "NVIDIA GPU"),
    Machine("apptainer without --nv", ubuntu(**{"proc/driver/nvidia/version": NVRM, "proc/modules": LOADED}),
            ("no-gpu-in-container",), "this apptainer container was started without access to the machine's NVIDIA GPU",
            environ={"APPTAINER_CONTAINER": "/x.sif"}, commands=("apptainer exec --nv IMAGE COMMAND",)),
    Machine("device files by name", ubuntu(**DOCKER, **NODES, **{"proc/self/mountinfo": ""}), ("no-gpu-in-container",),
            "this docker container was given the device files of the GPU without the driver's libraries"),
    Machine("without compute", ubuntu(**DOCKER, **NODES), ("no-gpu-in-container",),
            "this docker container was given the GPU for utility only: NVIDIA_DRIVER_CAPABILITIES does not name "
            "compute, so libcuda and the driver's PTX compiler are left out",
            nvml=OK, environ={"NVIDIA_DRIVER_CAPABILITIES": "utility"}),
    Machine("without the device file of nvidia_uvm",
            ubuntu(**DOCKER, **{"dev/nvidia0": "", "dev/nvidiactl": ""}), ("no-gpu-in-container",),
            "this docker container was given the GPU without /dev/nvidia-uvm, which CUDA needs",
            nvml=OK, cuda=failed(999, "CUDA_ERROR_UNKNOWN")),
    Machine("access lost", ubuntu(**DOCKER, **NODES), ("no-gpu-in-container",),
            "this docker container has lost its access to the GPU: the driver answers with an unknown error",
            nvml=failed(999), cuda=failed(999), closed=True),
    Machine("closed by the control group", ubuntu(**DOCKER, **NODES), ("no-gpu-in-container",),
            "the control group of this docker container keeps it from /dev/nvidia-uvm, /dev/nvidia0, "
            "/dev/nvidiactl: it "
            "was given no GPU, or has lost it", nvml=failed(4), cuda=failed(100), closed=True),
    Machine("closed outside a container", ubuntu(module=MODULE, **NODES, **{"proc/modules": LOADED}),
            ("permission-denied-device",),
            "a control group or a security module keeps this process from /dev/nvidia-uvm, /dev/nvidia0, "
            "/dev/nvidiactl, though the modes of the files let everybody in",
            nvml=failed(999), cuda=failed(100), closed=True),
    Machine("closed by their mode", ubuntu(module=MODULE, **NODES, **{"proc/modules": LOADED}),
            ("permission-denied-device",),
            "this user may not open /dev/nvidia-uvm, /dev/nvidia0, /dev/nvidiactl: CUDA works for root only",
            nvml=failed(999), cuda=failed(304), closed=True, mode=0o660,
            commands=("ls -l /dev/nvidia*", 'sudo usermod -aG "$(stat -c %G /dev/nvidiactl)" "$USER"')),
    Machine("a job of Slurm without a GPU", ubuntu(module=MODULE, **NODES, **{"proc/modules": LOADED}),
            ("gpu-hidden-by-env",), "this job of Slurm was given no GPU, on a node that has some: none was asked for",
            nvml=OK, cuda=failed(100), closed=True, environ={"SLURM_JOB_ID": "77"},
            driver={"nvml_device_count": 0, "cuda_device_count": 0, "cuda_device_count_unmasked": 0}),
    Machine("no /dev/nvidia-uvm",
            ubuntu(module=MODULE, **{"dev/nvidia0": "", "dev/nvidiactl": "", "proc/modules": LOADED}),
            ("driver-not-loaded",),
            "the NVIDIA driver answers, and CUDA cannot start: the device file /dev/nvidia-uvm is missing, which comes "
            "with the module nvidia_uvm", nvml=OK, cuda=failed(999, "CUDA_ERROR_UNKNOWN")),
    Machine("WSL without the driver of Windows", {**ubuntu(), **WSL}, ("wsl-driver-or-stub",),
            "under WSL, /usr/lib/wsl/lib holds no libcuda: Windows has no NVIDIA driver with WSL support", on_bus=None),
    Machine("WSL, and the loader does not look there", {**ubuntu(), **WSL, "usr/lib/wsl/lib/libcuda.so.1": ""},
            ("wsl-driver-or-stub",), "under WSL, the loader does not find libcuda.so.1, though it is in "
            "/usr/lib/wsl/lib",
            on_bus=None),
    Machine("WSL with a Linux driver", {**ubuntu(), **WSL, **LIBCUDA, "usr/lib/wsl/lib/libcuda.so.1": ""},
            ("wsl-driver-or-stub",),
            "under WSL, /usr/lib/x86_64-linux-gnu/libcuda.so.1 is used in place of the libcuda of the Windows "
            "driver in "
            "/usr/lib/wsl/lib, and it cannot start CUDA", on_bus=None, nvml=failed(9), cuda=failed(100),
            driver={"libcuda_file": "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda_kind": LibcudaKind.DRIVER}),
    Machine("WSL with an old kernel", {**ubuntu(), **WSL, "proc/sys/kernel/osrelease": "4.19.104-microsoft-standard\n"},
            ("wsl-driver-or-stub",),
            "the kernel of WSL, 4.19.104-microsoft-standard, is too old for CUDA: 5.10.43 is the oldest that serves it",
            on_bus=None),
    Machine("NixOS: the loader does not look into the driver's folder",
            {**ubuntu(module=MODULE), "etc/os-release": "ID=nixos\n", "proc/modules": LOADED,
             "proc/driver/nvidia/version": NVRM, "run/opengl-driver/lib/libcuda.so.1": "", **NODES},
            ("driver-missing",),
            "the NVIDIA driver is installed, and the loader does not find its CUDA library: "
            "/run/opengl-driver/lib/libcuda.so.1 lies where it does not look",
            commands=("export LD_LIBRARY_PATH=/run/opengl-driver/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",)),
    Machine("a Jetson with the public wheel",
            ubuntu(**{"etc/nv_tegra_release": "# R35 (release), REVISION: 4.1\n"}), ("cpu-only-tensorflow",),
            "the installed TensorFlow 2.20.0 is the public wheel for 64-bit ARM, which is built without CUDA: "
            "the GPU of "
            "a Jetson needs NVIDIA's build", nvml=NO_LIBRARY, cuda=OK, on_bus=None, cuda_build=False,
            driver={"cuda_device_count": 1, "cuda_device_count_unmasked": 1}),
    Machine("a machine without a GPU", ubuntu(), ("no-nvidia-gpu",), on_bus=None),
    Machine("Colab without one", ubuntu(**{".dockerenv": ""}), ("no-nvidia-gpu",), on_bus=None,
            environ={"COLAB_RELEASE_TAG": "release-colab"}),
)  # fmt: skip


def facts_from(made: Machine, root: Path) -> Facts:
    """Read the machine as collect does; TensorFlow is installed and was not started."""
    for name, content in made.files.items():
        write(root / name, content)
    (root / "sys/bus/pci/devices").mkdir(parents=True, exist_ok=True)
    (root / "dev").mkdir(exist_ok=True)
    for node in (root / "dev").iterdir():
        node.chmod(made.mode)
    if made.on_bus is not None:
        gpu_on_the_bus(made.on_bus)(root)
    host = Host(root, made.environ)
    answers = {name: Known(value, "test") for name, value in made.driver.items()}
    asked = DriverFacts(nvml=Known(made.nvml, "NVML"), cuda_init=Known(made.cuda, "libcuda"), **answers)  # type: ignore[arg-type]
    files, of_host = driver_files.probe(host), host_files.probe(host)
    driver = merge_drivers(files, asked, DriverFacts())
    base = facts_of("desktop-cuda-wheels")
    tensorflow = replace(
        base.tensorflow,
        version=Known("2.20.0", "test"),
        cuda_build=Known(made.cuda_build, "test"),
        run=NOT_STARTED,
        devices=NOT_STARTED,
        computations=NOT_STARTED,
        events=NOT_STARTED,
    )
    python: PythonFacts = replace(base.python, environment=Known(dict(made.environ), "test"))
    gpus = tuple(merge_gpus((), (), of_host.pci_gpus.get() or (), driver))
    unread = replace(
        base.libraries, found=Unknown("not read"), ptxas=Unknown("not read"), libdevice=Unknown("not read")
    )
    return replace(base, host=of_host, driver=driver, gpus=gpus, python=python, tensorflow=tensorflow, libraries=unread)


def judged(facts: Facts) -> Report:
    return judge(facts, load_rules(), source=Source(kind=SourceKind.LIVE))


@pytest.mark.parametrize("made", MACHINES, ids=[made.name for made in MACHINES])
def test_from_files_to_the_finding(made: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if made.closed:  # what a control group does: access(2) refuses, whatever the mode
        monkeypatch.setattr(Host, "access", lambda *_: False)
    report = judged(facts_from(made, tmp_path))
    weighty = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [item for item in weighty if item.role is Role.ROOT_CAUSE]
    assert tuple(item.rule for item in roots) == made.roots
    assert made.message in ("", roots[0].message)
    commands = tuple(command for remedy in roots[0].remedies for command in remedy.commands)
    assert made.commands in ((), commands)
    assert all(item.remedies for item in roots)


def test_musl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> str:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "confstr", unknown)
    write(tmp_path / "lib/ld-musl-x86_64.so.1", "")
    assert host_files.probe(Host(tmp_path, {})).libc.get() == "musl"
    unread = dict.fromkeys(("tensorflow.run", "tensorflow.computations", "tensorflow.devices"), "not started")
    none = dict.fromkeys(("tensorflow.version", "tensorflow.distribution"), "not found")
    bare = facts_of("desktop-cuda-wheels", set={"host.libc": "musl"}, absent=none, unknown=unread)
    found = [item for item in judged(bare).findings if item.rule == "glibc-or-libstdcxx-too-old"]
    assert [(item.severity, item.message) for item in found] == [
        (Severity.ERROR, "the system's C library is musl, for which no TensorFlow wheel is published")
    ]
