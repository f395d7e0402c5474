"""Judging facts and delivering the report, the same in every command that reports."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpudoctor.cli.options import FailOn, Output, ReportFormat
from gpudoctor.cli.output import append_file, put, write_file
from gpudoctor.cli.terminal import called_as, look
from gpudoctor.findings import Expect, Report, Source, SourceKind
from gpudoctor.judging import judge_facts

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts
    from gpudoctor.policy.model import Policy

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def exit_status(report: Report, fail_on: FailOn) -> int:
    """Return the exit status that the output contract promises for a report."""
    from gpudoctor.verdict import exit_status as status

    return status(report, fail_on.value)


def deliver(
    facts: Facts,
    source: Source,
    expect: Expect,
    *,
    shown: ReportFormat,
    outputs: list[Output],
    verbose: bool,
    policy: Policy | None = None,
    elsewhere: bool = False,
) -> Report:
    """Print and write the report, and return it. policy: as it stands today.

    elsewhere: the facts are of another machine, and the names of this one say nothing in them.

    What may leave this machine is judged from redacted facts, as if they were saved. With the format github, what
    GITHUB_STEP_SUMMARY names gets the report as Markdown as well.
    """
    from gpudoctor.report import formats

    clean, saved = facts, None
    if shown is not ReportFormat.TEXT or outputs:
        from gpudoctor.facts import codec

        identity = codec.Identity("", "", "") if elsewhere else codec.Identity.of_this_process()
        clean = facts if source.kind is SourceKind.FACTS else codec.redact(facts, identity)
        saved = judge_facts(clean, source, expect, policy)
    if shown is ReportFormat.TEXT or saved is None:
        report = saved if saved is not None and clean == facts else judge_facts(facts, source, expect, policy)
        print_text(report, verbose)
    else:
        report = saved
        put(formats.render(saved, shown.value))
        if shown is ReportFormat.GITHUB and os.environ.get(STEP_SUMMARY):
            append_file(Path(os.environ[STEP_SUMMARY]), formats.render(saved, ReportFormat.MARKDOWN.value))
    for item in outputs:
        if saved is not None:
            write_file(item.path, formats.render(saved, item.kind))
    return report


def print_text(report: Report, verbose: bool) -> None:
    from gpudoctor.report import text

    color, width = look(sys.stdout, os.environ)
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") in ("utf8", "utf8sig")
    program = called_as(sys.argv[0], os.environ)
    put(text.render(report, width=width, color=color, unicode=unicode, verbose=verbose, program=program))
