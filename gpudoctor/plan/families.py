"""Which driver branches serve a GPU: each family has a first one, and some have a last one."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.compat import NotCovered, Os, Trust, version
from gpudoctor.plan.model import PlannedGpu


def planned_gpu(name: str, compute_capability: str, *, certain: bool = True) -> PlannedGpu:
    """A GPU with the branches that serve its family; a capability that no table has leaves them open."""
    try:
        family = compat.family_of(compute_capability)
        first = compat.first_branch_for_architecture(family)
        last = compat.last_branch_for_architecture(family)
    except NotCovered:
        family, first, last = None, None, None
    return PlannedGpu(
        name=name,
        compute_capability=compute_capability,
        family=family,
        first_branch=None if first is None else first.branch,
        last_branch=None if last is None else last.branch,
        certain=certain,
        last_branch_ends=None if last is None or not last.end_of_life else last.end_of_life,
    )


def _branch(driver: str, os: Os) -> int | None:
    """The branch of a driver on Linux. Windows numbers are matched to branches with low confidence only."""
    if os is not Os.LINUX:
        return None
    major = version(driver).major
    known = [int(row.branch) for row in compat.driver_branches() if row.confidence is not Trust.LOW]
    # A number beyond the tables is no branch that they know, and still younger than all of them.
    return major if major in known or major > max(known) else None


def branch_objection(driver: str, os: Os, compute_capability: str) -> str | None:
    """Why a driver does not serve a GPU at all; None where it does, or where that is not known."""
    gpu, branch = planned_gpu("", compute_capability), _branch(driver, os)
    if branch is None or gpu.family is None:
        return None
    if gpu.last_branch is not None and branch > int(gpu.last_branch):
        return f"driver {driver} does not serve {gpu.family} GPUs: branch {gpu.last_branch} is the last that does"
    if gpu.first_branch is not None and branch < int(gpu.first_branch):
        return f"driver {driver} does not serve {gpu.family} GPUs: branch {gpu.first_branch} is the first that does"
    return None


def first_branch(capabilities: tuple[str, ...]) -> str | None:
    """The driver branch from which on all of these GPUs are served; None where the tables begin later."""
    found = [branch for cc in capabilities if (branch := planned_gpu("", cc).first_branch) is not None]
    return max(found, key=int, default=None)


def no_common_branch(capabilities: tuple[str, ...]) -> str | None:
    """Why no driver at all serves these GPUs together; None where one does."""
    gpus = [planned_gpu("", cc) for cc in capabilities]
    oldest = min((gpu for gpu in gpus if gpu.last_branch), key=lambda gpu: int(gpu.last_branch or 0), default=None)
    youngest = max((gpu for gpu in gpus if gpu.first_branch), key=lambda gpu: int(gpu.first_branch or 0), default=None)
    if oldest is None or youngest is None or int(youngest.first_branch or 0) <= int(oldest.last_branch or 0):
        return None
    ends, begins = f"{oldest.family} GPUs end with branch {oldest.last_branch}", f"{youngest.family} GPUs begin"
    return f"no driver serves both: {ends}, {begins} with {youngest.first_branch}"
