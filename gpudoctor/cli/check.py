"""gpudoctor check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.machine import collect_facts
from gpudoctor.cli.options import (
    DriverSeconds,
    FailOn,
    PythonOption,
    QuickOption,
    ReportFormat,
    ReportOutputOption,
    TensorFlowSeconds,
)
from gpudoctor.cli.output import usage_error
from gpudoctor.cli.policies import (
    IgnoreOption,
    NoPolicyOption,
    PolicyOption,
    RequireOption,
    SelectOption,
    load_policy,
)
from gpudoctor.cli.reports import deliver, exit_status
from gpudoctor.cli.waiting import (
    MaxMemoryOption,
    MaxProcessesOption,
    NeedMemoryOption,
    WaitOption,
    as_requirements,
    wait_until_free,
    with_limit,
)
from gpudoctor.findings import Expect, Source, SourceKind
from gpudoctor.judging import with_benchmark

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts


def check(  # noqa: PLR0913 (one argument for each option)
    *,
    python: PythonOption = None,
    quick: QuickOption = False,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="Judge saved facts in place of this machine.", show_default=False),
    ] = None,
    expect: Annotated[
        Expect | None,
        typer.Option(
            help="What you want to train on; with cpu, a missing or unused GPU is only noted.", show_default="gpu"
        ),
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit with 1 from findings of this severity on.", show_default="error")
    ] = None,
    policy_file: PolicyOption = None,
    no_policy: NoPolicyOption = False,
    require: RequireOption = None,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    need_memory: NeedMemoryOption = None,
    max_gpu_processes: MaxProcessesOption = None,
    max_used_memory: MaxMemoryOption = None,
    wait: WaitOption = None,
    format: Annotated[  # noqa: A002
        ReportFormat, typer.Option("--format", help="Format of standard output.")
    ] = ReportFormat.TEXT,
    output: ReportOutputOption = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every check with its outcome.")] = False,
    timeout: DriverSeconds = 10.0,
    tensorflow_timeout: TensorFlowSeconds = 120.0,
) -> None:
    """Find out why TensorFlow does not use the GPU.

    Looks at all from the PCI bus to a computation on the GPU, and names the root cause of what is wrong.

    Examples:

      gpudoctor check

      gpudoctor check --python ~/my-env --format json

      gpudoctor check --require min_free_memory=6GiB -o junit=report.xml -o sarif=report.sarif

      gpudoctor check --max-gpu-processes 0 --max-used-memory 500MiB --wait 10m

    Exit status: 0 no finding at or above --fail-on; 1 there is one; 2 wrong usage, unreadable input, bad policy; 3 no
    such finding, but what --expect or the policy asks could not be answered; 130 interrupted.
    """
    asked = [*(require or []), *as_requirements(need_memory, max_gpu_processes, max_used_memory)]
    policy = load_policy(policy_file, no_policy, asked, select, ignore)
    if wait is not None and facts is not None:
        usage_error("--wait and --facts contradict each other: saved facts do not change")
    if wait is not None:
        wait_until_free(wait, with_limit(policy), timeout)
    if facts is not None:
        source = Source(kind=SourceKind.FACTS, names=(str(facts),))
        seen, interrupted = read_facts(facts), False
    else:
        source = Source(kind=SourceKind.LIVE)
        ahead = (format.value, *(item.kind for item in output or []))
        collected = collect_facts(python, quick, timeout, tensorflow_timeout, formats=ahead, policy=policy is not None)
        seen, interrupted = collected.facts, collected.interrupted
    seen = with_benchmark(seen, policy)
    wanted = expect or (policy and policy.expect) or Expect.GPU
    limit = fail_on or (FailOn(policy.fail_on) if policy and policy.fail_on else FailOn.ERROR)
    report = deliver(seen, source, wanted, shown=format, outputs=list(output or []), verbose=verbose, policy=policy)
    raise typer.Exit(130 if interrupted else exit_status(report, limit))


def read_facts(path: Path) -> Facts:
    from gpudoctor.facts import codec

    try:
        return codec.read(path)
    except codec.FactsFileError as exc:
        usage_error(f"{path}: {exc}")
