"""A plan as JSON: schema 1, the same bytes for the same question.

Schema history: 1, the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from gpudoctor.plan.model import Answer, Evidence, Machine, PlannedGpu, Stack
from gpudoctor.plan.ways import main_commands, ways
from gpudoctor.report.json import ToolOut

Route = Literal["native", "wsl2", "container", "cpu"]


class MachineOut(Struct, frozen=True, kw_only=True):
    """What was planned for; null or empty is not known, and rules nothing out."""

    os: Literal["linux", "windows", "wsl2", "macos"]
    architecture: str
    gpus: tuple[PlannedGpu, ...]
    driver: str | None
    python: tuple[str, ...]
    glibc: str | None
    gpu_memory_bytes: int | None


class EvidenceOut(Struct, frozen=True, kw_only=True):
    """One edge between two versions, and the row that it rests on."""

    claim: str
    table: str
    source: str
    confidence: Literal["high", "medium", "low"]


class WayOut(Struct, frozen=True, kw_only=True):
    """Commands of one installer; none where it is not known how."""

    commands: tuple[str, ...]
    remark: str


class StackOut(Struct, frozen=True, kw_only=True):
    """Versions that work together."""

    tensorflow: str
    package: str
    keras: int | None
    python: tuple[str, ...]
    """All that there are wheels for."""
    cuda: str
    """Empty for the CPU."""
    cudnn: str
    driver_min: str
    gpu_code: Literal["native", "native-partial", "ptx", "none"] | None
    """Null where the GPU is not known."""
    route: Route
    provided_by: Literal["and-cuda", "pip", "conda", "system", "none"]
    """and-cuda and pip: NVIDIA's wheels, by the extra or named one by one; none: for the CPU."""
    requirements: tuple[str, ...]
    commands: tuple[str, ...]
    """Of the first way."""
    ways: dict[str, WayOut]
    """By installer: pip, uv, conda, docker."""
    limits: tuple[str, ...]
    evidence: tuple[EvidenceOut, ...]


class ExcludedOut(Struct, frozen=True, kw_only=True):
    """A release that is out, by the rule that would report it, or low-confidence where no table settles it."""

    tensorflow: str
    because: str
    detail: str


class ChangeOut(Struct, frozen=True, kw_only=True):
    """A change that allows a better stack, or any."""

    kind: Literal["python", "container", "driver", "wsl2", "driver-and-python", "tensorflow", "nvidia-build", "cpu"]
    summary: str
    commands: tuple[str, ...]
    by_distribution: dict[str, tuple[str, ...]]
    """The commands where the Linux distribution is not known."""
    stack: StackOut | None


class PlanOut(Struct, frozen=True, kw_only=True):
    """The whole plan; stacks best first, excluded newest first, changes nearest first."""

    schema: Literal[1] = 1
    tool: ToolOut
    tables: dict[str, str]
    """Date of each table."""
    machine: MachineOut
    wanted: str
    """The constraint on TensorFlow; empty: none."""
    stacks: tuple[StackOut, ...]
    excluded: tuple[ExcludedOut, ...]
    changes: tuple[ChangeOut, ...]
    notes: tuple[str, ...]
    open: tuple[str, ...]
    """What is not known of the machine."""


def route_of(stack: Stack) -> Route:
    """How TensorFlow gets at the GPU."""
    if stack.container:
        return "container"
    if stack.provided_by.value == "none":
        return "cpu"
    return "wsl2" if stack.route.value == "wsl2" else "native"


def render(answer: Answer, version: str, tables: dict[str, str]) -> str:
    """Return the plan as JSON. version: of gpudoctor; tables: their dates."""
    builtins = {
        "tool": {"version": version},
        "tables": tables,
        "machine": _machine(answer.machine, answer.gpus),
        "wanted": answer.wanted,
        "stacks": [_stack(item) for item in answer.stacks],
        "excluded": msgspec.to_builtins(answer.excluded),
        "changes": [
            {
                "kind": item.kind.value,
                "summary": item.summary,
                "commands": item.commands,
                "by_distribution": item.by_distribution,
                "stack": None if item.stack is None else _stack(item.stack),
            }
            for item in answer.changes
        ],
        "notes": answer.notes,
        "open": answer.open,
    }
    raw = msgspec.json.encode(msgspec.convert(builtins, PlanOut))
    return msgspec.json.format(raw, indent=1).decode() + "\n"


def _machine(machine: Machine, gpus: tuple[PlannedGpu, ...]) -> dict[str, object]:
    return {
        "os": machine.os.value,
        "architecture": machine.machine,
        "gpus": msgspec.to_builtins(gpus),
        "driver": machine.driver,
        "python": machine.pythons or (),
        "glibc": machine.glibc,
        "gpu_memory_bytes": machine.memory_bytes,
    }


def _evidence(item: Evidence) -> dict[str, object]:
    return {
        "claim": item.claim,
        "table": item.table,
        "source": item.source,
        "confidence": item.confidence.value,
    }


def _stack(stack: Stack) -> dict[str, object]:
    return {
        "tensorflow": stack.tensorflow,
        "package": stack.package,
        "keras": stack.keras,
        "python": stack.pythons,
        "cuda": stack.cuda,
        "cudnn": stack.cudnn,
        "driver_min": stack.driver_min,
        "gpu_code": None if stack.gpu_code is None else stack.gpu_code.value,
        "route": route_of(stack),
        "provided_by": stack.provided_by.value,
        "requirements": stack.requirements,
        "commands": main_commands(stack),
        "ways": {way.kind.value: {"commands": way.commands, "remark": way.remark} for way in ways(stack)},
        "limits": stack.limits,
        "evidence": [_evidence(item) for item in stack.evidence],
    }


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of the plan."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(PlanOut)}
