"""The PCI scan over folders that look like /sys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Known, PciDevice, Unknown
from gpudoctor.facts.probes import pci

SOURCE = "/sys/bus/pci/devices"


def add(root: Path, address: str, vendor: str, kind: str, device: str, *, driver: str = "") -> Path:
    folder = root / SOURCE.lstrip("/") / address
    folder.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("class", kind), ("device", device)):
        (folder / name).write_text(f"{value}\n")
    if driver:
        (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
    return folder


def test_finds_display_and_3d_controllers_of_nvidia_only(tmp_path: Path) -> None:
    add(tmp_path, "0000:00:02.0", "0x8086", "0x030000", "0x9bc4", driver="i915")
    add(tmp_path, "0000:01:00.0", "0x10de", "0x030000", "0x2684", driver="nvidia")
    add(tmp_path, "0000:01:00.1", "0x10de", "0x040300", "0x22ba", driver="snd_hda_intel")  # audio of the same card
    add(tmp_path, "0000:01:00.2", "0x10de", "0x0c0330", "0x1ad8")  # its USB controller
    add(tmp_path, "0000:05:00.0", "0x10de", "0x068000", "0x22a3")  # an NVSwitch
    add(tmp_path, "0000:0A:00.0", "0x10DE", "0x030200", "0x1347")
    assert pci.probe(Host(root=tmp_path)) == Known(
        (
            PciDevice(address="0000:01:00.0", device_id="2684", driver="nvidia"),
            PciDevice(address="0000:0a:00.0", device_id="1347", driver=None),
        ),
        SOURCE,
    )


@pytest.mark.parametrize("kind", ["0x030000", "0x030200", "0x038000"])
def test_every_kind_of_display_controller_counts(tmp_path: Path, kind: str) -> None:
    add(tmp_path, "0000:01:00.0", "0x10de", kind, "0x2684")
    assert len(pci.probe(Host(root=tmp_path)).require()) == 1


def test_a_bus_without_nvidia_is_known_to_have_none(tmp_path: Path) -> None:
    add(tmp_path, "0000:00:02.0", "0x8086", "0x030000", "0x9bc4")
    assert pci.probe(Host(root=tmp_path)) == Known((), SOURCE)


def test_no_bus_is_unknown_and_not_none(tmp_path: Path) -> None:
    fact = pci.probe(Host(root=tmp_path))
    assert fact == Unknown(f"the PCI bus cannot be read here: {SOURCE}: No such file or directory")


def test_a_device_that_cannot_be_read_leaves_none_found_unknown(tmp_path: Path) -> None:
    add(tmp_path, "0000:00:02.0", "0x8086", "0x030000", "0x9bc4")
    vendor = add(tmp_path, "0000:01:00.0", "0x10de", "0x030000", "0x2684") / "vendor"
    vendor.unlink()
    os.mkfifo(vendor)  # would block for ever where it is opened without care
    assert pci.probe(Host(root=tmp_path)) == Unknown("1 of 2 PCI devices cannot be read, 0000:01:00.0 for one")


def test_a_device_that_cannot_be_read_does_not_hide_one_that_can(tmp_path: Path) -> None:
    add(tmp_path, "0000:01:00.0", "0x10de", "0x030000", "0x2684")
    (add(tmp_path, "0000:02:00.0", "0x10de", "0x030000", "0x2684") / "class").unlink()
    assert [device.address for device in pci.probe(Host(root=tmp_path)).require()] == ["0000:01:00.0"]


def test_empty_files_are_no_gpu(tmp_path: Path) -> None:
    add(tmp_path, "0000:01:00.0", "", "", "")
    assert pci.probe(Host(root=tmp_path)) == Known((), SOURCE)


@pytest.mark.parametrize(("text", "node"), [("0\n", 0), ("1\n", 1), ("-1\n", None), ("", None), ("x\n", None)])
def test_the_numa_node_where_the_kernel_knows_it(tmp_path: Path, text: str, node: int | None) -> None:
    folder = add(tmp_path, "0000:01:00.0", "0x10de", "0x030000", "0x2684")
    (folder / "numa_node").write_text(text)
    (device,) = pci.probe(Host(root=tmp_path)).require()
    assert device.numa_node == node
