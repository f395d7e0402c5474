"""NVIDIA kernel modules on disk: the one for the running kernel, and where there is none, those for others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Fact, KernelModule, Known, Unknown

OS_RELEASE = "/proc/sys/kernel/osrelease"
FOLDERS = ("/lib/modules", "/usr/lib/modules")
DKMS = "/var/lib/dkms"
# Debian and Ubuntu name the module nvidia-current.ko or nvidia.ko; it may be compressed.
MODULE_ON_DISK = re.compile(r"^(?P<path>\S*/nvidia(?:-current|-[\w-]*\d{3})?\.ko(?:\.\w+)?):", re.MULTILINE)
MODULES_DEP_LIMIT = 16 << 20
MOST_KERNELS = 32
# Ubuntu's ready-made modules (linux-modules-nvidia-535-...) lie in kernel/nvidia-535, those of akmods in extra/nvidia.
OF_A_PACKAGE = re.compile(r"kernel/nvidia-(\d{3})")


def module_on_disk(host: Host) -> Fact[str]:
    """Return the module file that modprobe would load into the running kernel."""
    try:
        release = host.read_text(OS_RELEASE, 256).strip()
    except OSError as exc:
        return Unknown(f"the kernel release cannot be read: {exc.strerror or exc}")
    folder = next((path for path in FOLDERS if host.exists(f"{path}/{release}")), None)
    if folder is None:
        return Unknown(f"there is no module folder for the running kernel {release} here, as in a container")
    index = f"{folder}/{release}/modules.dep"
    try:
        match = MODULE_ON_DISK.search(host.read_text(index, MODULES_DEP_LIMIT))
    except OSError as exc:
        return Unknown(f"{index}: {exc.strerror or exc}")
    if not match:
        return Absent(index)
    path = match["path"]
    return Known(path if path.startswith("/") else f"{folder}/{release}/{path}", index)


def built_for_others(host: Host, own: Fact[str]) -> tuple[Fact[tuple[KernelModule, ...]], Fact[bool]]:
    """Return the modules for any kernel, and whether the headers of the running one are there. Never raises.

    own: what is known of the module for the running kernel; where there is one, nobody need look further.
    """
    if isinstance(own, Known):
        needless = Unknown("there is a module for the running kernel")
        return needless, needless
    try:
        release = host.read_text(OS_RELEASE, 256).strip()
    except OSError as exc:
        unknown = Unknown(f"the kernel release cannot be read: {exc.strerror or exc}")
        return unknown, unknown
    found: dict[str, KernelModule] = {}
    for module in (*_of_dkms(host), *_in_folders(host, release)):
        found.setdefault(module.kernel, module)
    headers = any(host.exists(f"{folder}/{release}/build") for folder in FOLDERS)
    return Known(tuple(found.values()), f"{DKMS} and {FOLDERS[0]}"), Known(headers, FOLDERS[0])


def _names(host: Host, folder: str) -> list[str]:
    try:
        return host.list_dir(folder)
    except OSError:
        return []


def _of_dkms(host: Host) -> Iterator[KernelModule]:
    """Yield what DKMS has built: /var/lib/dkms/nvidia/535.183.01/6.8.0-45-generic/x86_64/module."""
    for package in _names(host, DKMS):
        if not package.startswith("nvidia"):
            continue
        for version in _names(host, f"{DKMS}/{package}"):
            if not re.match(r"\d{3}\.", version):
                continue  # links to what is installed
            for kernel in _names(host, f"{DKMS}/{package}/{version}"):
                if kernel not in ("source", "build"):
                    yield KernelModule(kernel=kernel, version=version, made_by="dkms")


def _in_folders(host: Host, running: str) -> Iterator[KernelModule]:
    """Yield what lies in the folders of other kernels, newest names last."""
    for folder in FOLDERS:
        for kernel in _names(host, folder)[-MOST_KERNELS:]:
            if kernel == running:
                continue
            try:
                match = MODULE_ON_DISK.search(host.read_text(f"{folder}/{kernel}/modules.dep", MODULES_DEP_LIMIT))
            except OSError:
                continue
            if match:
                yield _module(kernel, match["path"])


def _module(kernel: str, path: str) -> KernelModule:
    packaged = OF_A_PACKAGE.search(path)
    if packaged:
        return KernelModule(kernel=kernel, version=packaged[1], made_by="package")
    made_by = "dkms" if "/dkms/" in path else "akmods" if "extra/nvidia" in path else ""
    return KernelModule(kernel=kernel, made_by=made_by)
