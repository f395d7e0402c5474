"""A benchmark's results for a terminal: a table of the modes, where the time goes, what was tried, what to do next."""

from __future__ import annotations

import io

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpudoctor.benchmark.results import BenchResult, ModeResult, Status, Verdict
from gpudoctor.report.bench_lines import (
    MISSING,
    duration,
    gibibytes,
    limits,
    machine_line,
    percent,
    rate_range,
    settings_line,
    tried_line,
)
from gpudoctor.report.clean import clean
from gpudoctor.report.console import plain_console

WIDTH = 80
_STYLES = {Status.OK: "green", Status.SKIPPED: "dim", Status.FAILED: "bold red"}


class _Page:
    """Writes to a rich console; nothing of what it is given is taken for markup."""

    def __init__(self, width: int, color: bool) -> None:
        self.out = io.StringIO()
        self.console = plain_console(self.out, width, color)

    def heading(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(text, style="bold"))

    def paragraph(self, text: str, indent: int = 2, style: str = "") -> None:
        self.console.print(Padding(Text(clean(text), style=style), (0, 0, 0, indent), expand=False))

    def item(self, title: str, text: str, style: str = "") -> None:
        """Print a title and beside it a text that is wrapped in a column of its own."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=16, no_wrap=True)
        grid.add_column()
        grid.add_row(Text(clean(title), style=style), Text(clean(text)))
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def render(result: BenchResult, *, width: int = WIDTH, color: bool = False) -> str:
    """Return the results as text. width: in columns; color: with ANSI colours."""
    page = _Page(width, color)
    page.paragraph(machine_line(result), indent=0)
    if result.data is not None:
        page.paragraph(_data_line(result), indent=0, style="dim")
    _rates(page, result)
    _skipped(page, result)
    measured = [one for one in result.modes if one.images_per_second is not None]
    if measured:
        _times(page, measured)
        _limits(page, measured)
        _settings(page, measured)
    _remarks(page, result)
    _advice(page, result)
    page.heading("Result")
    page.paragraph(result.recommendation.text)
    if result.interrupted:
        page.paragraph("Interrupted: this is what was measured until then.", style="bold yellow")
    return "\n".join(line.rstrip() for line in page.out.getvalue().splitlines()) + "\n"


def _data_line(result: BenchResult) -> str:
    data = result.data
    if data is None:
        return ""
    size = result.options.get("image_size")
    text = f"{data.train_images:,} {data.origin} images of {len(data.classes)} classes at {size} x {size} pixels"
    return f"{text}, augmentation: {result.options.get('augment')}; took {duration(result.seconds)}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _show(page: _Page, table: Table) -> None:
    page.console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _rates(page: _Page, result: BenchResult) -> None:
    """One line for each mode, also for those that did not run: they stay in sight."""
    page.heading("Speed")
    table = _table("mode", "images/s", "range", "25,000 images", "vs cpu", "vs gpu-baseline")
    for one in result.modes:
        rate = one.images_per_second
        name = Text(one.mode, style=_STYLES[one.status])
        if rate is None:
            table.add_row(name, one.status.value, "", "", "", "")
            continue
        wrong = one.learns is not None and not one.learns.ok
        speed = [f"{value:.2f} x" if value else MISSING for value in (one.speedup.cpu, one.speedup.gpu_baseline)]
        if wrong:
            speed = ["no learning", ""]
        table.add_row(
            name,
            f"{rate.median:,.0f}" + ("~" if one.noisy else ""),
            rate_range(rate),
            duration(one.seconds_per_25000_images),
            *speed,
        )
    _show(page, table)
    if any(one.noisy for one in result.modes):
        page.paragraph("~ noisy, see Remarks: compare CPU ms/image rather than images/s", style="dim")


def _skipped(page: _Page, result: BenchResult) -> None:
    reasons: dict[str, list[str]] = {}
    for one in result.modes:
        if one.status is not Status.OK:
            what = f"{one.reason}: {one.detail}" if one.detail else one.reason
            label = "skipped" if one.status is Status.SKIPPED else "failed"
            reasons.setdefault(f"{label} ({one.failure or 'cannot run here'}): {what}", []).append(one.mode)
    for text, modes in reasons.items():
        page.paragraph(f"{', '.join(modes)} {text}")
    for one in result.modes:
        if one.status is Status.FAILED and one.log_tail:
            page.paragraph(f"The end of the log of {one.mode}:", style="dim")
            for line in one.log_tail.splitlines()[-8:]:
                page.paragraph(line, indent=4, style="dim")


def _times(page: _Page, modes: list[ModeResult]) -> None:
    page.heading("Cost")
    table = _table("mode", "CPU ms/image", "first step", "first epoch", "peak memory")
    for one in modes:
        table.add_row(
            one.mode,
            f"{one.cpu_ms_per_image:.2f}" if one.cpu_ms_per_image is not None else MISSING,
            duration(one.first_step_seconds),
            duration(one.first_epoch_seconds),
            gibibytes(one.memory_peak_bytes),
        )
    _show(page, table)
    with_gpu = [(one.mode, one.gpu) for one in modes if one.gpu is not None]
    if not with_gpu:
        return
    page.heading("GPU")
    table = _table("mode", "utilization", "peak memory", "power", "temperature")
    for mode, gpu in with_gpu:
        start, peak = gpu.temperature_start_celsius, gpu.temperature_peak_celsius
        table.add_row(
            mode,
            percent(gpu.utilization / 100 if gpu.utilization is not None else None),
            gibibytes(gpu.memory_peak_bytes),
            f"{gpu.power_watts:.0f} W" if gpu.power_watts is not None else MISSING,
            f"{start} to {peak} C" if peak is not None else MISSING,
        )
    _show(page, table)


def _limits(page: _Page, modes: list[ModeResult]) -> None:
    page.heading("Where the time goes (each part alone, images a second)")
    table = _table("mode", "limit", "input only", "compute only", "data wait", "decode")
    for one in modes:
        alone = (one.ceilings.input_only, one.ceilings.compute_only)
        table.add_row(
            one.mode,
            one.verdict.value,
            *(f"{value:,.0f}/s" if value else MISSING for value in alone),
            percent(one.data_wait),
            f"{one.ceilings.decode_floor:,.0f}/s" if one.ceilings.decode_floor else MISSING,
        )
    _show(page, table)
    for one in modes:
        if one.verdict is not Verdict.UNKNOWN:
            page.item(one.mode, limits(one))


def _settings(page: _Page, modes: list[ModeResult]) -> None:
    page.heading("Settings")
    for one in modes:
        page.item(one.mode, settings_line(one))
    for one in modes:
        if one.tried:
            page.heading(f"What was tried for {one.mode}")
            table = _table("setting", "gain", "", "")
            table.show_header = False
            table.columns[1].justify, table.columns[2].justify, table.columns[3].justify = "right", "left", "left"
            table.columns[3].no_wrap = False
            for tried in one.tried:
                table.add_row(*(Text(clean(part)) for part in tried_line(tried)))
            _show(page, table)


def _remarks(page: _Page, result: BenchResult) -> None:
    remarks = _noise(result)
    for one in result.modes:
        if one.learns is not None:
            accuracy = percent(one.learns.val_accuracy)
            word = "learns" if one.learns.ok else "does not learn: its speed means nothing"
            remarks.append((one.mode, f"{word} ({accuracy} right after {one.learns.updates} updates)"))
        if one.gpu and one.gpu.throttle_reasons:
            remarks.append((one.mode, f"the GPU was held back: {', '.join(one.gpu.throttle_reasons)}"))
        if one.gpu and one.gpu.other_processes:
            remarks.append((one.mode, f"{one.gpu.other_processes} other processes computed on the GPU"))
    if result.data is not None and result.data.skipped:
        remarks.append(("images", f"{len(result.data.skipped)} files do not decode and were left out"))
    remarks += [("not done", text) for text in result.dropped]
    if remarks:
        page.heading("Remarks")
        for title, text in remarks:
            page.item(title, text, style="dim")


def _noise(result: BenchResult) -> list[tuple[str, str]]:
    """Return what made the measurements noisy, once for all modes that it is said of."""
    return [(one.mode, f"noisy: {one.noise}") for one in result.modes if one.noise]


def _advice(page: _Page, result: BenchResult) -> None:
    found = [(one.mode, item) for one in result.modes for item in one.advice]
    if not found:
        return
    page.heading("What to do next")
    for mode, item in found:
        page.paragraph(f"{mode}: {item.message} [{item.rule}]")
        for remedy in item.remedies:
            page.paragraph(f"- {remedy}", indent=4)
