"""gpudoctor plan."""

from __future__ import annotations

import re
import sys
from enum import Enum
from os import environ
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.options import Format, Output, OutputOption
from gpudoctor.cli.output import put, usage_error, write_file
from gpudoctor.cli.tables import TablesOption, use_tables
from gpudoctor.cli.terminal import look

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts
    from gpudoctor.plan.answer import Wish
    from gpudoctor.plan.model import Answer, Machine, PlannedGpu

PYTHON = re.compile(r"3\.\d+(\.\d+)?\Z")


class System(str, Enum):
    """Operating systems."""

    LINUX = "linux"
    WINDOWS = "windows"
    WSL2 = "wsl2"
    MACOS = "macos"


def plan(  # noqa: PLR0913 (one argument for each option)
    *,
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            "--gpu",
            metavar="NAME",
            help='GPU by its name, a part of it, or its compute capability: "GeForce 940M", K80, 8.6. Can be repeated.',
            show_default=False,
        ),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option("--driver", metavar="VERSION", help="Version of the NVIDIA driver.", show_default=False),
    ] = None,
    os: Annotated[System | None, typer.Option("--os", help="Operating system.", show_default=False)] = None,
    python: Annotated[
        str | None,
        typer.Option(
            "--python",
            metavar="VERSION",
            help="Python version (3.11); for this machine also the path of an interpreter or environment.",
            show_default=False,
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            "--facts", metavar="FILE", help="Plan for saved facts in place of this machine.", show_default=False
        ),
    ] = None,
    tensorflow: Annotated[
        str | None,
        typer.Option(
            "--tensorflow", metavar="SPEC", help='Releases that you want: ">=2.12", 2.15.', show_default=False
        ),
    ] = None,
    keep_driver: Annotated[bool, typer.Option("--keep-driver", help="Propose no other driver.")] = False,
    newest_driver: Annotated[
        bool, typer.Option("--newest-driver", help="Plan for the newest driver that serves the GPU.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,  # noqa: A002
    output: OutputOption = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(
            "--write",
            metavar="FILE",
            help="Write the best stack to a new requirements.txt, environment.yml or Dockerfile. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show evidence and all that is out.")] = False,
    tables: TablesOption = None,
) -> None:
    """Tell which TensorFlow, Keras, Python, CUDA and cuDNN work together, and how to install them.

    With --gpu or --os for a machine that you describe (what is not given stays open), else for this one or the one of
    --facts; --driver and --python then say what if. All comes from tables; nothing is installed and no network is used.

    Examples:

      gpudoctor plan

      gpudoctor plan --gpu "GeForce 940M" --driver 470.57.02 --os linux --python 3.11

      gpudoctor plan --tensorflow ">=2.12" --write requirements.txt

    Exit status: 0 there is a stack that uses the GPU; 1 there is none; 2 wrong usage or unreadable input; 130
    interrupted.
    """
    use_tables(tables)
    if keep_driver and newest_driver:
        usage_error("--keep-driver and --newest-driver exclude each other")
    files = [(path, _file_kind(path)) for path in write or []]
    described = facts is None and (gpu is not None or os is not None)
    seen, interrupted = (None, False) if described else _facts(facts, python)
    machine, gpus = _machine(seen, gpu or [], driver, os, python)
    answer = _answer(machine, gpus, _wish(seen, tensorflow, keep_driver, newest_driver), described and os is None)
    _deliver(answer, format, output or [], verbose)
    for path, kind in files:
        _write(path, kind, answer)
    raise typer.Exit(130 if interrupted else 0 if answer.stacks else 1)


def _facts(path: Path | None, python: str | None) -> tuple[Facts, bool]:
    if path is not None:
        from gpudoctor.cli.check import read_facts

        return read_facts(path), False
    from gpudoctor.cli.machine import collect_facts

    target = None if python is None or PYTHON.match(python) else python
    collected = collect_facts(target, True, 10.0, 120.0)
    return collected.facts, collected.interrupted


def _machine(
    facts: Facts | None, names: list[str], driver: str | None, system: System | None, python: str | None
) -> tuple[Machine, tuple[PlannedGpu, ...]]:
    """The machine of the facts, if any, with what the user says in place of what was read."""
    import msgspec

    from gpudoctor.compat import Os
    from gpudoctor.plan.from_facts import machine_of, newest, visible_gpus, with_details
    from gpudoctor.plan.model import Machine

    machine = Machine(os=Os.LINUX)
    gpus: tuple[PlannedGpu, ...] = ()
    if facts is not None:
        try:
            machine = with_details(machine_of(facts), facts)
        except ValueError:
            usage_error(f"no TensorFlow is published for the operating system {facts.host.os.get()!r}")
        chosen = newest(visible_gpus(facts))
        gpus = () if chosen is None else (chosen,)
    if names:
        found = [_gpu(name) for name in names]
        gpus = tuple(gpu for gpu, _ in found)
        capabilities = tuple(dict.fromkeys(gpu.compute_capability for gpu in gpus))
        machine = msgspec.structs.replace(machine, compute_capabilities=capabilities, memory_bytes=None, no_gpu=False)
        if any(on_arm for _, on_arm in found):
            machine = msgspec.structs.replace(machine, machine="aarch64")
    if driver is not None:
        machine = msgspec.structs.replace(machine, driver=_version(driver, "--driver"))
    if system is not None:
        # Which Mac it is makes no difference to CUDA, and to the rest only a small one.
        processor = "arm64" if system is System.MACOS and facts is None else machine.machine
        machine = msgspec.structs.replace(machine, os=Os(system.value), machine=processor)
    if python is not None and (facts is None or PYTHON.match(python)):
        machine = msgspec.structs.replace(machine, pythons=(_python(python),))
    return machine, gpus


