"""Judging facts and delivering the report, the same in every command that reports."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli.options import FailOn, Format, Output
from gpudoctor.cli.output import put, write_file
from gpudoctor.findings import Expect, Report, Severity, Source, SourceKind, Verdict

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts

MAX_WIDTH = 100


def exit_status(report: Report, fail_on: FailOn) -> int:
    """Return the exit status that the output contract promises for a report."""
    if fail_on is not FailOn.NEVER and any(item.severity >= Severity[fail_on.name] for item in report.findings):
        return 1
    return 3 if report.verdict is Verdict.UNKNOWN else 0


def judge_facts(facts: Facts, source: Source, expect: Expect) -> Report:
    from gpudoctor.compat import tables
    from gpudoctor.engine import judge
    from gpudoctor.rules.registry import load_rules

    dates = {table.name: table.retrieved for table in tables()}
    return judge(facts, load_rules(), source=source, expect=expect, tables=dates)


def deliver(
    facts: Facts,
    source: Source,
    expect: Expect,
    *,
    shown: Format,
    outputs: list[Output],
    verbose: bool,
) -> Report:
    """Print and write the report, and return it.

    What may leave this machine is judged from redacted facts, as if they were saved.
    """
    from gpudoctor.report import formats

    saved: Report | None = None
    if shown is not Format.TEXT or outputs:
        from gpudoctor.facts import codec

        clean = facts if source.kind is SourceKind.FACTS else codec.redact(facts, codec.Identity.of_this_process())
        saved = judge_facts(clean, source, expect)
    if shown is Format.TEXT or saved is None:
        report = judge_facts(facts, source, expect)
        print_text(report, verbose)
    else:
        report = saved
        put(formats.render(saved, shown.value))
    for item in outputs:
        if saved is not None:
            write_file(item.path, formats.render(saved, item.kind))
    return report


def print_text(report: Report, verbose: bool) -> None:
    from gpudoctor.report import text

    terminal = sys.stdout is not None and sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = min(shutil.get_terminal_size().columns, MAX_WIDTH) if terminal else text.WIDTH
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") in ("utf8", "utf8sig")
    put(text.render(report, width=width, color=color, unicode=unicode, verbose=verbose))
