"""Power source and NUMA nodes under folders that look like /."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known, Unknown
from gpudoctor.facts.probes import placement
from tests.environments import write

SUPPLIES = "/sys/class/power_supply"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux's /sys")


def supplies(root: Path, **devices: str) -> Host:
    """Write power supplies: "Battery status=Discharging"."""
    for name, text in devices.items():
        kind, *entries = text.split(" ")
        write(root / f"sys/class/power_supply/{name}/type", f"{kind}\n")
        for entry in entries:
            key, _, value = entry.partition("=")
            write(root / f"sys/class/power_supply/{name}/{key}", value.replace("_", " ") + "\n")
    return Host(root, {})


@linux
@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"AC": "Mains online=0", "BAT0": "Battery status=Discharging"}, "battery"),
        ({"AC": "Mains online=1", "BAT0": "Battery status=Charging"}, "mains"),
        ({"AC": "Mains online=1", "BAT0": "Battery status=Discharging"}, "mains"),
        ({"ucsi": "USB online=1", "BAT0": "Battery status=Discharging"}, "mains"),
        ({"BAT0": "Battery status=Full"}, "mains"),
        ({"BAT0": "Battery status=Not_charging"}, "mains"),
        ({"BAT0": "Battery status=Full", "BAT1": "Battery status=Discharging"}, "battery"),
    ],
)
def test_a_laptop(tmp_path: Path, devices: dict[str, str], expected: str) -> None:
    fact = placement.power_source(supplies(tmp_path, **devices))
    assert fact.get() == expected


@linux
@pytest.mark.parametrize(
    "devices",
    [{}, {"AC": "Mains online=1"}, {"hidpp_battery_0": "Battery scope=Device status=Discharging"}],
    ids=["nothing", "a plug", "a mouse"],
)
def test_a_machine_without_a_battery_of_its_own(tmp_path: Path, devices: dict[str, str]) -> None:
    (tmp_path / "sys/class/power_supply").mkdir(parents=True)
    assert placement.power_source(supplies(tmp_path, **devices)) == Absent(SUPPLIES)


@linux
def test_no_such_folder_and_no_answer(tmp_path: Path) -> None:
    assert placement.power_source(Host(tmp_path, {})) == Absent(SUPPLIES)
    assert isinstance(placement.power_source(supplies(tmp_path, BAT0="Battery status=Unknown")), Unknown)


def test_lists_of_the_kernel() -> None:
    assert placement.processors("0-3,8,10-11") == {0, 1, 2, 3, 8, 10, 11}
    assert placement.processors("") == frozenset()
    assert len(placement.processors("0-999999")) <= placement.MOST_PROCESSORS + 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="of Linux")
def test_nodes_of_the_processors_that_this_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, processors in enumerate(("0-7,16-23", "8-15,24-31", "")):  # the last one is memory only
        write(tmp_path / f"sys/devices/system/node/node{node}/cpulist", processors + "\n")
    write(tmp_path / "sys/devices/system/node/online", "0-2\n")
    for mine, nodes in (({9, 24}, (1,)), ({0, 31}, (0, 1)), (set(range(32)), (0, 1))):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, mine=mine: mine)
        assert placement.cpu_nodes(Host(tmp_path, {})) == Known(nodes, "/sys/devices/system/node")


def test_one_node_is_no_choice(tmp_path: Path) -> None:
    write(tmp_path / "sys/devices/system/node/node0/cpulist", "0-15\n")
    assert placement.cpu_nodes(Host(tmp_path, {})) == Absent("/sys/devices/system/node")
    assert isinstance(placement.cpu_nodes(Host(tmp_path / "none", {})), Unknown)


@pytest.mark.parametrize(
    ("battery", "expected"),
    [
        (SimpleNamespace(power_plugged=True), Known("mains", "psutil")),
        (SimpleNamespace(power_plugged=False), Known("battery", "psutil")),
        (SimpleNamespace(power_plugged=None), None),
        (None, Absent("psutil")),
    ],
)
def test_other_systems_tell_it_through_psutil(
    monkeypatch: pytest.MonkeyPatch, battery: object, expected: object
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    fact = placement.power_source(Host(environ={}))
    assert fact == expected or (expected is None and isinstance(fact, Unknown))
