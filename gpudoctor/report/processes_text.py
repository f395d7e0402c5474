"""The processes of each GPU for a terminal: who, how much, since when, and what can be done."""

from __future__ import annotations

from gpudoctor.facts.model import NOT_READ, Facts, Gpu, GpuProcess, Known, Unknown
from gpudoctor.findings import Report, Severity
from gpudoctor.processes import classes
from gpudoctor.processes.classify import (
    class_of,
    free_gpu,
    kernel_of,
    place_of,
    roomiest_gpu,
    unlisted_bytes,
    unseen_class,
    what_to_do,
)
from gpudoctor.processes.model import ProcessClass
from gpudoctor.report.clean import clean
from gpudoctor.report.page import Page
from gpudoctor.report.parts import capital
from gpudoctor.report.process_lines import KERNEL, age, gpu_name, kinds_of, listed, name_of, owner_of, size, title_of

WIDTH = 80
_SIZE_WIDTH = 11
_COMMAND_CHARACTERS = 200
_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}
NOTHING = "no GPU is known"
CHECK = "`gpudoctor check` tells why"
UNDER_MIG = " Under MIG, the driver shows the processes of all instances to administrators only."
_IN_TITLE = ("yours", "another user's")
# Classes of programs that people start, without those whose advice says already whose they are.
_ENDED_BY_OWNERS = tuple(row for row in classes.ROWS if "kill {pid}" in row.commands)
LACK = "gpu-memory-not-free"
_PIDS = 4
# Of smaller ones nobody needs to be told how to end them.
_ADVISED_BYTES = 64 << 20


def render(
    report: Report, numbers: tuple[int, ...], *, width: int = WIDTH, color: bool = False, need: int | None = None,
    short: bool = False,
) -> str:  # fmt: skip
    """Return the text. numbers: of the GPUs in the report, as NVML counts them.

    need: bytes that have to be free; short: the processes alone, to be looked at again and again.
    """
    page = Page(width, color=color)
    facts = report.facts
    if not facts.gpus:
        page.paragraph(_why_none(report), indent=0)
    for place, (number, gpu) in enumerate(zip(numbers, facts.gpus, strict=True)):
        if place:
            page.parts(("", ""))
        page.parts((clean(_head(number, gpu) + fits(gpu, need)), "bold"))
        _processes(page, gpu, facts, short=short)
    if short:
        return page.text().lstrip("\n")
    for finding in report.findings:
        if finding.severity >= Severity.WARNING and finding.rule != LACK:  # which the first line of its GPU tells
            page.heading((f"{finding.rule} ({finding.severity.label}): ", _COLOURS[finding.severity]))
            page.paragraph(f"{capital(finding.message)}.")
    _advice(page, facts)
    return page.text().lstrip("\n")


def _why_none(report: Report) -> str:
    why = _of_driver(report.facts) or ("the driver shows none" if report.facts.driver.nvml.get() is not None else "")
    return f"{NOTHING}: {why}; {CHECK}" if why else NOTHING


def _of_driver(facts: Facts) -> str:
    """Return why NVML tells nothing; empty where it does, or nobody asked."""
    nvml = facts.driver.nvml
    answer = nvml.get()
    return nvml.reason if isinstance(nvml, Unknown) else answer.detail if answer is not None else ""


def _head(number: int, gpu: Gpu) -> str:
    total, used, free = gpu.memory_total_bytes.get(), gpu.memory_used_bytes.get(), gpu.memory_free_bytes.get()
    load = gpu.utilization_percent.get()
    parts = [
        f"{size(used)} of {size(total)} in use" if used is not None and total is not None else "memory not told",
        f"{size(free)} free" if free is not None else "",
        f"busy {load} % of the time" if load is not None else "load not told",
        "hidden from CUDA" if gpu.visible.get() is False else "",
    ]
    return f"GPU {number}: {gpu_name(gpu)}: {', '.join(part for part in parts if part)}"


def fits(gpu: Gpu, need: int | None) -> str:
    """Return whether the memory that was asked for is free, and which one program, ended, would make it so."""
    if need is None:
        return ""
    free = gpu.memory_free_bytes.get()
    if gpu.mig.get():
        return f"; whether {size(need)} fits depends on the MIG instance"
    if free is None:
        return f"; whether {size(need)} fits is not known"
    if gpu.visible.get() is False:
        return f"; {size(need)} was not asked of it"
    if free >= need:
        return f"; {size(need)} fits"
    lack = need - free
    enough = [item for item in gpu.processes.get() or () if item.own and (item.memory_bytes or 0) >= lack
              and "kill {pid}" in class_of(item, gpu).commands]  # fmt: skip
    least = min(enough, key=lambda item: item.memory_bytes or 0, default=None)
    hint = ""
    if least is not None:
        title = title_of(least, gpu)
        hint = f", which {name_of(least)} ({f'{title}, ' if title else ''}pid {least.pid}) would free"
    return f"; {size(need)} does not fit: {size(lack)} more is needed{hint}"


