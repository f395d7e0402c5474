"""Every file and folder of the machine that the probes read, broken in every way: no probe raises, blocks or misleads.

Which they are is found by watching the probes on a folder that looks like a machine, so a new one is covered at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Facts, Known
from gpudoctor.facts.probes import driver_files, host_files
from tests.matrix.judged import assert_judged, not_started
from tests.rule_case import facts_of

SCAN = "sys/bus/pci/devices/0000:01:00.0"
KERNEL = "6.1.0-18-amd64"
NVRM = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
GIB = 1 << 30
FILES = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "proc/sys/kernel/osrelease": KERNEL + "\n",
    "proc/cpuinfo": "model name\t: A CPU\nflags\t\t: sse4_2 avx avx2 fma\n",
    "proc/meminfo": "MemTotal:       65536000 kB\n",
    "proc/1/cgroup": "0::/init.scope\n",
    "proc/self/cgroup": "0::/user.slice\n",
    "sys/fs/cgroup/user.slice/memory.max": "max\n",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "proc/modules": "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 1 nvidia_uvm, Live 0x0\n",
    "sys/module/nvidia/version": "535.183.01\n",
    "proc/driver/nvidia/version": NVRM,
    f"lib/modules/{KERNEL}/modules.dep": "updates/dkms/nvidia.ko:\n",
    f"{SCAN}/vendor": "0x10de\n",
    f"{SCAN}/class": "0x030000\n",
    f"{SCAN}/device": "0x2684\n",
    f"{SCAN}/numa_node": "0\n",
    "sys/devices/system/node/node0/cpulist": "0-15\n",
    "sys/devices/system/node/node1/cpulist": "16-31\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "1\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/class/power_supply/BAT0/status": "Full\n",
    "proc/self/mountinfo": "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n",
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\0\0\0\0",
    "dev/nvidia0": "",
    "dev/nvidiactl": "",
    "dev/nvidia-uvm": "",
    "usr/lib/x86_64-linux-gnu/libcuda.so.1": "",
    "dev/shm/keep": "",
}


def machine(root: Path) -> Path:
    """Make a folder that looks like / of a healthy machine."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / SCAN / "driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    return root


class Watched(Host):
    """A host that notes what is read; before_read is called with each path before it is opened."""

    def __init__(self, root: Path, before_read: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(root, {})
        self.seen: set[str] = set()
        self.before_read = before_read

    def read_bytes(self, path: str, limit_bytes: int = 1 << 20, offset: int = 0) -> bytes:
        self.seen.add(path)
        self.before_read(path)
        return super().read_bytes(path, limit_bytes, offset)

    def list_dir(self, path: str) -> list[str]:
        self.seen.add(path)
        self.before_read(path)
        return super().list_dir(path)

    def resolve(self, path: str) -> Path:
        self.seen.add(path)
        return super().resolve(path)


def read(host: Host) -> Facts:
    """Return the healthy base with what the files of this host tell."""
    base = facts_of("desktop-rtx4090")
    found, files = host_files.probe(host), driver_files.probe(host)
    # libc, uname and processors are asked of the system, not of a file below the root.
    found = replace(found, libc=base.host.libc, machine=base.host.machine, os=base.host.os)
    driver = base.driver
    for name in driver.__struct_fields__:
        value = getattr(files, name)
        if name not in ("version",) and getattr(value, "reason", "") != "not read":
            driver = replace(driver, **{name: value})
    return replace(base, host=found, driver=driver)


def missing(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def unreadable(path: Path) -> None:
    """Make it a link to itself: opening it fails for root too, to whom permissions mean nothing."""
    missing(path)
    path.symlink_to(path.name)


def empty(path: Path) -> None:
    keep_folder = path.is_dir()
    missing(path)
    path.mkdir() if keep_folder else path.write_bytes(b"")


def binary(path: Path) -> None:
    missing(path)
    path.write_bytes(bytes(range(256)) * 64 + b"\xff\xfe\0")


def huge(path: Path) -> None:
    missing(path)
    with path.open("wb") as file:
        file.truncate(GIB)


def one_long_line(path: Path) -> None:
    missing(path)
    path.write_bytes(b"9" * 200_000)


def fifo(path: Path) -> None:
    missing(path)
    os.mkfifo(path)


def folder(path: Path) -> None:
    missing(path)
    path.mkdir()


FAULTS = (missing, unreadable, empty, binary, huge, one_long_line, fifo, folder)


def paths_read(root: Path) -> list[str]:
    """Return the files and folders that the probes read and that exist on the healthy machine."""
    host = Watched(root)
    read(host)
    return sorted(path for path in host.seen if Host.exists(Host(root), path) and path != "/")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield machine(tmp_path / "root")


PATHS = (
    *("/" + name for name in FILES if name.startswith(("etc", "proc", "sys/", "lib"))),
    *("/sys/class/power_supply", "/sys/devices/system/node"),
    *("/dev", "/dev/nvidia0", "/dev/shm", "/sys/bus/pci/devices", "/sys/firmware/efi", "/usr/lib/x86_64-linux-gnu"),  # noqa: S108 (below the root folder)
)


def test_the_list_below_is_what_the_probes_read(root: Path) -> None:
    untold = [
        path for path in paths_read(root) if path not in PATHS and not any(known.startswith(path) for known in PATHS)
    ]
    assert [path for path in untold if not path.startswith(("/dev/", "/usr/lib", "/lib"))] == []


def test_nothing_wrong(root: Path) -> None:
    facts = read(Host(root, {}))
    assert_judged(facts)
    assert_judged(not_started(facts))
    assert facts.driver.kernel_module_version == Known("535.183.01", "/proc/driver/nvidia/version")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("path", PATHS)
def test_each_fault_of_one_file(root: Path, path: str, fault: Callable[[Path], None]) -> None:
    fault(root / path.lstrip("/"))
    facts = read(Host(root, {}))
    # What a file says wrongly may be believed, where nothing shows it: a kernel of another name, say. But an alarm
    # needs more than one broken file: the driver itself answers.
    assert_judged(facts)
    assert_judged(not_started(facts))


@pytest.mark.parametrize("path", [path for path in PATHS if (FILES.get(path[1:]) or "")])
def test_replaced_in_mid_read(root: Path, path: str) -> None:
    def exchange(read_now: str) -> None:
        if read_now == path:
            target = root / path[1:]
            draft = target.with_name(target.name + ".new")
            draft.write_bytes(b"\xff")
            draft.replace(target)

    facts = read(Watched(root, exchange))
    assert_judged(facts)
    missing(root / path[1:])
    machine_again = read(Watched(root, lambda read_now: fifo_once(root / path[1:]) if read_now == path else None))
    assert_judged(machine_again)


def fifo_once(path: Path) -> None:
    if not path.exists():
        os.mkfifo(path)


def test_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{len(PATHS) * len(FAULTS)} faults of {len(PATHS)} files and folders", end=" ")
