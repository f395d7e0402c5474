"""Healthy machines by their folders: odd places, and no alarm. The faults beside them stand in test_live_files.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.facts.model import LibcudaKind
from gpudoctor.findings import Outcome
from tests.test_combinations import serious
from tests.test_live_files import (
    DKMS_40,
    KERNEL,
    LIBCUDA,
    LOADED,
    MODULE,
    NODES,
    NVRM,
    OK,
    SECURE_BOOT,
    WSL,
    Files,
    Machine,
    facts_from,
    judged,
    ubuntu,
)

ANSWERS: dict[str, Any] = {
    "version": "535.183.01", "cuda_version": "12.2", "nvml_version": "535.183.01", "libcuda_version": "535.183.01",
    "nvml_device_count": 1, "cuda_device_count": 1, "cuda_device_count_unmasked": 1,
    "libcuda_file": "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "libcuda_kind": LibcudaKind.DRIVER,
}  # fmt: skip
DRIVER = {"proc/driver/nvidia/version": NVRM, "proc/modules": LOADED}
WELL = {**NODES, **LIBCUDA, **DRIVER}
INSIDE = {".dockerenv": "", **WELL}
OPEN = NVRM.replace("UNIX x86_64 Kernel Module", "UNIX Open Kernel Module for x86_64")
BUS = "sys/bus/pci/devices/0000:02:00.0"


def made(
    name: str,
    files: Files,
    environ: Mapping[str, str] | None = None,
    *,
    on_bus: str | None = "nvidia",
    mode: int = 0o666,
    **driver: object,
) -> Machine:
    """Return a machine whose driver answers well; driver: what it answers otherwise."""
    return Machine(
        name, files, (), nvml=OK, cuda=OK, on_bus=on_bus, mode=mode, environ=environ or {}, driver={**ANSWERS, **driver}
    )


def another_card(vendor: str, device: str) -> dict[str, str]:
    return {f"{BUS}/vendor": f"{vendor}\n", f"{BUS}/class": "0x030000\n", f"{BUS}/device": f"{device}\n"}


MACHINES = (
    made("modules of a newer kernel that has none of NVIDIA's",
         ubuntu(module=MODULE, **WELL, **{"lib/modules/6.9.0-1/modules.dep": "kernel/x.ko:\n"})),
    made("DKMS keeps a build for an old kernel", ubuntu(module=MODULE, **WELL, **DKMS_40)),
    made("Secure Boot, and a module that is signed",
         ubuntu(module=MODULE, **WELL, **{SECURE_BOOT: "\x06\x00\x00\x00\x01"})),
    made("nouveau is loaded for another card",
         ubuntu(module=MODULE, **{**WELL, "proc/modules": LOADED + "nouveau 3 1 - Live 0x0\n"})),
    made("docker with compute only", ubuntu(**INSIDE), {"NVIDIA_DRIVER_CAPABILITIES": "compute"}),
    made("docker by CDI",
         ubuntu(**INSIDE, **{"proc/self/mountinfo": "1 2 0:5 / /dev/nvidia0 rw - devtmpfs x rw\n"}),
         {"NVIDIA_VISIBLE_DEVICES": "void"}),
    made("podman", ubuntu(**WELL, **{"run/.containerenv": 'engine="podman"\n'})),
    made("a pod", ubuntu(**INSIDE, **{"run/secrets/kubernetes.io/x": ""}), {"NVIDIA_VISIBLE_DEVICES": "GPU-1"}),
    made("apptainer", ubuntu(**WELL), {"APPTAINER_CONTAINER": "/x.sif", "LD_LIBRARY_PATH": "/.singularity.d/libs"},
         libcuda_file="/.singularity.d/libs/libcuda.so.1"),
    made("LXC", ubuntu(**WELL), {"container": "lxc"}),
    made("WSL2", {**ubuntu(), **WSL, "usr/lib/wsl/lib/libcuda.so.1": "", "dev/dxg": ""}, on_bus=None, version="580.97",
         libcuda_file="/usr/lib/wsl/lib/libcuda.so.1.1", libcuda_kind=LibcudaKind.WSL, cuda_version="13.0"),
    made("docker in WSL2", {**ubuntu(), **WSL, ".dockerenv": "", "usr/lib/wsl/lib/libcuda.so.1": "", "dev/dxg": ""},
         on_bus=None, libcuda_file="/usr/lib/wsl/drivers/nv/libcuda.so.1.1", libcuda_kind=LibcudaKind.WSL),
    made("NixOS",
         {**ubuntu(module=MODULE), "etc/os-release": "ID=nixos\n", **DRIVER, **NODES,
          "run/opengl-driver/lib/libcuda.so.1": ""},
         {"LD_LIBRARY_PATH": "/run/opengl-driver/lib"}, libcuda_file="/run/opengl-driver/lib/libcuda.so.535.183.01"),
    made("a Jetson with NVIDIA's build",
         ubuntu(**{"etc/nv_tegra_release": "# R36 (release), REVISION: 4.3\n", "dev/nvmap": ""}), on_bus=None,
         libcuda_file="/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", version="540.4.0"),
    made("Arch, the module in the kernel's tree",
         {**ubuntu(module="kernel/drivers/video/nvidia.ko.zst:\n"), "etc/os-release": "ID=arch\n", **WELL}),
    made("Fedora, the open module by akmods",
         {**ubuntu(module="extra/nvidia-open/nvidia.ko.xz:\n"), "etc/os-release": "ID=fedora\n", **WELL,
          "proc/driver/nvidia/version": OPEN}),
    made("no folder of modules",
         {name: text for name, text in ubuntu(**WELL).items() if not name.startswith(f"lib/modules/{KERNEL}")}),
    made("a job of Slurm with a GPU", ubuntu(module=MODULE, **WELL),
         {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0", "CUDA_VISIBLE_DEVICES": "0"}),
    made("device files of a group, which this user is in", ubuntu(module=MODULE, **WELL), mode=0o660),
    made("Colab", ubuntu(**INSIDE), {"COLAB_RELEASE_TAG": "r", "LD_LIBRARY_PATH": "/usr/lib64-nvidia"},
         libcuda_file="/usr/lib64-nvidia/libcuda.so.535.183.01"),
    made("an NVIDIA card without a driver", ubuntu(module=MODULE, **WELL, **another_card("0x10de", "0x2204"))),
    made("a GPU of AMD's in the processor", ubuntu(module=MODULE, **WELL, **another_card("0x1002", "0x1638"))),
    made("an image's compat libcuda", ubuntu(**INSIDE), {"NVIDIA_VISIBLE_DEVICES": "all"}, cuda_version="12.9",
         libcuda_file="/usr/local/cuda/compat/libcuda.so.575.57.08", libcuda_kind=LibcudaKind.COMPAT,
         libcuda_version="575.57.08"),
    made("a GPU chosen by its UUID", ubuntu(module=MODULE, **WELL), {"CUDA_VISIBLE_DEVICES": "GPU-abc"}),
    made("a container's variables outside of one", ubuntu(module=MODULE, **WELL),
         {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "utility"}),
)  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES, ids=[machine.name for machine in MACHINES])
def test_no_alarm(machine: Machine, tmp_path: Path) -> None:
    report = judged(facts_from(machine, tmp_path))
    assert serious(report) == []
    assert [check for check in report.checks if check.outcome is Outcome.ERROR] == []
