"""What files tell of the driver: the loaded kernel module, the one on disk, device nodes, libraries."""

from __future__ import annotations

import os
import re
import stat

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, DeviceNode, DriverFacts, Fact, Known, Unknown
from gpudoctor.facts.probes import kernel_log, kernel_modules

PROC_VERSION = "/proc/driver/nvidia/version"
SYS_VERSION = "/sys/module/nvidia/version"
PROC_MODULES = "/proc/modules"
SYS_MODULES = "/sys/module"
MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nouveau")
# "NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May..." and, of the open one,
# "NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (builder)  Fri Aug..."
NVRM = re.compile(r"NVRM version:.{0,100}?(?P<open>Open )?Kernel Module(?: for \S{1,40})?\s+(?P<version>\d+(?:\.\d+)+)")
LIBRARY = re.compile(r"(libcuda|libnvidia-ml)\.so(\.|$)")
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/usr/lib/nvidia",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/local/cuda/compat",
    "/run/opengl-driver/lib",
)


def probe(host: Host) -> DriverFacts:
    """Return the facts of the driver that files tell. Never raises."""
    modules = _modules_loaded(host)
    version, kind = _loaded_module(host, modules)
    on_disk = kernel_modules.module_on_disk(host)
    built, headers = kernel_modules.built_for_others(host, on_disk)
    return DriverFacts(
        version=version if isinstance(version, Known) else Unknown("no NVIDIA kernel module tells its version"),
        kernel_module_version=version,
        kernel_module_kind=kind,
        kernel_module_on_disk=on_disk,
        kernel_modules_built=built,
        kernel_headers=headers,
        modules_loaded=modules,
        device_nodes=_device_nodes(host),
        library_files=_library_files(host),
        kernel_events=kernel_log.probe(host),
    )


def _modules_loaded(host: Host) -> Fact[tuple[str, ...]]:
    """Return which of MODULES are loaded; a kernel without /proc/modules may still show them under /sys/module."""
    try:
        text = host.read_text(PROC_MODULES)
    except OSError as exc:
        try:
            names = set(host.list_dir(SYS_MODULES))
        except OSError:
            return Unknown(f"the loaded modules cannot be read here: {PROC_MODULES}: {exc.strerror or exc}")
        # Modules built into the kernel are listed too; of ours none is ever built in.
        return Known(tuple(name for name in MODULES if name in names), SYS_MODULES)
    names = {line.split(" ", 1)[0] for line in text.splitlines()}
    return Known(tuple(name for name in MODULES if name in names), PROC_MODULES)


def _loaded_module(host: Host, modules: Fact[tuple[str, ...]]) -> tuple[Fact[str], Fact[str]]:
    """Return version and kind (open or proprietary) of the loaded kernel module."""
    try:
        text = host.read_text(PROC_VERSION, 4096)
    except OSError as exc:
        return _without_proc(host, modules, f"{PROC_VERSION}: {exc.strerror or exc}")
    match = NVRM.search(text)
    if not match:
        unknown = Unknown(f"{PROC_VERSION} is not written in a way that is known here")
        return unknown, unknown
    return Known(match["version"], PROC_VERSION), Known("open" if match["open"] else "proprietary", PROC_VERSION)


def _without_proc(host: Host, modules: Fact[tuple[str, ...]], why: str) -> tuple[Fact[str], Fact[str]]:
    try:
        version = host.read_text(SYS_VERSION, 256).strip()
    except OSError:
        version = ""
    if version:
        return Known(version, SYS_VERSION), Unknown(f"only {PROC_VERSION} tells the kind of the module ({why})")
    if isinstance(modules, Known) and "nvidia" not in modules.value:
        return Absent(modules.source), Absent(modules.source)
    return Unknown(why), Unknown(why)


def _device_nodes(host: Host) -> Fact[tuple[DeviceNode, ...]]:
    """Return the /dev/nvidia* files, without the folder of MIG capabilities."""
    try:
        names = [name for name in host.list_dir("/dev") if name.startswith("nvidia")]
    except OSError as exc:
        return Unknown(f"/dev cannot be read: {exc.strerror or exc}")
    nodes = []
    for name in names:
        path = f"/dev/{name}"
        try:
            mode = host.resolve(path).stat().st_mode
        except OSError:  # gone since, or a broken link: neither is a node that a program could open
            continue
        if not stat.S_ISDIR(mode):
            accessible = host.access(path, os.R_OK | os.W_OK)
            nodes.append(DeviceNode(path=path, mode=f"{stat.S_IMODE(mode):04o}", accessible=accessible))
    return Known(tuple(nodes), "/dev")


def _library_files(host: Host) -> Fact[tuple[str, ...]]:
    """Return the driver's libraries in the usual folders; a folder that is another one by a link counts once."""
    seen: set[str] = set()
    files: list[str] = []
    for folder in LIBRARY_FOLDERS:
        try:
            real = os.path.realpath(host.resolve(folder))
            names = [] if real in seen else host.list_dir(folder)
        except OSError:  # not every system has each of these folders
            continue
        seen.add(real)
        files += [f"{folder}/{name}" for name in names if LIBRARY.match(name)]
    return Known(tuple(files), "the usual library folders")
