"""Where the machine takes its power from, and on which side of it this process may run."""

from __future__ import annotations

import os
import re
import sys

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Fact, Known, Unknown

SUPPLIES = "/sys/class/power_supply"
NODES = "/sys/devices/system/node"
# A mouse and a headset have batteries too: the kernel says that they are of a device.
OF_A_DEVICE = "Device"
ONLINE = "1"
CHARGED = ("Charging", "Full", "Not charging")
MOST_PROCESSORS = 65536


def power_source(host: Host) -> Fact[str]:
    """Return mains or battery; absent on a machine without a battery. Never raises."""
    if not sys.platform.startswith("linux"):
        return _elsewhere()
    try:
        names = host.list_dir(SUPPLIES)
    except OSError as exc:
        # A kernel without this class has no driver for a battery.
        return Absent(SUPPLIES) if isinstance(exc, FileNotFoundError) else Unknown(f"{SUPPLIES}: {exc.strerror or exc}")
    kinds = {name: _line(host, f"{SUPPLIES}/{name}/type") for name in names}
    batteries = [name for name, kind in kinds.items() if kind == "Battery"]
    batteries = [name for name in batteries if _line(host, f"{SUPPLIES}/{name}/scope") != OF_A_DEVICE]
    if not batteries:
        return Absent(SUPPLIES)
    plugs = [name for name, kind in kinds.items() if kind not in ("Battery", "")]
    if any(_line(host, f"{SUPPLIES}/{name}/online") == ONLINE for name in plugs):
        return Known("mains", SUPPLIES)
    # Asked last: the answer of a battery takes its time.
    states = [_line(host, f"{SUPPLIES}/{name}/status") for name in batteries]
    if "Discharging" in states:
        return Known("battery", f"{SUPPLIES}/{batteries[states.index('Discharging')]}/status")
    if any(state in CHARGED for state in states):
        return Known("mains", SUPPLIES)
    return Unknown(f"{SUPPLIES} tells of a battery, and not whether it is in use")


def _elsewhere() -> Fact[str]:
    """Return it where there is no /sys: psutil knows the ways of each system."""
    import psutil

    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError) as exc:
        return Unknown(f"this system does not tell of its battery: {exc}")
    if battery is None:
        return Absent("psutil")
    if battery.power_plugged is None:
        return Unknown("this system does not tell whether its battery is in use")
    return Known("mains" if battery.power_plugged else "battery", "psutil")


def _line(host: Host, path: str) -> str:
    try:
        return host.read_text(path, 256).strip()
    except OSError:
        return ""


def cpu_nodes(host: Host) -> Fact[tuple[int, ...]]:
    """Return the NUMA nodes of the processors that this process may use. Never raises."""
    if not hasattr(os, "sched_getaffinity"):
        return Unknown("this system does not tell which processors a process may use")
    try:
        names = host.list_dir(NODES)
    except OSError as exc:
        return Unknown(f"{NODES}: {exc.strerror or exc}")
    numbers = sorted(int(name[4:]) for name in names if re.fullmatch(r"node\d{1,5}", name))
    lists = {number: processors(_line(host, f"{NODES}/node{number}/cpulist")) for number in numbers}
    with_processors = [number for number, found in lists.items() if found]
    if len(with_processors) < 2:  # noqa: PLR2004 (one node is no choice)
        return Absent(NODES)
    mine = os.sched_getaffinity(0)
    return Known(tuple(number for number in with_processors if lists[number] & mine), NODES)


def processors(text: str) -> frozenset[int]:
    """Return the numbers in a list of the kernel: 0-15,32-47."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text):
        found.update(range(int(first), min(int(last or first), MOST_PROCESSORS) + 1))
    return frozenset(found)
