"""The command line: parses, calls, prints, sets the exit status; nothing else."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gpudoctor import __version__
from gpudoctor.findings import Expect, Report, Severity, Source, SourceKind

if TYPE_CHECKING:
    from gpudoctor.facts.collect import Collected, Progress
    from gpudoctor.facts.model import Facts

MAX_WIDTH = 100

app = typer.Typer(
    name="gpudoctor",
    help="Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(str, Enum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"


class FailOn(str, Enum):
    """From which severity on the exit status is 1."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
    NEVER = "never"


class Output(str):
    """FORMAT=PATH, checked while the command line is parsed."""

    @classmethod
    def parse(cls, text: str) -> Output:
        """Return the option's value. Raises typer.BadParameter."""
        name, equals, path = text.partition("=")
        if not equals or not path or name not in {item.value for item in Format}:
            known = " or ".join(item.value for item in Format)
            raise typer.BadParameter(f"{text!r} is not FORMAT=PATH (FORMAT is {known})")
        return cls(text)

    @property
    def kind(self) -> str:
        """Name of the format."""
        return self.partition("=")[0]

    @property
    def path(self) -> Path:
        """Where to; %h stands for the host's name."""
        return Path(self.partition("=")[2].replace("%h", os.uname().nodename if hasattr(os, "uname") else "host"))


PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Interpreter, or folder of the environment, that runs your script. Default: the active virtual or conda "
        "environment, else the one of gpudoctor.",
        show_default=False,
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Do not start TensorFlow: read files and ask the driver only (under a second).")
]
OutputOption = Annotated[
    list[Output] | None,
    typer.Option(
        "-o",
        "--output",
        parser=Output.parse,
        metavar="FORMAT=PATH",
        help="Write a file in this format as well; can be repeated; %h stands for the host's name.",
        show_default=False,
    ),
]
DriverSeconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="How long NVML and CUDA may take to answer.")
]
TensorFlowSeconds = Annotated[
    float, typer.Option("--tensorflow-timeout", min=1, metavar="SECONDS", help="How long TensorFlow may take to start.")
]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gpudoctor {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it."""


@app.command()
def check(  # noqa: PLR0913 (one argument for each option)
    *,
    python: PythonOption = None,
    quick: QuickOption = False,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="Judge saved facts in place of this machine.", show_default=False),
    ] = None,
    expect: Annotated[
        Expect, typer.Option(help="What you want to train on; with cpu, a missing or unused GPU is only noted.")
    ] = Expect.GPU,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 1 from findings of this severity on.")] = FailOn.ERROR,
    format: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,  # noqa: A002
    output: OutputOption = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every check with its outcome.")] = False,
    timeout: DriverSeconds = 10.0,
    tensorflow_timeout: TensorFlowSeconds = 120.0,
) -> None:
    """Check this machine, from the PCI bus to a computation on the GPU, and name the root cause of what is wrong.

    Examples:

      gpudoctor check

      gpudoctor check --python ~/my-env --format json

    Exit status: 0 no finding at or above --fail-on; 1 there is one; 2 wrong usage or unreadable input; 3 no such
    finding, but what --expect asks could not be answered; 130 interrupted.
    """
    if facts is not None:
        source = Source(kind=SourceKind.FACTS, names=(str(facts),))
        seen, interrupted = _read_facts(facts), False
    else:
        source = Source(kind=SourceKind.LIVE)
        collected = _collect(python, quick, timeout, tensorflow_timeout)
        seen, interrupted = collected.facts, collected.interrupted
    _deliver(seen, source, expect, shown=format, outputs=output or [], verbose=verbose)
    report = _judge(seen, source, expect)
    raise typer.Exit(130 if interrupted else exit_status(report, fail_on))


@app.command()
def snapshot(
    *,
    python: PythonOption = None,
    quick: QuickOption = False,
    output: OutputOption = None,
    timeout: DriverSeconds = 10.0,
    tensorflow_timeout: TensorFlowSeconds = 120.0,
) -> None:
    """Save the facts of this machine as JSON, to be judged elsewhere by `check --facts FILE`.

    User, host and home names and secrets in command lines are left out.

    Example:

      gpudoctor snapshot -o json=facts.json

    Exit status: 0 saved; 2 wrong usage, or the file cannot be written; 130 interrupted (what was read is saved).
    """
    from gpudoctor.facts import codec

    if any(item.kind != Format.JSON.value for item in output or []):
        _usage_error("facts are saved as JSON only: -o json=PATH")
    collected = _collect(python, quick, timeout, tensorflow_timeout)
    text = codec.encode(collected.facts).decode()
    if not output:
        _print(text)
    for item in output or []:
        _write(item.path, text)
    raise typer.Exit(130 if collected.interrupted else 0)


@app.command()
def rules(
    rule_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Rule to explain.", show_default=False)] = None,
) -> None:
    """List all rules, or explain one.

    Example:

      gpudoctor rules driver-too-old-for-cuda

    Exit status: 0; 2 there is no such rule.
    """
    from gpudoctor.report import rule_page
    from gpudoctor.rules.registry import load_rules

    known = load_rules()
    if rule_id is None:
        width = max(map(len, known))
        _print("".join(f"{name.ljust(width)}  {rule_page.summary(found)}\n" for name, found in known.items()))
        return
    former = {old: found for found in known.values() for old in found.former_ids}
    found = known.get(rule_id) or former.get(rule_id)
    if found is None:
        import difflib

        near = difflib.get_close_matches(rule_id, known, 3)
        _usage_error(f"there is no rule {rule_id!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    _print(rule_page.render(found))


def exit_status(report: Report, fail_on: FailOn) -> int:
    """Return the exit status that the output contract promises for a report."""
    if fail_on is FailOn.NEVER:
        return 0
    limit = Severity[fail_on.name]
    if any(finding.severity >= limit for finding in report.findings):
        return 1
    return 0 if report.answered else 3


def _read_facts(path: Path) -> Facts:
    from gpudoctor.facts import codec

    try:
        return codec.read(path)
    except codec.FactsFileError as exc:
        _usage_error(f"{path}: {exc}")


def _collect(python: str | None, quick: bool, timeout: float, tensorflow_timeout: float) -> Collected:
    from gpudoctor.facts.collect import collect
    from gpudoctor.facts.host import Host

    with _progress() as progress:
        return collect(
            Host(),
            python=python,
            start_tensorflow=not quick,
            driver_seconds=timeout,
            tensorflow_seconds=tensorflow_timeout,
            progress=progress,
        )


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show on standard error which probes still run, where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    width = shutil.get_terminal_size().columns

    def show(running: tuple[str, ...]) -> None:
        text = f"asking {', '.join(running)} ..." if running else ""
        sys.stderr.write(f"\r{text[: width - 1].ljust(width - 1)}\r")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show(())


def _judge(facts: Facts, source: Source, expect: Expect) -> Report:
    from gpudoctor.compat import tables
    from gpudoctor.engine import judge
    from gpudoctor.rules.registry import load_rules

    dates = {table.name: table.retrieved for table in tables()}
    return judge(facts, load_rules(), source=source, expect=expect, tables=dates)


def _deliver(
    facts: Facts,
    source: Source,
    expect: Expect,
    *,
    shown: Format,
    outputs: list[Output],
    verbose: bool,
) -> None:
    """Print and write the report. What may leave this machine is judged from redacted facts, as if they were saved."""
    from gpudoctor.report import formats

    saved: Report | None = None
    if shown is not Format.TEXT or outputs:
        from gpudoctor.facts import codec

        clean = facts if source.kind is SourceKind.FACTS else codec.redact(facts, codec.Identity.of_this_process())
        saved = _judge(clean, source, expect)
    if shown is Format.TEXT or saved is None:
        _print_text(_judge(facts, source, expect), verbose)
    else:
        _print(formats.render(saved, shown.value))
    for item in outputs:
        if saved is not None:
            _write(item.path, formats.render(saved, item.kind))


def _print_text(report: Report, verbose: bool) -> None:
    from gpudoctor.report import text

    terminal = sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = min(shutil.get_terminal_size().columns, MAX_WIDTH) if terminal else text.WIDTH
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf8sig")
    _print(text.render(report, width=width, color=color, unicode=unicode, verbose=verbose))


def _print(text: str) -> None:
    """Print without failing where the terminal's encoding lacks a character, or where the reader has gone away."""
    encoding = sys.stdout.encoding or "utf-8"
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            temporary.unlink()
        _usage_error(f"{path}: {exc.strerror or exc}")


def _usage_error(text: str) -> NoReturn:
    typer.echo(f"gpudoctor: {text}", err=True)
    raise typer.Exit(2)


def main() -> None:
    """Entry point of the command `gpudoctor`."""
    app()
