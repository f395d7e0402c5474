"""cpu-quota-below-threads."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule

FEWER_THREADS = Remedy(
    summary="Let TensorFlow start as many threads as there are processors for it; or give the container more.",
    commands=("export TF_NUM_INTRAOP_THREADS={quota} TF_NUM_INTEROP_THREADS=2 OMP_NUM_THREADS={quota}",),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.NOTE,
    message="the control group grants {quota} processors, and TensorFlow starts threads for {count}",
)
def cpu_quota_below_threads(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The control group grants fewer processors than TensorFlow counts.

    Why it matters: TensorFlow starts a thread for each processor that it sees; with a quota they are all stopped for a
    part of each tenth of a second, and an input pipeline stutters.
    How to fix: set the numbers of threads to the quota, or give the container more processors.
    """
    quota, count = facts.host.cpu_quota.require(), facts.host.cpu_count.require()
    if quota * 2 > count:
        return
    whole = max(1, round(quota))
    remedy = Remedy(
        summary=FEWER_THREADS.summary,
        commands=tuple(command.format(quota=whole) for command in FEWER_THREADS.commands),
        applicability=FEWER_THREADS.applicability,
    )
    yield self.finding(("host.cpu_quota", "host.cpu_count"), remedies=(remedy,), quota=f"{quota:g}", count=count)
