"""What a plan is made of."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from gpudoctor.compat import GpuCode, Os, Trust


class Installed(Struct, frozen=True, kw_only=True):
    """A TensorFlow that is newer than the tables, by its own metadata. Texts are those of build_info.py."""

    tensorflow: str
    package: str
    cuda: str
    cudnn: str
    capabilities: tuple[str, ...]
    keras: int | None
    and_cuda: bool
    """Its metadata have the extra and-cuda."""


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
    no_gpu: bool = False
    """The PCI bus was read and holds no NVIDIA GPU."""
    memory_bytes: int | None = None
    """Memory of the smallest of these GPUs."""
    installed: Installed | None = None


class Provider(str, Enum):
    """Where the CUDA libraries come from."""

    AND_CUDA = "and-cuda"  # the extra of the tensorflow package
    PIP = "pip"  # the same wheels named one by one
    CONDA = "conda"  # packages of conda-forge
    SYSTEM = "system"  # a CUDA toolkit and cuDNN that the user installs
    NONE = "none"  # a stack for the CPU needs none


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
    conda: tuple[str, ...] = ()
    """Packages of conda-forge that provide CUDA where pip cannot."""
    conda_pip: tuple[str, ...] = ()
    """Arguments for pip beside them."""
    conda_compiler: str = ""
    """Package of the channel nvidia with the ptxas that XLA takes."""
    container: bool = False
    """It runs in a container, since the system itself is too old for the wheel."""
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


class ChangeKind(str, Enum):
    """What may be changed so that more works."""

    PYTHON = "python"
    CONTAINER = "container"
    DRIVER = "driver"
    WSL2 = "wsl2"
    DRIVER_AND_PYTHON = "driver-and-python"
    TENSORFLOW = "tensorflow"
    NVIDIA_BUILD = "nvidia-build"
    CPU = "cpu"


class Change(Struct, frozen=True, kw_only=True):
    """One change of the machine or of the wish, and the best stack that it allows (None: one that no table knows)."""

    kind: ChangeKind
    summary: str
    stack: Stack | None = None
    commands: tuple[str, ...] = ()
    """What makes the change; to install the stack comes after it."""
    by_distribution: dict[str, tuple[str, ...]] = {}
    """The same where the distribution is not known."""


class PlannedGpu(Struct, frozen=True, kw_only=True):
    """A GPU that is planned for, and the driver branches that serve its family."""

    name: str
    compute_capability: str
    family: str | None
    first_branch: str | None
    """The first branch that serves it; None where the tables begin later."""
    last_branch: str | None
    """The last one; None while drivers serve it."""
    last_branch_ends: str | None
    """When that branch is no longer maintained: a year, a month, or "ended"."""
    certain: bool = True
    """Whether its compute capability is known with more than low confidence."""


class Answer(Struct, frozen=True, kw_only=True):
    """Every stack for a machine, best first, and all that is out, newest first."""

    machine: Machine
    gpus: tuple[PlannedGpu, ...]
    wanted: str
    """The constraint on TensorFlow; empty where there is none."""
    stacks: tuple[Stack, ...]
    excluded: tuple[Excluded, ...]
    changes: tuple[Change, ...]
    """What would allow a better stack, or any; nearest first."""
    notes: tuple[str, ...]
    open: tuple[str, ...]
    """What is not known of the machine, and so rules nothing out."""
