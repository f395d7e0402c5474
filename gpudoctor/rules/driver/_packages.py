"""What the packages of the system that a text names tell of the driver."""

from __future__ import annotations

import re

from gpudoctor import compat
from gpudoctor.facts.model import Facts, SystemPackage
from gpudoctor.findings import Evidence

# The packages that hold libcuda and NVML, and those that hold the kernel module: of Ubuntu, Debian, NVIDIA's own
# repositories, RPM Fusion, openSUSE and Arch. Meta-packages may be transitional and of another version.
LIBRARY = (
    r"libnvidia-compute-\d{3}(?:-server)?|libnvidia-ml1|libcuda1|nvidia-driver-(?:cuda-)?libs|nvidia-compute-G0\d"
    r"|xorg-x11-drv-nvidia(?:-\d{3}xx)?-(?:cuda-)?libs|nvidia(?:-\d{3}xx)?-utils"
)
KERNEL = (
    r"nvidia-dkms-\d{3}(?:-server)?(?:-open)?|nvidia-kernel(?:-open)?-dkms|kmod-nvidia(?!-\d{1,2}xx).*|akmod-nvidia.*"
    r"|nvidia-(?:open-)?driver-G0\d.*-kmp.*|nvidia(?:-\d{3}xx)?(?:-open)?-dkms|nvidia(?:-open)?(?:-lts)?"
)
WHOLE = (
    r"nvidia-driver(?:-\d{3}(?:-server)?(?:-open)?)?|nvidia-headless(?:-no-dkms)?-\d{3}.*|cuda-drivers(?:-\d{3})?"
    r"|xorg-x11-drv-nvidia(?:-\d{3}xx)?(?:-cuda)?|nvidia-(?:legacy-\d{3}xx|tesla(?:-\d{3})?)-driver"
)
# Driver versions: 535.183.01, 390.157; packages of another kind bear other numbers.
VERSION = r"(?:\d+:)?(\d{3}\.\d{1,3}(?:\.\d{1,2})?)(?![\d.])"


def versions(facts: Facts, *kinds: str) -> dict[str, str]:
    """Return name and driver version of the installed packages of these kinds; empty where the text names none."""
    found = {}
    for package in facts.host.system_packages.get() or ():
        match = re.match(VERSION, package.version)
        if match and not package.removed and any(re.fullmatch(kind, package.name) for kind in kinds):
            found[package.name] = match[1]
    return found


def mixed(facts: Facts) -> tuple[str, str] | None:
    """Return a kernel module's and a library's package that are of different versions, where none of them fit.

    Modules that were built for other kernels stay installed beside the new one: one that fits is enough.
    """
    kernel, library = versions(facts, KERNEL), versions(facts, LIBRARY)
    if not kernel or not library or set(kernel.values()) & set(library.values()):
        return None
    module, other = next(iter(kernel)), next(iter(library))
    return f"{module} {kernel[module]}", f"{other} {library[other]}"


def newest(facts: Facts) -> str | None:
    """Return the driver version that the installed packages bring, the newest if several."""
    found = versions(facts, LIBRARY, KERNEL, WHOLE).values()
    return max(found, key=compat.version, default=None)


def only_removed(facts: Facts) -> SystemPackage | None:
    """Return a package of the driver of which only the configuration is left, where none of it is installed."""
    if newest(facts) is not None:
        return None
    packages = facts.host.system_packages.get() or ()
    kinds = (LIBRARY, KERNEL, WHOLE)
    return next((p for p in packages if p.removed and any(re.fullmatch(kind, p.name) for kind in kinds)), None)


def shown(facts: Facts, *names: str) -> tuple[Evidence, ...]:
    """Return packages as evidence: those of these names, else all of the driver."""
    source = getattr(facts.host.system_packages, "source", "the list")
    found = facts.host.system_packages.get() or ()
    kinds = (LIBRARY, KERNEL, WHOLE)
    wanted = [p for p in found if p.name in names or (not names and any(re.fullmatch(k, p.name) for k in kinds))]
    return tuple(
        Evidence(fact="host.system_packages", value=f"{p.name} {p.version}{' (removed)' if p.removed else ''}",
                 source=source)
        for p in wanted[:3]
    )  # fmt: skip
