"""What the rules about a policy share."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Fact, FactUnavailable, Gpu
from gpudoctor.findings import Applicability, Capability, Remedy

GPU_NEEDS = (Capability.HARDWARE, Capability.KERNEL_DRIVER, Capability.USER_DRIVER, Capability.VISIBLE)


def another_machine(key: str) -> Remedy:
    """Return the remedy where a machine is what it is."""
    return Remedy(
        summary=f"Use a machine that has it, or change {key} in the policy.", applicability=Applicability.MANUAL
    )


def is_hidden(gpu: Gpu) -> bool:
    """Whether the environment keeps a GPU from CUDA programs: the policy is about those that a training meets."""
    return gpu.visible.get() is False


def name_of(gpu: Gpu) -> str:
    """Return the GPU's name as it stands in a sentence."""
    return gpu.name.get() or "the GPU"


def version_outside(version: Fact[str], wanted: str) -> str | None:
    """Return a version that is not in a specifier; None if it is; an empty text where there is no such thing.

    Raises FactUnavailable where the version could not be read or is none.
    """
    from packaging.specifiers import SpecifierSet

    if isinstance(version, Absent):
        return ""
    text = version.require()
    # A pre-release that is installed is what it is: 2.16.0rc0 is not 2.15.
    return None if SpecifierSet(wanted).contains(compat.version(text), prereleases=True) else text


def unread(fact: Fact[object], reason: str) -> None:
    """Raise FactUnavailable with a reason of ours where nobody has asked for a fact."""
    if fact.get() is None and getattr(fact, "reason", "") == "not read":
        raise FactUnavailable(reason)
