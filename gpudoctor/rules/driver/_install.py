"""How to install or update the driver, by distribution."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import DRIVER_PAGE, driver_route


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
    route = driver_route(facts.host.distribution_id.get() or "")
    if route is None:
        summary = f"{what}, from your distribution's packages or from {DRIVER_PAGE}, and reboot."
        return (Remedy(summary=summary, applicability=Applicability.MANUAL),)
    before = f" ({route.before})" if route.before else ""
    summary = f"{what} from your distribution's packages{before}, and reboot."
    return (Remedy(summary=summary, commands=route.commands, applicability=Applicability.UNSAFE),)
