"""The processes of each GPU as JSON, schema 1. Schema history: 1, the first."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from gpudoctor.facts.model import Facts, Gpu, GpuProcess, Known, Unknown
from gpudoctor.findings import Report
from gpudoctor.processes import classes
from gpudoctor.processes.classify import class_of, kernel_of, share_of, unlisted_bytes, unseen_class, what_to_do
from gpudoctor.report.json import ToolOut
from gpudoctor.report.process_lines import KERNEL


class ProcessOut(Struct, frozen=True, kw_only=True):
    """One process on one GPU; null is what is not known."""

    pid: int
    """0 where the driver tells none."""
    kind: Literal["compute", "graphics", "mps"]
    sight: Literal["seen", "defunct", "gone", "unseen"] | None
    memory_bytes: int | None
    memory_share: float | None
    """Part of the GPU's memory, 0 to 1."""
    utilization_percent: int | None
    process_class: str
    title: str
    name: str | None
    command_line: str | None
    user: str | None
    own: bool | None
    age_seconds: int | None
    parent_pid: int | None
    parent_name: str | None
    container: str | None
    control_group: str | None
    notebook: str | None
    kernel: str | None
    """Number of a notebook's kernel, as its connection file and the server's list of sessions have it."""
    framework: str | None
    mig_instance: str | None
    """UUID of the MIG instance that it runs on, as CUDA_VISIBLE_DEVICES takes it."""
    advice: str
    commands: tuple[str, ...]
    """For a person to decide on."""


class GpuOut(Struct, frozen=True, kw_only=True):
    """One GPU."""

    number: int
    """As NVML counts."""
    name: str | None
    uuid: str | None
    pci_address: str | None
    visible: bool | None
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    memory_free_bytes: int | None
    utilization_percent: int | None
    processes: tuple[ProcessOut, ...] | None
    """null where they could not be read."""
    reason: str
    """Why they could not be read."""
    unlisted_bytes: int | None
    """In use by nothing that is listed; null where that cannot be told."""


class FoundOut(Struct, frozen=True, kw_only=True):
    """One finding."""

    rule: str
    severity: Literal["error", "warning", "note"]
    gpu: str | None
    message: str


class ProcessesOut(Struct, frozen=True, kw_only=True):
    """All processes on all GPUs that were looked at."""

    schema: Literal[1] = 1
    tool: ToolOut
    gpus: tuple[GpuOut, ...]
    findings: tuple[FoundOut, ...]


def render(report: Report, numbers: tuple[int, ...], *, lines: bool = False) -> str:
    """Return the JSON. numbers: of the GPUs in the report, as NVML counts them; lines: in one line, for a stream."""
    out = ProcessesOut(
        tool=ToolOut(version=report.version),
        gpus=tuple(_gpu(number, gpu, report.facts) for number, gpu in zip(numbers, report.facts.gpus, strict=True)),
        findings=tuple(
            FoundOut(rule=item.rule, severity=item.severity.label, gpu=item.gpu_id, message=item.message)  # type: ignore[arg-type]  # the label is one of these
            for item in report.findings
        ),
    )
    raw = msgspec.json.encode(out)
    return (raw if lines else msgspec.json.format(raw, indent=1)).decode() + "\n"


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of the list."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(ProcessesOut)}


def _gpu(number: int, gpu: Gpu, facts: Facts) -> GpuOut:
    processes = gpu.processes
    known = isinstance(processes, Known)
    return GpuOut(
        number=number,
        name=gpu.name.get(),
        uuid=gpu.uuid.get(),
        pci_address=gpu.pci_address.get(),
        visible=gpu.visible.get(),
        memory_total_bytes=gpu.memory_total_bytes.get(),
        memory_used_bytes=gpu.memory_used_bytes.get(),
        memory_free_bytes=gpu.memory_free_bytes.get(),
        utilization_percent=gpu.utilization_percent.get(),
        processes=tuple(_process(item, gpu, facts) for item in processes.value)
        if isinstance(processes, Known)
        else None,
        reason=processes.reason if isinstance(processes, Unknown) else "",
        unlisted_bytes=unlisted_bytes(gpu) if known else None,
    )


def _process(process: GpuProcess, gpu: Gpu, facts: Facts) -> ProcessOut:
    kind = class_of(process, gpu)
    kind = unseen_class(facts.host) if kind is classes.UNSEEN else kind
    told = process.memory_bytes is not None and bool(gpu.memory_total_bytes.get())
    same = {
        name: getattr(process, name)
        for name in ("pid", "memory_bytes", "utilization_percent", "name", "command_line", "user", "own", "age_seconds",
                     "parent_pid", "parent_name", "container", "control_group", "notebook", "framework",
                     "mig_instance")
    }  # fmt: skip
    return ProcessOut(
        **same,
        kind=process.kind.value,
        sight=process.sight.value if process.sight is not None else None,
        memory_share=round(share_of(process, gpu), 4) if told else None,
        kernel=kernel_of(process) if kind.id == KERNEL else None,
        process_class=kind.id,
        title=kind.title,
        advice=kind.advice,
        commands=what_to_do(process, kind),
    )
