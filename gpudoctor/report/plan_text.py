"""A plan for a terminal: the best stack with its commands, what else works, what is out, and what would help."""

from __future__ import annotations

import io

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpudoctor.plan.answer import by_release, excluded_above, grouped
from gpudoctor.plan.driver import driver_route
from gpudoctor.plan.model import Answer, Change, PlannedGpu, Provider, Stack
from gpudoctor.plan.ways import Way, WayKind, ways
from gpudoctor.report.clean import clean
from gpudoctor.report.console import plain_console

WIDTH = 80
_LABEL = 14
_OTHERS = 12
_LONG, _GROUPS = 250, 4
_PROVIDERS = {
    Provider.AND_CUDA: "NVIDIA's pip wheels, by the extra and-cuda",
    Provider.PIP: "NVIDIA's pip wheels, named one by one",
    Provider.CONDA: "conda-forge, or a toolkit that you install",
    Provider.SYSTEM: "a CUDA toolkit that you install",
    Provider.NONE: "none",
}
_CODE = {
    "native": "native",
    "native-partial": "native for most kernels, the rest compiled at first use",
    "ptx": "compiled from PTX by the driver: slow first start",
    "none": "none",
}
_WAYS = {WayKind.PIP: "venv and pip", WayKind.UV: "uv", WayKind.CONDA: "conda or mamba", WayKind.DOCKER: "docker"}
_DISTRIBUTIONS = {"ubuntu": "Ubuntu", "debian": "Debian", "fedora": "Fedora", "arch": "Arch Linux",
                  "opensuse-leap": "openSUSE Leap"}  # fmt: skip
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "wsl2": "WSL2", "macos": "macOS"}


class _Page:
    """Writes to a rich console; nothing of what it is given is taken for markup."""

    def __init__(self, width: int, color: bool) -> None:
        self.out = io.StringIO()
        self.console = plain_console(self.out, width, color)

    def heading(self, text: str, rest: str = "", style: str = "bold") -> None:
        self.console.print()
        self.console.print(Text.assemble((clean(text), style), clean(rest) and f" {clean(rest)}"))

    def paragraph(self, text: str, indent: int = 2, style: str = "") -> None:
        self.console.print(Padding(Text(clean(text), style=style), (0, 0, 0, indent), expand=False))

    def field(self, label: str, text: str, indent: int = 2) -> None:
        """Print a label and beside it a text that is wrapped in a column of its own."""
        lines = Text(clean(text)).wrap(self.console, max(20, self.console.width - indent - _LABEL))
        for number, line in enumerate(lines):
            start = (" " * indent) + ("" if number else label).ljust(_LABEL)
            self.console.print(Text.assemble((start, "dim"), line), soft_wrap=True)

    def hanging(self, mark: str, text: str) -> None:
        """Print a text whose further lines begin below its first word."""
        lines = Text(clean(text)).wrap(self.console, max(20, self.console.width - len(mark)))
        for number, line in enumerate(lines):
            self.console.print(Text.assemble(" " * len(mark) if number else mark, line), soft_wrap=True)

    def command(self, text: str, indent: int = 7) -> None:
        # Never broken over lines: it has to survive being pasted.
        self.console.print(Text(" " * indent + clean(text), style="bold"), soft_wrap=True)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.out.getvalue().splitlines()) + "\n"


def render(answer: Answer, *, width: int = WIDTH, color: bool = False, verbose: bool = False) -> str:
    """Return the plan as text. width: in columns; color: with ANSI colours; verbose: evidence, and all that is out."""
    page = _Page(width, color)
    page.paragraph(_question(answer), indent=0)
    stacks = by_release(answer)
    if stacks:
        _best(page, stacks[0], answer, verbose)
        _others(page, stacks[1:])
    else:
        page.heading(_nothing(answer), style="bold red")
    _excluded(page, answer, verbose)
    _changes(page, answer)
    _remarks(page, answer)
    return page.text()


