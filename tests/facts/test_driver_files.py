"""Files of the driver under folders that look like /."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, DeviceNode, DriverFacts, KernelModule, Known, Unknown
from gpudoctor.facts.probes import driver_files

RELEASE = "6.8.0-45-generic"
PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)
"""
OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (dvs-builder@U16-I1-N07-12-3)
GCC version:  gcc version 13.2.0
"""
OLD = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  340.108  Wed Dec 11 11:06:58 PST 2019\n"
ARM = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.3.0  Release Build  (buildbrain@mobile)\n"


def put(root: Path, path: str, text: str = "") -> Path:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def probe(root: Path) -> DriverFacts:
    return driver_files.probe(Host(root=root))


@pytest.mark.parametrize(
    ("text", "version", "kind"),
    [
        (PROPRIETARY, "535.183.01", "proprietary"),
        (OPEN, "560.35.03", "open"),
        (OLD, "340.108", "proprietary"),
        (ARM, "540.3.0", "open"),
    ],
)
def test_reads_version_and_kind_of_the_loaded_module(tmp_path: Path, text: str, version: str, kind: str) -> None:
    put(tmp_path, "/proc/driver/nvidia/version", text)
    facts = probe(tmp_path)
    source = "/proc/driver/nvidia/version"
    assert facts.version == facts.kernel_module_version == Known(version, source)
    assert facts.kernel_module_kind == Known(kind, source)


@pytest.mark.parametrize("text", ["", "NVRM version: something else\n"])
def test_a_layout_that_is_not_known_is_unknown(tmp_path: Path, text: str) -> None:
    put(tmp_path, "/proc/driver/nvidia/version", text)
    assert isinstance(probe(tmp_path).kernel_module_version, Unknown)


def test_a_fifo_in_place_of_the_version_file_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    os.mkfifo(tmp_path / "proc/driver/nvidia/version")
    fact = probe(tmp_path).kernel_module_version
    assert isinstance(fact, Unknown)
    assert "is not a regular file" in fact.reason


def test_lists_the_modules_that_matter(tmp_path: Path) -> None:
    put(tmp_path, "/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nsnd 2 0 - Live 0x0\nnvidia 3 1 nvidia_uvm, Live 0x0\n")
    assert probe(tmp_path).modules_loaded == Known(("nvidia", "nvidia_uvm"), "/proc/modules")


def test_nouveau_in_place_of_nvidia(tmp_path: Path) -> None:
    put(tmp_path, "/proc/modules", "nouveau 3 1 - Live 0x0\n")
    facts = probe(tmp_path)
    assert facts.modules_loaded == Known(("nouveau",), "/proc/modules")
    assert facts.kernel_module_version == facts.kernel_module_kind == Absent("/proc/modules")
    assert isinstance(facts.version, Unknown)  # a driver may be installed and not loaded


def test_a_kernel_without_a_list_of_modules_still_shows_them(tmp_path: Path) -> None:
    put(tmp_path, "/sys/module/nvidia/version", "535.183.01\n")
    facts = probe(tmp_path)
    assert facts.modules_loaded == Known(("nvidia",), "/sys/module")
    assert facts.kernel_module_version == Known("535.183.01", "/sys/module/nvidia/version")
    assert isinstance(facts.kernel_module_kind, Unknown)


def test_an_empty_root_is_unknown_and_not_absent(tmp_path: Path) -> None:
    facts = probe(tmp_path)
    assert isinstance(facts.modules_loaded, Unknown)
    assert isinstance(facts.kernel_module_version, Unknown)
    assert isinstance(facts.kernel_module_on_disk, Unknown)
    assert isinstance(facts.device_nodes, Unknown)
    assert facts.library_files == Known((), "the usual library folders")


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("updates/dkms/nvidia.ko.zst:", f"/lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst"),
        ("updates/dkms/nvidia-current.ko:", f"/lib/modules/{RELEASE}/updates/dkms/nvidia-current.ko"),
        ("kernel/nvidia-535/nvidia.ko: kernel/x.ko", f"/lib/modules/{RELEASE}/kernel/nvidia-535/nvidia.ko"),
        ("extra/nvidia.ko.xz:", f"/lib/modules/{RELEASE}/extra/nvidia.ko.xz"),
    ],
)
def test_finds_the_module_for_the_running_kernel(tmp_path: Path, line: str, path: str) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    index = f"/lib/modules/{RELEASE}/modules.dep"
    put(tmp_path, index, f"kernel/fs/ext4.ko: kernel/lib/crc.ko\n{line}\nupdates/dkms/nvidia-uvm.ko: x\n")
    assert probe(tmp_path).kernel_module_on_disk == Known(path, index)


@pytest.mark.parametrize("other", ["updates/dkms/nvidia-uvm.ko:", "kernel/drivers/usb/typec/ucsi/nvidia_wmi.ko:", ""])
def test_a_module_of_a_like_name_is_not_the_driver(tmp_path: Path, other: str) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    index = f"/lib/modules/{RELEASE}/modules.dep"
    put(tmp_path, index, f"kernel/fs/ext4.ko:\n{other}\n")
    assert probe(tmp_path).kernel_module_on_disk == Absent(index)


def test_a_container_without_the_hosts_modules_knows_nothing_of_them(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    put(tmp_path, "/lib/modules/5.10.0/modules.dep", "extra/nvidia.ko:\n")
    assert isinstance(probe(tmp_path).kernel_module_on_disk, Unknown)


def test_lists_device_nodes_with_their_mode(tmp_path: Path) -> None:
    for name, mode in (("nvidia0", 0o666), ("nvidiactl", 0o600), ("null", 0o666)):
        put(tmp_path, f"/dev/{name}").chmod(mode)
    (tmp_path / "dev/nvidia-caps").mkdir()
    (tmp_path / "dev/nvidia-uvm").symlink_to("gone")
    assert probe(tmp_path).device_nodes == Known(
        (
            DeviceNode(path="/dev/nvidia0", mode="0666", accessible=True),
            DeviceNode(path="/dev/nvidiactl", mode="0600", accessible=True),
        ),
        "/dev",
    )


def test_a_device_node_that_this_user_may_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "/dev/nvidia0").chmod(0o000)
    monkeypatch.setattr(Host, "access", lambda *_: False)  # root may open all: the answer of access(2) is the door's
    (node,) = probe(tmp_path).device_nodes.require()
    assert (node.mode, node.accessible) == ("0000", False)


def test_lists_driver_libraries_once_each(tmp_path: Path) -> None:
    for name in ("libcuda.so.1", "libcuda.so.535.183.01", "libnvidia-ml.so.1", "libcudart.so.12", "libcuda.conf"):
        put(tmp_path, f"/usr/lib64/{name}")
    (tmp_path / "usr/lib").symlink_to("lib64")
    put(tmp_path, "/usr/lib/wsl/lib/libcuda.so")
    names = ("libcuda.so.1", "libcuda.so.535.183.01", "libnvidia-ml.so.1")
    expected = (*(f"/usr/lib64/{name}" for name in names), "/usr/lib/wsl/lib/libcuda.so")
    assert probe(tmp_path).library_files == Known(expected, "the usual library folders")


def test_modules_for_other_kernels_and_who_made_them(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    put(tmp_path, f"/lib/modules/{RELEASE}/modules.dep", "kernel/fs/ext4.ko:\n")
    put(tmp_path, f"/lib/modules/{RELEASE}/build/Makefile")
    put(tmp_path, "/var/lib/dkms/nvidia/535.183.01/6.8.0-40-generic/x86_64/module/nvidia.ko.zst")
    put(tmp_path, "/var/lib/dkms/nvidia/535.183.01/source/dkms.conf")
    put(tmp_path, "/var/lib/dkms/nvidia/kernel-6.8.0-40-generic-x86_64/module")
    put(tmp_path, "/var/lib/dkms/vboxhost/7.0/6.8.0-40-generic/x86_64/module/vboxdrv.ko")
    put(tmp_path, "/lib/modules/6.8.0-40-generic/modules.dep", "updates/dkms/nvidia.ko.zst:\n")
    put(tmp_path, "/lib/modules/6.5.0-27-generic/modules.dep", "kernel/nvidia-535/nvidia.ko: kernel/x.ko\n")
    put(tmp_path, "/lib/modules/6.7.9-200.fc39.x86_64/modules.dep", "extra/nvidia/nvidia.ko.xz:\n")
    put(tmp_path, "/lib/modules/6.2.0-39-generic/modules.dep", "kernel/fs/ext4.ko:\n")
    facts = probe(tmp_path)
    assert facts.kernel_headers.get() is True
    assert facts.kernel_modules_built.require() == (
        KernelModule(kernel="6.8.0-40-generic", version="535.183.01", made_by="dkms"),
        KernelModule(kernel="6.5.0-27-generic", version="535", made_by="package"),
        KernelModule(kernel="6.7.9-200.fc39.x86_64", made_by="akmods"),
    )


def test_dkms_has_the_source_and_has_built_nothing(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    put(tmp_path, f"/lib/modules/{RELEASE}/modules.dep", "")
    put(tmp_path, "/var/lib/dkms/nvidia/535.183.01/source/dkms.conf")
    facts = probe(tmp_path)
    assert (facts.kernel_modules_built.get(), facts.kernel_headers.get()) == ((), False)


def test_nobody_looks_further_where_there_is_a_module(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", f"{RELEASE}\n")
    put(tmp_path, f"/lib/modules/{RELEASE}/modules.dep", "updates/dkms/nvidia.ko:\n")
    put(tmp_path, "/lib/modules/6.5.0-27-generic/modules.dep", "updates/dkms/nvidia.ko:\n")
    assert isinstance(probe(tmp_path).kernel_modules_built, Unknown)
