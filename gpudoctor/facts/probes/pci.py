"""NVIDIA GPUs on the PCI bus: they alone tell a missing driver from a missing GPU."""

from __future__ import annotations

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Fact, Known, PciDevice, Unknown

DEVICES = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
# Base class 03: VGA (0300), 3D (0302) and other display controllers (0380). The same card also has audio (0403), USB
# (0c03) and UCSI (0c80) functions, and servers have NVSwitches (0680) of the same vendor.
DISPLAY_CLASS = "0x03"


def probe(host: Host) -> Fact[tuple[PciDevice, ...]]:
    """Return the NVIDIA display and 3D controllers; an empty tuple means scanned, none there. Never raises."""
    try:
        addresses = host.list_dir(DEVICES)
    except OSError as exc:
        return Unknown(f"the PCI bus cannot be read here: {DEVICES}: {exc.strerror or exc}")
    found: list[PciDevice] = []
    unreadable: list[str] = []
    for address in addresses:
        try:
            device = _read(host, address)
        except OSError:
            unreadable.append(address)
        else:
            found += [device] if device else []
    if unreadable and not found:
        return Unknown(f"{len(unreadable)} of {len(addresses)} PCI devices cannot be read, {unreadable[0]} for one")
    return Known(tuple(found), DEVICES)


def _read(host: Host, address: str) -> PciDevice | None:
    """Return the device if it is an NVIDIA GPU. Raises OSError."""
    folder = f"{DEVICES}/{address}"
    if host.read_text(f"{folder}/vendor", 64).strip().lower() != NVIDIA:
        return None
    if not host.read_text(f"{folder}/class", 64).strip().lower().startswith(DISPLAY_CLASS):
        return None
    device_id = host.read_text(f"{folder}/device", 64).strip().lower().removeprefix("0x")
    return PciDevice(
        address=address.lower(),
        device_id=device_id.zfill(4),
        driver=_driver(host, folder),
        numa_node=_numa_node(host, folder),
    )


def _driver(host: Host, folder: str) -> str | None:
    try:
        return host.resolve(f"{folder}/driver").readlink().name
    except OSError:  # no such link: no driver is bound
        return None


def _numa_node(host: Host, folder: str) -> int | None:
    """Return the NUMA node; the kernel writes -1 where it does not know, as in many virtual machines."""
    try:
        text = host.read_text(f"{folder}/numa_node", 32).strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