def _question(answer: Answer) -> str:
    machine = answer.machine
    unnamed = "a machine without an NVIDIA GPU" if machine.no_gpu else "an NVIDIA GPU that is not named"
    gpus = ", ".join(gpu_words(gpu) for gpu in answer.gpus) or unnamed
    parts = [f"TensorFlow {answer.wanted}".rstrip() + f" for {gpus}", _SYSTEMS[machine.os.value]]
    if machine.machine.lower() not in {"x86_64", "amd64"}:
        parts.append(machine.machine)
    if machine.driver:
        parts.append(f"driver {machine.driver}")
    if machine.pythons:
        parts.append(f"Python {', '.join(machine.pythons)}")
    return ", ".join(parts)


def _nothing(answer: Answer) -> str:
    if answer.machine.no_gpu:
        return "This machine has no NVIDIA GPU"
    if answer.machine.os.value == "macos":
        return "TensorFlow uses no NVIDIA GPU on macOS"
    if all(entry.because == "low-confidence" for entry in answer.excluded):
        return "What is asked about is not in the tables"
    which = f"TensorFlow {answer.wanted}" if answer.wanted else "TensorFlow release"
    return f"No {which} uses {'these GPUs' if len(answer.gpus) > 1 else 'this GPU'} as things are"


def gpu_words(gpu: PlannedGpu) -> str:
    """Return a GPU by its name and compute capability, as far as they are known."""
    family = f"{gpu.family}, " if gpu.family else ""
    inside = f"{family}compute capability {gpu.compute_capability}"
    return f"{gpu.name} ({inside})" if gpu.name else f"a GPU ({inside})"


def _range(texts: tuple[str, ...]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}" if texts else "?"


def _pythons(stack: Stack) -> str:
    published = f"{_range(stack.pythons)}"
    if stack.pythons_at_hand and stack.pythons_at_hand != stack.pythons:
        return f"{', '.join(stack.pythons_at_hand)} (there are wheels for {published})"
    return published


def _best(page: _Page, stack: Stack, answer: Answer, verbose: bool) -> None:
    keras = f"with Keras {stack.keras}" if stack.keras else ""
    page.heading(f"Best: TensorFlow {stack.tensorflow}", keras, "bold green")
    page.field("Python", _pythons(stack))
    page.field("CUDA, cuDNN", f"{stack.cuda}, {stack.cudnn or '?'} from {_PROVIDERS[stack.provided_by]}")
    have = f"; yours is {answer.machine.driver}" if answer.machine.driver else ""
    page.field("Driver", f"{stack.driver_min} or newer{have}")
    if stack.gpu_code is not None:
        page.field("GPU code", _CODE[stack.gpu_code.value])
    for limit in stack.limits:
        page.field("Limit", limit)
    _sureness(page, stack, verbose)
    _ways(page, ways(stack), verbose)


def _sureness(page: _Page, stack: Stack, verbose: bool) -> None:
    weak = [item for item in stack.evidence if item.confidence.value != "high"]
    if verbose:
        for item in stack.evidence:
            page.field("Evidence", f"{item.claim} [table {item.table}, {item.confidence.value}: {item.source}]")
    elif weak:
        for item in weak:
            page.field("Less certain", f"{item.claim} ({item.confidence.value} confidence, table {item.table})")
    else:
        page.field("Evidence", "tables, all with high confidence; -v shows them")


def _ways(page: _Page, found: tuple[Way, ...], verbose: bool) -> None:
    """All ways, or the first one where they would only repeat a long line."""
    first, *rest = found
    long = any(len(command) > _LONG for command in first.commands)
    shown = (first,) if long and not verbose else found
    page.heading("Install it", "(any one of these)" if len(shown) > 1 else "")
    for way in shown:
        _way(page, way)
    if len(shown) < len(found):
        page.paragraph(f"-v shows the same by {_and([_WAYS[way.kind] for way in rest])}.", style="dim")


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _way(page: _Page, way: Way) -> None:
    page.paragraph(f"by {_WAYS[way.kind]}")
    for command in way.commands:
        page.command(command)
    if way.remark:
        page.paragraph(way.remark, indent=7, style="dim")


