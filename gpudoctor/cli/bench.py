"""gpudoctor bench."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gpudoctor.cli.options import Format, Output, OutputOption, PythonOption
from gpudoctor.cli.output import put, usage_error, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudoctor.benchmark.data_model import OnProgress
    from gpudoctor.benchmark.options import BenchOptions, Mode
    from gpudoctor.benchmark.results import BenchResult

    Say = Callable[[str], None]

MAX_WIDTH = 100
BUDGET_HELP = (
    "Time to keep to. First the learning check is left out, then profiling, later rounds, images, trying settings; the "
    "report names what was."
)
SMALLEST_IMAGE = 48
LARGEST_IMAGE = 1024


class Augment(str, Enum):
    """As gpudoctor.benchmark.options, which is not imported until the command runs."""

    NONE = "none"
    FLIP = "flip"
    FULL = "full"


class Precision(str, Enum):
    """As gpudoctor.benchmark.options."""

    AUTO = "auto"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


def _modes(text: str | None) -> tuple[Mode, ...]:
    from gpudoctor.benchmark.options import Mode

    known = {mode.value: mode for mode in Mode}
    names = [name.strip() for name in (text or ",".join(known)).split(",") if name.strip()]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        usage_error(f"--modes: {', '.join(wrong) or 'nothing'} is no mode; there are {', '.join(known)}")
    return tuple(mode for mode in Mode if mode.value in names)


def bench(  # noqa: PLR0913 (one argument for each option)
    *,
    python: PythonOption = None,
    modes: Annotated[
        str | None,
        typer.Option("--modes", metavar="MODE,...", help="Of cpu, cpu-optimized, gpu-baseline, gpu-optimized.",
                     show_default="all"),
    ] = None,
    image_size: Annotated[int, typer.Option(min=SMALLEST_IMAGE, max=LARGEST_IMAGE, metavar="PIXELS")] = 150,
    batch_size: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Of all modes. Default: 32; where optimised, the fastest."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, metavar="N", help="In each round. Default: enough.")] = None,
    images: Annotated[
        int | None, typer.Option(min=32, metavar="N", help="To train with. Default: 640 (quick: 320, full: 25,000)."),
    ] = None,
    augment: Annotated[Augment, typer.Option(help="Random changes of the images, the same in all modes.")]
    = Augment.FLIP,
    precision: Annotated[Precision, typer.Option(help="Of the optimised modes; auto: the fastest.")] = Precision.AUTO,
    gpu: Annotated[
        str | None, typer.Option(metavar="UUID|NUMBER", help="Which GPU; nvidia-smi -L lists them.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Train on these images in place of generated ones.",
                                  show_default=False),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=10, metavar="SECONDS", help=BUDGET_HELP),
    ] = 180.0,
    quick: Annotated[bool, typer.Option("--quick", help="One round, 320 images: a first impression.")] = False,
    full: Annotated[bool, typer.Option("--full", help="25,000 images and no time limit.")] = False,
    verify: Annotated[
        bool | None,
        typer.Option("--verify/--no-verify", help="See whether each mode learns. Default: if the budget allows."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of all random numbers.")] = 0,
    format: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,  # noqa: A002
    output: OutputOption = None,
    fake_accelerator: Annotated[float, typer.Option(hidden=True, min=0, help="For tests: ms for an image.")] = 0.0,
) -> None:  # fmt: skip
    """Train a small network on cats and dogs, as articles do and as it should be, on CPU and GPU, and compare.

    Needs no network and no images. Modes that cannot run here are named with the reason, as `gpudoctor check` gives it.

    Examples:

      gpudoctor bench

      gpudoctor bench --modes cpu,gpu-optimized --data ~/PetImages -o json=bench.json

    Exit status: 0 at least one mode was measured; 1 none was, or one failed; 2 wrong usage, or no images; 130
    interrupted, what was measured is printed.
    """
    from gpudoctor.benchmark import options as choices

    if quick and full:
        usage_error("--quick and --full exclude each other")
    options = choices.BenchOptions(
        modes=_modes(modes),
        image_size=image_size,
        batch_size=batch_size,
        epochs=epochs,
        images=images,
        augment=choices.Augment(augment.value),
        precision=choices.Precision(precision.value),
        gpu=gpu,
        python=python,
        data=str(data) if data else None,
        budget_seconds=budget,
        effort=choices.Effort.QUICK if quick else choices.Effort.FULL if full else choices.Effort.NORMAL,
        verify=verify,
        seed=seed,
        fake_accelerator_ms=fake_accelerator,
    )
    result = _run(options, [item.path for item in output or [] if item.kind == Format.JSON.value])
    _deliver(result, format, output or [])
    raise typer.Exit(_exit_status(result))


def _run(options: BenchOptions, saved: list[Path]) -> BenchResult:
    """Run with progress on standard error; after every group of modes all is saved, whole or not at all."""
    from platformdirs import user_cache_path, user_state_path

    from gpudoctor.benchmark.data_model import DataError
    from gpudoctor.benchmark.machine import UnknownGpuError
    from gpudoctor.benchmark.results import encode
    from gpudoctor.benchmark.run import BenchError, Hooks, Run
    from gpudoctor.facts.host import Host

    stamp = dt.datetime.now(dt.timezone.utc).strftime("%Y%m%d-%H%M%S")
    own = user_state_path("gpudoctor") / f"gpudoctor-bench-{stamp}-{os.getpid()}.json"

    def save(result: BenchResult) -> None:
        with contextlib.suppress(OSError):  # a home that cannot be written to must not cost the results
            own.parent.mkdir(parents=True, exist_ok=True)
            temporary = own.with_suffix(".part")
            temporary.write_text(encode(result), encoding="utf-8")
            temporary.replace(own)
        for path in saved:
            write_file(path, encode(result))

    try:
        with _shown() as (say, progress):
            hooks = Hooks(say=say, progress=progress, save=save)
            result = Run(options, Host(), hooks, user_cache_path("gpudoctor")).run()
    except (DataError, BenchError, UnknownGpuError) as exc:
        _give_up(str(exc))
    if os.path.exists(own):  # Path.exists raises where a folder on the way may not be entered
        typer.echo(f"saved as {own}", err=True)
    return result


def _give_up(text: str) -> NoReturn:
    typer.echo(f"gpudoctor: {text}", err=True)
    raise typer.Exit(2)


@contextlib.contextmanager
def _shown() -> Iterator[tuple[Say, OnProgress]]:
    """Give functions that show on standard error what is done, where a person is looking."""
    from gpudoctor.cli.images_bar import images_bar

    terminal = sys.stderr.isatty()

    def say(text: str) -> None:
        if terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{text[:width].ljust(width)}\r")
            sys.stderr.flush()

    try:
        with images_bar() as progress:
            yield say, progress
    finally:
        say("")


def _deliver(result: BenchResult, shown: Format, outputs: list[Output]) -> None:
    from gpudoctor.report import bench_json, bench_text

    if shown is Format.JSON:
        put(bench_json.render(result))
    else:
        terminal = sys.stdout.isatty()
        color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size().columns, MAX_WIDTH) if terminal else bench_text.WIDTH
        put(bench_text.render(result, width=width, color=color))
    for item in outputs:
        if item.kind == Format.TEXT.value:
            write_file(item.path, bench_text.render(result))


def _exit_status(result: BenchResult) -> int:
    from gpudoctor.benchmark.results import Status

    if result.interrupted:
        return 130
    states = [one.status for one in result.modes]
    return 0 if Status.OK in states and Status.FAILED not in states else 1
