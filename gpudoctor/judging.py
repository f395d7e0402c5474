"""Facts to report, with the tables and rules that are shipped: what command line, library and plugin share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts
    from gpudoctor.findings import Expect, Report, Source
    from gpudoctor.policy.model import Policy


def judge_facts(facts: Facts, source: Source, expect: Expect, policy: Policy | None = None) -> Report:
    """Return the report. policy: as it stands today; None where nobody asks for anything."""
    from gpudoctor.compat import tables
    from gpudoctor.engine import judge
    from gpudoctor.rules.registry import load_rules

    dates = {table.name: table.retrieved for table in tables()}
    if policy is None:
        return judge(facts, load_rules(), source=source, expect=expect, tables=dates)
    return judge(facts, load_rules(policy=True), source=source, expect=expect, tables=dates, policy=policy)


def with_benchmark(facts: Facts, policy: Policy | None) -> Facts:
    """Return the facts with the rate of the stored benchmark result, if the policy asks for one."""
    if policy is None or policy.min_images_per_second is None or policy.benchmark is None:
        return facts
    from gpudoctor.benchmark.stored import with_stored_rate

    return with_stored_rate(facts, Path(policy.benchmark), policy.benchmark_mode)