def _others(page: _Page, stacks: tuple[Stack, ...]) -> None:
    if not stacks:
        return
    page.heading("Also works", "(the newest of each minor release; JSON has them all)")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("TensorFlow", "Keras", "Python", "CUDA", "cuDNN", "driver from", "GPU code", "libraries"):
        table.add_column(column, no_wrap=True)
    for stack in stacks[:_OTHERS]:
        table.add_row(
            stack.tensorflow,
            str(stack.keras or "?"),
            _range(stack.pythons).replace(" to ", "-"),
            stack.cuda,
            stack.cudnn,
            stack.driver_min,
            "?" if stack.gpu_code is None else stack.gpu_code.value.replace("native-partial", "partial"),
            stack.provided_by.value,
        )
    page.console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if len(stacks) > _OTHERS:
        left = stacks[_OTHERS:]
        page.paragraph(f"and {len(left)} more, down to {left[-1].tensorflow}", style="dim")


def _excluded(page: _Page, answer: Answer, verbose: bool) -> None:
    groups = grouped(answer.excluded if verbose else excluded_above(answer))
    if not groups:
        return
    page.heading("Why no newer one" if answer.stacks and not verbose else "Why not")
    above = {entry.tensorflow for entry in excluded_above(answer)} if answer.stacks else set()
    shown = groups if verbose else groups[:_GROUPS]
    for group in shown:
        which = group.newest if group.newest == group.oldest else f"{group.oldest} to {group.newest}"
        # Of those above a stack the oldest is the next newer one; where there is none, the newest is asked about.
        detail = group.detail if group.oldest in above else group.of_newest
        page.hanging("  ", f"{which}: {detail} [{group.because}]")
    if len(shown) < len(groups):
        page.paragraph(f"and older ones, for {len(groups) - len(shown)} more reasons (-v shows them)", style="dim")


def _changes(page: _Page, answer: Answer) -> None:
    if not answer.changes:
        return
    page.heading("What would allow a better one" if answer.stacks else "What would help", "(nearest first)")
    for number, change in enumerate(answer.changes, 1):
        _change(page, number, change, answer)


def _change(page: _Page, number: int, change: Change, answer: Answer) -> None:
    page.hanging(f"  {number}. ", change.summary)
    for name, commands in change.by_distribution.items():
        before = (route := driver_route(name)) and route.before
        page.paragraph(f"on {_DISTRIBUTIONS.get(name, name)}{f' ({before})' if before else ''}:", indent=5)
        page.command(" && ".join(commands))
    for command in change.commands:
        page.command(command)
    if change.by_distribution and change.stack is not None and not answer.stacks:
        page.paragraph("and then:", indent=5)
    # With a stack at hand, the commands of a better one are for whoever makes the change.
    if change.stack is not None and not answer.stacks:
        first = ways(change.stack)[0]
        for command in first.commands:
            page.command(command)
        if first.remark:
            page.paragraph(first.remark, indent=7, style="dim")


def _remarks(page: _Page, answer: Answer) -> None:
    served = list(dict.fromkeys(text for gpu in answer.gpus if (text := _served(gpu))))
    if served or answer.notes:
        page.heading("Remarks")
    for text in (*served, *answer.notes):
        page.hanging("  ", text)
    if answer.open:
        page.heading("Not known")
        for text in answer.open:
            page.paragraph(text[:1].upper() + text[1:] + ".")


def _served(gpu: PlannedGpu) -> str:
    if gpu.family is None or gpu.last_branch is None:
        return ""
    ends = f" (end of maintenance: {gpu.last_branch_ends})" if (gpu.last_branch_ends or "").startswith("202") else ""
    last = f"Driver branch {gpu.last_branch}{ends} is the last that serves {gpu.family} GPUs"
    return f"{last}: do not install a newer one."
