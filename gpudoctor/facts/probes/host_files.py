"""The operating system and the hardware around the GPU, from files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Fact, HostFacts, Known, Unknown
from gpudoctor.facts.probes import container, pci, placement

OS_RELEASE = "/etc/os-release"
KERNEL_RELEASE = "/proc/sys/kernel/osrelease"
CPU_INFO = "/proc/cpuinfo"
# One processor's entry is enough: they are alike, and big machines have hundreds.
CPU_INFO_LIMIT = 16 * 1024
MEMORY_INFO = "/proc/meminfo"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (its size is asked, nothing is written)
EFI = "/sys/firmware/efi"
# EFI_GLOBAL_VARIABLE of the UEFI specification: four bytes of attributes, then the value.
SECURE_BOOT = EFI + "/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
PLATFORMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
TEGRA = ("/etc/nv_tegra_release", "/proc/device-tree/model")


def probe(host: Host) -> HostFacts:
    """Return the facts of the host. Never raises."""
    release = _os_release(host)
    kernel = _text(host, KERNEL_RELEASE)
    model, flags = _cpu(host)
    kind = container.container(host)
    return HostFacts(
        os=Known(PLATFORMS[sys.platform], "Python") if sys.platform in PLATFORMS else Unknown(sys.platform),
        distribution=_entry(release, "PRETTY_NAME"),
        distribution_id=_entry(release, "ID"),
        distribution_version=_entry(release, "VERSION_ID"),
        kernel=kernel,
        libc=_libc(host),
        machine=Known(os.uname().machine, "uname") if hasattr(os, "uname") else Unknown("no uname here"),
        cpu_model=model,
        cpu_flags=flags,
        cpu_count=_cpu_count(),
        cpu_quota=_cpu_quota(host),
        memory_total_bytes=_memory(host),
        memory_limit_bytes=_memory_limit(host),
        shm_bytes=_shm(host),
        container=kind,
        container_gpu=container.container_gpu(host, kind),
        power_source=placement.power_source(host),
        cpu_nodes=placement.cpu_nodes(host),
        wsl=_wsl(host, kernel),
        tegra=_tegra(host),
        secure_boot=_secure_boot(host),
        pci_gpus=pci.probe(host),
    )


def _text(host: Host, path: str, limit_bytes: int = 4096) -> Fact[str]:
    try:
        text = host.read_text(path, limit_bytes).strip("\0\n ")
    except OSError as exc:
        return Unknown(f"{path}: {exc.strerror or exc}")
    return Known(text, path) if text else Unknown(f"{path} is empty")


def _os_release(host: Host) -> Mapping[str, str] | str:
    """Return the entries of os-release, or why there are none."""
    text = _text(host, OS_RELEASE, 16384)
    if not isinstance(text, Known):
        return text.reason if isinstance(text, Unknown) else ""
    pairs = (line.partition("=") for line in text.value.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _entry(release: Mapping[str, str] | str, name: str) -> Fact[str]:
    if isinstance(release, str):
        return Unknown(release)
    return Known(release[name], OS_RELEASE) if release.get(name) else Absent(OS_RELEASE)


def _libc(host: Host) -> Fact[str]:
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        version = None
    if version:
        return Known(version, "confstr")
    try:
        musl = [name for name in host.list_dir("/lib") if name.startswith("ld-musl-")]
    except OSError as exc:
        return Unknown(f"/lib: {exc.strerror or exc}")
    return Known("musl", f"/lib/{musl[0]}") if musl else Unknown("the C library does not tell its version")


def _cpu(host: Host) -> tuple[Fact[str], Fact[tuple[str, ...]]]:
    text = _text(host, CPU_INFO, CPU_INFO_LIMIT)
    if not isinstance(text, Known):
        return text, Unknown(text.reason) if isinstance(text, Unknown) else Unknown(CPU_INFO)
    model = re.search(r"^model name\s*:\s*(.+)$", text.value, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text.value, re.MULTILINE)
    return (
        Known(model[1].strip(), CPU_INFO) if model else Unknown(f"{CPU_INFO} names no model"),
        Known(tuple(flags[1].split()), CPU_INFO) if flags else Unknown(f"{CPU_INFO} names no flags"),
    )


def _cpu_count() -> Fact[int]:
    if hasattr(os, "sched_getaffinity"):
        return Known(len(os.sched_getaffinity(0)), "CPU affinity")
    count = os.cpu_count()
    return Known(count, "Python") if count else Unknown("the system does not tell")


def _memory(host: Host) -> Fact[int]:
    text = _text(host, MEMORY_INFO)
    if not isinstance(text, Known):
        return text
    match = re.search(r"^MemTotal:\s*(\d+) kB", text.value, re.MULTILINE)
    return Known(int(match[1]) * 1024, MEMORY_INFO) if match else Unknown(f"{MEMORY_INFO} names no total")


def _memory_limit(host: Host) -> Fact[int]:
    """Return the limit of our control group: of version 2 (own path, or a container's root), else of version 1."""
    try:
        groups = host.read_text("/proc/self/cgroup").splitlines()
    except OSError as exc:
        return Unknown(f"/proc/self/cgroup: {exc.strerror or exc}")
    own = next((line.partition("::")[2] for line in groups if line.startswith("0::")), "").rstrip("/")
    places = [f"/sys/fs/cgroup{own}/memory.max", "/sys/fs/cgroup/memory.max"]
    for path in dict.fromkeys([*places, "/sys/fs/cgroup/memory/memory.limit_in_bytes"]):
        text = _text(host, path, 64)
        if isinstance(text, Known):
            # Version 1 writes a number close to 2**63 for "none".
            limited = text.value.isdecimal() and int(text.value) < 1 << 60
            return Known(int(text.value), path) if limited else Absent(path)
    return Absent("no memory control group")


def _cpu_quota(host: Host) -> Fact[float]:
    """Return how many processors the control group grants: version 2 writes "200000 100000" for two, or "max ..."."""
    try:
        groups = host.read_text("/proc/self/cgroup").splitlines()
    except OSError as exc:
        return Unknown(f"/proc/self/cgroup: {exc.strerror or exc}")
    own = next((line.partition("::")[2] for line in groups if line.startswith("0::")), "").rstrip("/")
    for path in dict.fromkeys((f"/sys/fs/cgroup{own}/cpu.max", "/sys/fs/cgroup/cpu.max")):
        text = _text(host, path, 64)
        if isinstance(text, Known):
            match = re.fullmatch(r"(\d{1,15}) ([1-9]\d{0,14})", text.value)
            return Known(int(match[1]) / int(match[2]), path) if match else Absent(path)
    old = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
    quota, period = _text(host, old, 64), _text(host, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", 64)
    match = re.fullmatch(r"(\d{1,15}) ([1-9]\d{0,14})", f"{quota.get()} {period.get()}")
    return Known(int(match[1]) / int(match[2]), old) if match else Absent("no limit of a control group")


def _shm(host: Host) -> Fact[int]:
    try:
        size = os.statvfs(host.resolve(SHARED_MEMORY))
    except (OSError, AttributeError) as exc:
        return Unknown(f"{SHARED_MEMORY}: {getattr(exc, 'strerror', None) or exc}")
    return Known(size.f_blocks * size.f_frsize, SHARED_MEMORY)


def _wsl(host: Host, kernel: Fact[str]) -> Fact[str]:
    release = kernel.get()
    if release is None:
        return Unknown("the kernel release is not known")
    # Its kernels are called 5.15.167.4-microsoft-standard-WSL2; a kernel of one's own need not be.
    if "microsoft" in release.lower() or host.exists("/proc/sys/fs/binfmt_misc/WSLInterop"):
        return Known(release, KERNEL_RELEASE)
    return Absent(KERNEL_RELEASE)


def _tegra(host: Host) -> Fact[str]:
    for path in TEGRA:
        text = _text(host, path)
        if isinstance(text, Known) and (path == TEGRA[0] or "jetson" in text.value.lower()):
            return Known(text.value.splitlines()[0], path)
    return Absent(" and ".join(TEGRA))


def _secure_boot(host: Host) -> Fact[bool]:
    if not host.exists(EFI):
        return Known(False, f"no {EFI}: not started by UEFI")
    try:
        value = host.read_text(SECURE_BOOT, 64)
    except OSError as exc:
        return Unknown(f"the UEFI variable SecureBoot cannot be read: {exc.strerror or exc}")
    return Known(value.endswith("\x01"), "UEFI variable SecureBoot") if value else Unknown("SecureBoot is empty")