def _processes(page: Page, gpu: Gpu, facts: Facts, *, short: bool) -> None:
    processes, rest = gpu.processes, unlisted_bytes(gpu)
    instances = gpu.mig_instances.get() or ()
    if instances and not short:
        page.paragraph(f"Its MIG instances, of which CUDA_VISIBLE_DEVICES chooses one: {', '.join(instances)}")
    if not isinstance(processes, Known):
        why = processes.reason if isinstance(processes, Unknown) else NOT_READ
        driver = _of_driver(facts) if why == NOT_READ else ""  # a GPU that only the PCI bus tells of
        why = f"{driver}; {CHECK}" if driver else why
        page.paragraph(f"Which processes use it cannot be told: {why}.{UNDER_MIG if gpu.mig.get() else ''}")
        return
    for same in listed(processes.value):
        _process(page, same, gpu)
        for line in () if short else _more(same[0], gpu):
            page.paragraph(line, indent=_SIZE_WIDTH + 2, style="dim")
    if rest:
        text = "held by something that cannot be seen from here: no process is listed for it"
        page.hanging(((f"  {size(rest).rjust(_SIZE_WIDTH - 2)}  ", ""),), text)
    elif not processes.value:
        page.paragraph("No process uses it.")


def _process(page: Page, same: list[GpuProcess], gpu: Gpu) -> None:
    process = same[0]
    title, owner = title_of(process, gpu), owner_of(process)
    memory = "not told" if process.memory_bytes is None else size(process.memory_bytes)
    facts = [
        f"pid {process.pid}" if process.pid else "no pid",
        "" if title.endswith((" of yours", " of another user")) and owner in _IN_TITLE else owner,
        f"for {age(process.age_seconds)}" if process.age_seconds is not None else "",
        kinds_of(same),
        f"busy {process.utilization_percent} %" if process.utilization_percent is not None else "",
        f"on {process.mig_instance}" if process.mig_instance else "",
    ]
    text = f"{name_of(process)}{f', {title}' if title else ''} ({', '.join(fact for fact in facts if fact)})"
    page.hanging(((f"  {memory.rjust(_SIZE_WIDTH - 2)}  ", ""),), text)


def _more(process: GpuProcess, gpu: Gpu) -> list[str]:
    command = process.command_line or ""
    cut = f"{command[:_COMMAND_CHARACTERS]} ..." if len(command) > _COMMAND_CHARACTERS else command
    parent = f"{process.parent_name or 'a process'} (pid {process.parent_pid})" if process.parent_pid else ""
    kernel = kernel_of(process) if class_of(process, gpu).id == KERNEL else None
    place = place_of(process)
    origin = [
        f"notebook {process.notebook}" if process.notebook else f"kernel {kernel}" if kernel else "",
        f"started by {parent}" if parent else "",
        f"in {place}" if place else "",
        f"on {process.mig_instance}" if process.mig_instance else "",
    ]
    return [line for line in (cut, ", ".join(part for part in origin if part)) if line]


class _Advised:
    """What can be done about all processes of one class."""

    def __init__(self) -> None:
        self.processes: list[GpuProcess] = []
        self.commands: list[str] = []


def _advice(page: Page, facts: Facts) -> None:
    """Write what can be done, once for each class, largest first; the commands are for the user to decide on."""
    advised: dict[ProcessClass, _Advised] = {}
    unseen = unseen_class(facts.host)
    for gpu in facts.gpus:
        for process, *_ in listed(gpu.processes.get() or ()):
            if process.memory_bytes is not None and process.memory_bytes < _ADVISED_BYTES:
                continue
            kind = class_of(process, gpu)
            entry = advised.setdefault(unseen if kind is classes.UNSEEN else kind, _Advised())
            entry.processes.append(process)
            commands = (_with_gpu(command, facts, gpu) for command in what_to_do(process, kind))
            entry.commands += [command for command in commands if command and command not in entry.commands]
        if isinstance(gpu.processes, Known) and unlisted_bytes(gpu):
            advised.setdefault(unseen, _Advised()).commands = list(unseen.commands)
    if advised:
        page.heading(("What you can do", "bold"), (" (yours to decide; gpudoctor ends nothing)", ""))
    for number, (kind, entry) in enumerate(advised.items(), 1):
        page.hanging(((f"  {number}. ", ""),), f"{_subject(kind, entry.processes)}: {kind.advice}{_whose(kind, entry)}")
        for command in entry.commands:
            page.command(command)


def _with_gpu(command: str, facts: Facts, taken: Gpu) -> str:
    """Return a command with a GPU that is free in place of the words for it; nothing where there is only one GPU."""
    if classes.FREE_GPU not in command:
        return command
    free = free_gpu(facts, taken) or roomiest_gpu(facts, taken)
    if free is not None and free.uuid.get():
        return command.replace(classes.FREE_GPU, free.uuid.get() or "")
    return command if len(facts.gpus) > 1 else ""


def _whose(kind: ProcessClass, entry: _Advised) -> str:
    others = [item for item in entry.processes if item.own is False]
    if not others or kind not in _ENDED_BY_OWNERS:
        return ""
    return " It is another user's: ask first." if len(entry.processes) == 1 else " Some are another user's: ask first."


def _subject(kind: ProcessClass, processes: list[GpuProcess]) -> str:
    pids = list(dict.fromkeys(str(item.pid) for item in processes if item.pid))
    more = f" and {len(pids) - _PIDS} more" if len(pids) > _PIDS else ""
    shown = f" (pid {', '.join(pids[:_PIDS])}{more})" if pids else ""
    if kind.title:
        title = kind.title if pids or kind.id != classes.UNSEEN.id else "memory without a listed process"
        return f"{title[:1].upper()}{title[1:]}{shown}"
    names = list(dict.fromkeys(item.name or "a process" for item in processes))
    return f"{', '.join(names[:_PIDS])}{shown}"
