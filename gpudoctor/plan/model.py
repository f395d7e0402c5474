"""What a plan is made of."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from gpudoctor.compat import GpuCode, Os, Trust


class Machine(Struct, frozen=True, kw_only=True):
    """What a plan is made for. What is not known stays None (or empty) and rules nothing out.

    `compute_capabilities` are those of the GPUs to be used ("5.0"), `pythons` the versions at hand ("3.11"),
    `glibc` the C library of Linux ("2.31").
    """

    os: Os
    machine: str = "x86_64"
    compute_capabilities: tuple[str, ...] = ()
    driver: str | None = None
    pythons: tuple[str, ...] | None = None
    glibc: str | None = None


class Provider(str, Enum):
    """Where the CUDA libraries come from."""

    AND_CUDA = "and-cuda"  # the extra of the tensorflow package
    PIP = "pip"  # the same wheels named one by one
    SYSTEM = "system"  # a CUDA toolkit and cuDNN that the user installs


class Evidence(Struct, frozen=True):
    """One row of a table on which a plan rests."""

    claim: str
    table: str
    source: str
    confidence: Trust


class Stack(Struct, frozen=True, kw_only=True):
    """Versions that work together on a machine.

    `pythons` are all that the wheel is published for, oldest first; `pythons_at_hand` those of the machine among them.
    `requirements` are arguments for pip; `manual` says what no command here provides.
    """

    tensorflow: str
    package: str
    keras: int | None
    pythons: tuple[str, ...]
    pythons_at_hand: tuple[str, ...]
    cuda: str
    cudnn: str
    driver_min: str
    gpu_code: GpuCode | None
    route: Os
    provided_by: Provider
    requirements: tuple[str, ...]
    manual: tuple[str, ...] = ()
    unsearched: tuple[str, ...] = ()
    """Folders of NVIDIA's wheels that this release does not look into: LD_LIBRARY_PATH has to name them."""
    limits: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Excluded(Struct, frozen=True):
    """Why a release is not the answer: the id of the rule that would report it, or "low-confidence"."""

    tensorflow: str
    because: str
    detail: str


class Plan(Struct, frozen=True, kw_only=True):
    """The answer for a machine. `stack` is None when nothing works; then `excluded` says why, newest release first.

    `excluded` otherwise ends at the release chosen: its last entry is what rules out the next newer one.
    `with_other_python` and `with_other_driver` are better stacks that need another Python or a newer driver.
    """

    stack: Stack | None
    excluded: tuple[Excluded, ...]
    with_other_python: Stack | None = None
    with_other_driver: Stack | None = None
