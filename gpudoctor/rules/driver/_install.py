"""How to install or update the driver, by distribution."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Applicability, Remedy

DRIVER_PAGE = "https://www.nvidia.com/drivers"

_COMMANDS: dict[str, tuple[str, ...]] = {
    "ubuntu": ("sudo apt-get update", "sudo ubuntu-drivers install", "sudo reboot"),
    "debian": ("sudo apt-get update", "sudo apt-get install nvidia-driver firmware-misc-nonfree", "sudo reboot"),
    "fedora": ("sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda", "sudo reboot"),
    "arch": ("sudo pacman -Syu nvidia nvidia-utils", "sudo reboot"),
    "opensuse-leap": ("sudo zypper install-new-recommends --repo NVIDIA", "sudo reboot"),
}
_ALIKE = {"linuxmint": "ubuntu", "pop": "ubuntu", "neon": "ubuntu", "zorin": "ubuntu", "elementary": "ubuntu"}
_BEFORE = {
    "debian": " (enable the components contrib and non-free first)",
    "fedora": " (enable RPM Fusion's nonfree repository first)",
    "opensuse-leap": " (add NVIDIA's repository first)",
}


def os_of(facts: Facts) -> compat.Os:
    """Return the system whose driver numbers count: under WSL2 those of Windows."""
    if isinstance(facts.host.wsl, Known):
        return compat.Os.WSL2
    return compat.Os.WINDOWS if facts.host.os.get() == "windows" else compat.Os.LINUX


def install_driver(facts: Facts, *, at_least: str | None = None) -> tuple[Remedy, ...]:
    """Return the remedy that installs or updates the driver; at_least: the lowest version that will do."""
    what = "Install the NVIDIA driver" if at_least is None else f"Update the NVIDIA driver to {at_least} or newer"
    if isinstance(facts.host.container, Known):
        summary = f"{what} on the host of this container; the container itself holds no driver."
        return (Remedy(summary=summary, applicability=Applicability.MANUAL),)
    if isinstance(facts.host.wsl, Known):
        summary = f"{what} on Windows (from {DRIVER_PAGE}), not inside WSL; then run `wsl --shutdown`."
        return (Remedy(summary=summary, commands=("wsl.exe --shutdown",), applicability=Applicability.MANUAL),)
    name = facts.host.distribution_id.get() or ""
    name = _ALIKE.get(name, name)
    commands = _COMMANDS.get(name, ())
    if not commands:
        summary = f"{what}, from your distribution's packages or from {DRIVER_PAGE}, and reboot."
        return (Remedy(summary=summary, applicability=Applicability.MANUAL),)
    summary = f"{what} from your distribution's packages{_BEFORE.get(name, '')}, and reboot."
    return (Remedy(summary=summary, commands=commands, applicability=Applicability.UNSAFE),)