def _gpu(name: str) -> tuple[PlannedGpu, bool]:
    """The GPU, and whether its machine has an ARM processor."""
    from gpudoctor.compat import Trust, UnknownGpu, find_gpu
    from gpudoctor.plan.families import planned_gpu

    try:
        found = find_gpu(name)
    except UnknownGpu as exc:
        near = f"; did you mean {', '.join(exc.near)}?" if exc.near else "."
        usage_error(f"{exc}{near} Its compute capability will do as well (--gpu 8.6).")
    certain = found.confidence is not Trust.LOW
    return planned_gpu(found.name, found.compute_capability, certain=certain), found.on_arm


def _version(text: str, option: str) -> str:
    from gpudoctor.compat import NotCovered, version

    try:
        version(text)
    except NotCovered as exc:
        usage_error(f"{option}: {exc}")
    return text


def _python(text: str) -> str:
    if not PYTHON.match(text):
        usage_error(f"--python: {text!r} is no version such as 3.11 (a path is for this machine only)")
    return text


def _wish(facts: Facts | None, tensorflow: str | None, keep_driver: bool, newest_driver: bool) -> Wish:
    from gpudoctor.plan.answer import Wish
    from gpudoctor.plan.wanted import specifier_of

    try:
        specifier = "" if tensorflow is None else specifier_of(tensorflow)
    except ValueError as exc:
        usage_error(f"--tensorflow: {exc}")
    return Wish(
        tensorflow=specifier,
        keep_driver=keep_driver,
        newest_driver=newest_driver,
        distribution="" if facts is None else facts.host.distribution_id.get() or "",
    )


def _answer(machine: Machine, gpus: tuple[PlannedGpu, ...], wish: Wish, assumed_linux: bool) -> Answer:
    import msgspec

    from gpudoctor.compat import NotCovered
    from gpudoctor.plan.answer import plan as answer_for

    try:
        answer = answer_for(machine, gpus, wish)
    except NotCovered as exc:
        usage_error(str(exc))
    if assumed_linux:
        note = "the operating system: Linux is taken for granted (--os)"
        answer = msgspec.structs.replace(answer, open=(*answer.open, note))
    return answer


def _deliver(answer: Answer, shown: Format, outputs: list[Output], verbose: bool) -> None:
    from gpudoctor.report import plan_text

    if shown is Format.JSON:
        put(_json(answer))
    else:
        color, width = look(sys.stdout, environ)
        put(plan_text.render(answer, width=width, color=color, verbose=verbose))
    for item in outputs:
        text = _json(answer) if item.kind == Format.JSON.value else plan_text.render(answer, verbose=verbose)
        write_file(item.path, text)


def _json(answer: Answer) -> str:
    from gpudoctor import __version__
    from gpudoctor.compat import tables
    from gpudoctor.report import plan_json

    return plan_json.render(answer, __version__, {table.name: table.retrieved for table in tables()})


def _file_kind(path: Path) -> str:
    """The kind of file by its name. What is there already is never overwritten."""
    kinds = {".yml": "environment.yml", ".yaml": "environment.yml", ".txt": "requirements.txt"}
    docker = path.name.startswith("Dockerfile") or path.suffix == ".Dockerfile"
    kind = "Dockerfile" if docker else kinds.get(path.suffix)
    if kind is None:
        usage_error(f"--write: {path.name} is neither requirements.txt nor environment.yml nor Dockerfile")
    if exists(path):
        usage_error(f"--write: {path} exists already; name another file")
    return kind


def _write(path: Path, kind: str, answer: Answer) -> None:
    from gpudoctor.plan.ways import FileKind, file_text

    if not answer.stacks:
        typer.echo(f"gpudoctor: {path} is not written: there is no stack that works", err=True)
        return
    text = file_text(answer.stacks[0], FileKind(kind))
    if text is None:
        usage_error(f"{path} is not written: no container image is known for TensorFlow {answer.stacks[0].tensorflow}")
    write_file(path, text)
    typer.echo(f"gpudoctor: {path} written", err=True)
