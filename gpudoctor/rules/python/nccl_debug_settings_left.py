"""nccl-debug-settings-left."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, rule

SWITCHES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
INTERFACE, CLUSTER = "NCCL_SOCKET_IFNAME", "TF_CONFIG"
# Interfaces over which no other host is reached.
LOCAL = ("lo", "docker0", "=lo", "=docker0")


@rule(
    Severity.NOTE,
    message="{settings} is set: NCCL leaves out a way between the GPUs or hosts that may be the fastest",
)
def nccl_debug_settings_left(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Variables are set that switch off ways of NCCL, as one does to look for a fault.

    Why it matters: NCCL joins the GPUs by the fastest way that is left to it; with these settings that is a slow one,
    or none. They are meant for finding faults, and are easily left behind in a profile or an image.
    How to fix: unset them and see whether it still works; keep one only where nothing works without it.
    """
    if sum(1 for gpu in facts.gpus if not is_hidden(gpu)) < 2:  # noqa: PLR2004 (NCCL joins several)
        return
    environment = facts.python.environment.require()
    # Where no GPU can read another's memory, to switch that off changes nothing.
    direct = (
        any(pair.reads is not False for pair in facts.driver.topology.get() or ()) or not facts.driver.topology.get()
    )
    found = [name for name in SWITCHES if environment.get(name) == "1" and (direct or name != SWITCHES[0])]
    if environment.get(INTERFACE) in LOCAL and environment.get(CLUSTER):
        found.append(INTERFACE)
    if not found:
        return
    unset = Remedy(
        summary="Unset them for this shell, and look into /etc/nccl.conf and ~/.nccl.conf.",
        commands=(f"unset {' '.join(found)}",),
        applicability=Applicability.SAFE,
    )
    yield self.finding(
        tuple(f"python.environment[{name}]" for name in found),
        remedies=(unset,),
        settings=", ".join(f"{name}={environment[name]}" for name in found),
    )
