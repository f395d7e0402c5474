"""The processes of each GPU for a terminal: who, how much, since when, and what can be done."""

from __future__ import annotations

from gpudoctor.facts.model import Gpu, GpuProcess, Known, Unknown
from gpudoctor.findings import Report, Severity
from gpudoctor.processes import classes
from gpudoctor.processes.classify import class_of, unlisted_bytes, what_to_do
from gpudoctor.report.clean import clean
from gpudoctor.report.page import Page
from gpudoctor.report.process_lines import age, name_of, owner_of, size

WIDTH = 80
_SIZE_WIDTH = 11
_COMMAND_CHARACTERS = 200
_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}
NOTHING = "no GPU is known"
# Classes of programs that people start, without those whose advice says already whose they are.
_ENDED_BY_OWNERS = tuple(row for row in classes.ROWS if "kill {pid}" in row.commands)
NEED, LACK = "min_free_memory", "gpu-memory-not-free"
# Of smaller ones nobody needs to be told how to end them.
_ADVISED_BYTES = 64 << 20


def render(report: Report, numbers: tuple[int, ...], *, width: int = WIDTH, color: bool = False) -> str:
    """Return the text. numbers: of the GPUs in the report, as NVML counts them."""
    page = Page(width, color=color)
    gpus = report.facts.gpus
    if not gpus:
        page.paragraph(_why_none(report), indent=0)
    for place, (number, gpu) in enumerate(zip(numbers, gpus, strict=True)):
        if place:
            page.parts(("", ""))
        page.parts((clean(_head(number, gpu) + _fits(report, place)), "bold"))
        _processes(page, gpu)
    _advice(page, gpus)
    for finding in report.findings:
        if finding.severity >= Severity.WARNING:
            page.heading((f"{finding.rule} ({finding.severity.label}): ", _COLOURS[finding.severity]))
            page.paragraph(f"{finding.message[:1].upper()}{finding.message[1:]}.")
    return page.text().lstrip("\n")


def _why_none(report: Report) -> str:
    nvml = report.facts.driver.nvml
    answer = nvml.get()
    why = nvml.reason if isinstance(nvml, Unknown) else answer.detail if answer is not None else ""
    return f"{NOTHING}: {why}" if why else NOTHING


def _head(number: int, gpu: Gpu) -> str:
    total, used, free = gpu.memory_total_bytes.get(), gpu.memory_used_bytes.get(), gpu.memory_free_bytes.get()
    load = gpu.utilization_percent.get()
    parts = [
        f"{size(used)} of {size(total)} in use" if used is not None and total is not None else "memory not told",
        f"{size(free)} free" if free is not None else "",
        f"busy {load} % of the time" if load is not None else "load not told",
        "hidden from CUDA" if gpu.visible.get() is False else "",
    ]
    return f"GPU {number}: {gpu.name.get() or 'a GPU without a name'}: {', '.join(part for part in parts if part)}"


def _fits(report: Report, place: int) -> str:
    """Return whether the memory that was asked for is free."""
    asked = report.policy.asks.get(NEED) if report.policy is not None else None
    if asked is None:
        return ""
    if report.facts.gpus[place].memory_free_bytes.get() is None:
        return f"; whether {asked} fits is not known"
    lacks = any(item.rule == LACK and item.gpu == place for item in report.findings)
    hidden = report.facts.gpus[place].visible.get() is False
    return f"; {asked} {'does not fit' if lacks else 'was not asked of it' if hidden else 'fits'}"


def _processes(page: Page, gpu: Gpu) -> None:
    processes, rest = gpu.processes, unlisted_bytes(gpu)
    if not isinstance(processes, Known):
        why = processes.reason if isinstance(processes, Unknown) else "not read"
        page.paragraph(f"Which processes use it cannot be told: {why}.")
        return
    for process in sorted(processes.value, key=lambda item: (-(item.memory_bytes or 0), item.pid)):
        _process(page, process, gpu)
    if rest:
        text = "held by something that cannot be seen from here: no process is listed for it"
        page.hanging(((f"  {size(rest).rjust(_SIZE_WIDTH - 2)}  ", ""),), text)
    elif not processes.value:
        page.paragraph("No process uses it.")


def _process(page: Page, process: GpuProcess, gpu: Gpu) -> None:
    kind = class_of(process, gpu)
    title = "" if kind is classes.UNSEEN else kind.title
    memory = "not told" if process.memory_bytes is None else size(process.memory_bytes)
    facts = [
        f"pid {process.pid}" if process.pid else "no pid",
        owner_of(process),
        f"for {age(process.age_seconds)}" if process.age_seconds is not None else "",
        process.kind.value,
        f"busy {process.utilization_percent} %" if process.utilization_percent is not None else "",
    ]
    text = f"{name_of(process)}{f', {title}' if title else ''} ({', '.join(fact for fact in facts if fact)})"
    page.hanging(((f"  {memory.rjust(_SIZE_WIDTH - 2)}  ", ""),), text)
    indent = _SIZE_WIDTH + 2
    for line in _more(process):
        page.paragraph(line, indent=indent, style="dim")


def _more(process: GpuProcess) -> list[str]:
    command = process.command_line or ""
    cut = f"{command[:_COMMAND_CHARACTERS]} ..." if len(command) > _COMMAND_CHARACTERS else command
    parent = f"{process.parent_name or 'a process'} (pid {process.parent_pid})" if process.parent_pid else ""
    origin = [
        f"notebook {process.notebook}" if process.notebook else "",
        f"started by {parent}" if parent else "",
        f"in {process.container}" if process.container else "",
    ]
    return [line for line in (cut, ", ".join(part for part in origin if part)) if line]


def _advice(page: Page, gpus: tuple[Gpu, ...]) -> None:
    """Write what can be done, once for each class; the commands are for the user to decide on."""
    advised: dict[str, tuple[str, list[str]]] = {}
    for gpu in gpus:
        for process in gpu.processes.get() or ():
            if process.memory_bytes is not None and process.memory_bytes < _ADVISED_BYTES:
                continue
            kind = class_of(process, gpu)
            whose = " It is another user's: ask before." if process.own is False and kind in _ENDED_BY_OWNERS else ""
            text = f"{_subject(process, kind.title)}: {kind.advice}{whose}"
            _, commands = advised.setdefault(kind.id, (text, []))
            commands += [command for command in what_to_do(process, kind) if command not in commands]
        if isinstance(gpu.processes, Known) and unlisted_bytes(gpu) and classes.UNSEEN.id not in advised:
            unseen = classes.UNSEEN
            advised[unseen.id] = (f"Memory without a listed process: {unseen.advice}", list(unseen.commands))
    if advised:
        page.heading(("What you can do", "bold"), (" (yours to decide; gpudoctor ends nothing)", ""))
    for number, (text, commands) in enumerate(advised.values(), 1):
        page.hanging(((f"  {number}. ", ""),), text)
        for command in commands:
            page.command(command)


def _subject(process: GpuProcess, title: str) -> str:
    text = title or process.name or "A process"
    return text[:1].upper() + text[1:]
