"""How a driver is installed or updated, by distribution."""

from __future__ import annotations

from msgspec import Struct

DRIVER_PAGE = "https://www.nvidia.com/drivers"


class DriverRoute(Struct, frozen=True):
    """Commands of one distribution; `before` is what has to be done before them."""

    commands: tuple[str, ...]
    before: str = ""


ROUTES: dict[str, DriverRoute] = {
    "ubuntu": DriverRoute(("sudo apt-get update", "sudo ubuntu-drivers install", "sudo reboot")),
    "debian": DriverRoute(
        ("sudo apt-get update", "sudo apt-get install nvidia-driver firmware-misc-nonfree", "sudo reboot"),
        "enable the components contrib and non-free first",
    ),
    "fedora": DriverRoute(
        ("sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda", "sudo reboot"),
        "enable RPM Fusion's nonfree repository first",
    ),
    "arch": DriverRoute(("sudo pacman -Syu nvidia nvidia-utils", "sudo reboot")),
    "opensuse-leap": DriverRoute(
        ("sudo zypper install-new-recommends --repo NVIDIA", "sudo reboot"), "add NVIDIA's repository first"
    ),
}
_ALIKE = {"linuxmint": "ubuntu", "pop": "ubuntu", "neon": "ubuntu", "zorin": "ubuntu", "elementary": "ubuntu"}


def driver_route(distribution: str) -> DriverRoute | None:
    """The commands of a distribution by its id in os-release ("ubuntu"); None where they are not known here."""
    return ROUTES.get(_ALIKE.get(distribution, distribution))


def driver_commands(distribution: str, branch: str | None) -> tuple[str, ...]:
    """The same, of one branch where the GPU needs an older one than the newest: only Ubuntu's tool takes a branch."""
    route = driver_route(distribution)
    if route is None:
        return ()
    if branch is None:
        return route.commands
    if route is not ROUTES["ubuntu"]:
        return ()
    return tuple(f"{text} nvidia:{branch}" if "ubuntu-drivers" in text else text for text in route.commands)


def commands_by_distribution(branch: str | None) -> dict[str, tuple[str, ...]]:
    """The commands of each distribution that has some."""
    return {name: commands for name in ROUTES if (commands := driver_commands(name, branch))}
