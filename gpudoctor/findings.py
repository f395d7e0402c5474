"""What rules find, what the engine makes of it, and what renderers print."""

from __future__ import annotations

import enum

from msgspec import Struct

from gpudoctor.facts.model import Facts


class Severity(enum.IntEnum):
    """How bad a finding is; ordered."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """Name in reports and options."""
        return self.name.lower()


class Confidence(enum.IntEnum):
    """How sure a finding is; ordered."""

    POSSIBLE = 0
    LIKELY = 1
    CERTAIN = 2

    @property
    def label(self) -> str:
        """Name in reports."""
        return self.name.lower()


class Capability(enum.IntEnum):
    """What a machine needs, in order, to train on its GPU. What is broken lower down explains what fails above."""

    HARDWARE = 0
    KERNEL_DRIVER = 1
    USER_DRIVER = 2
    VISIBLE = 3
    CUDA_LIBS = 4
    CUDNN = 5
    PYTHON = 6
    TENSORFLOW = 7
    DEVICE_INIT = 8
    KERNELS = 9
    MEMORY = 10
    SPEED = 11

    @property
    def label(self) -> str:
        """Name in documentation: kernel-driver."""
        return self.name.lower().replace("_", "-")

    @property
    def concerns_gpu_only(self) -> bool:
        """Whether a training on the CPU can do without it."""
        return self not in (Capability.PYTHON, Capability.TENSORFLOW, Capability.SPEED)


class Applicability(enum.Enum):
    """Whether a command may simply be pasted."""

    SAFE = "safe"
    """It cannot make things worse."""
    UNSAFE = "unsafe"
    """It changes an environment or a system in a way that may matter elsewhere."""
    MANUAL = "manual"
    """A person has to decide or to fill in something."""


class Remedy(Struct, frozen=True, kw_only=True):
    """A way to mend one or more findings."""

    summary: str
    commands: tuple[str, ...] = ()
    applicability: Applicability = Applicability.MANUAL
    fixes: tuple[str, ...] = ()
    """Rule ids; the engine fills them in."""


class Evidence(Struct, frozen=True, kw_only=True):
    """One fact that a finding rests on."""

    fact: str
    """Path in the fact tree: driver.version, gpus[0].name."""
    value: str
    source: str


class Role(enum.Enum):
    """Whether a finding stands on its own."""

    ROOT_CAUSE = "root-cause"
    CONSEQUENCE = "consequence"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, or worth a note."""

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    """Stands alone: what was found, with values."""
    values: dict[str, str | int | float]
    """The named values of the message template."""
    evidence: tuple[Evidence, ...]
    area: str = ""
    """Folder of the rule: driver."""
    gpu: int | None = None
    """Index in Facts.gpus; None for the machine as a whole."""
    gpu_id: str | None = None
    """UUID, else PCI address of that GPU."""
    role: Role = Role.ROOT_CAUSE
    explained_by: str | None = None
    remedies: tuple[Remedy, ...] = ()


class Outcome(enum.Enum):
    """How a rule ended."""

    PASS = "pass"  # noqa: S105 (an outcome, not a password)
    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


class CheckResult(Struct, frozen=True, kw_only=True):
    """Outcome of one rule; reason says why it was skipped, ended in error or passed in spite of a note."""

    rule: str
    outcome: Outcome
    reason: str = ""
    applicable: bool = True
    """False where it was skipped since what it looks at does not exist here: nothing is unread then."""


class Expect(enum.Enum):
    """What the user wants to train on."""

    GPU = "gpu"
    CPU = "cpu"
    ANY = "any"


class Verdict(enum.Enum):
    """The whole report in a word."""

    OK = "ok"
    WARNINGS = "warnings"
    ERRORS = "errors"
    UNKNOWN = "unknown"


class SourceKind(enum.Enum):
    """Where the facts come from."""

    LIVE = "live"
    FACTS = "facts"
    TEXT = "text"
    RUN = "run"


class Source(Struct, frozen=True, kw_only=True):
    """What was judged."""

    kind: SourceKind
    names: tuple[str, ...] = ()


class PolicyUse(Struct, frozen=True, kw_only=True):
    """The policy that a machine was held against."""

    source: str
    """File, as it is shown; empty where all came from the command line."""
    asks: dict[str, str]
    """What is asked, by key."""


class Report(Struct, frozen=True, kw_only=True):
    """Everything that a renderer needs."""

    source: Source
    expect: Expect
    verdict: Verdict
    answered: bool
    """Whether the facts answer what `expect` asks."""
    summary: str
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...]
    checks: tuple[CheckResult, ...]
    facts: Facts
    tables: dict[str, str]
    """Name and date of the tables that were used."""
    version: str
    policy: PolicyUse | None = None
