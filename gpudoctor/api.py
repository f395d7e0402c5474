"""gpudoctor for programs and notebooks: `gpudoctor.check` and `gpudoctor.require`.

Two lines at the top of train.py, before TensorFlow is imported:

    import gpudoctor
    gpudoctor.require(min_free_memory="6GiB")
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import asdict

from gpudoctor import findings
from gpudoctor.findings import Expect, Source, SourceKind
from gpudoctor.verdict import exit_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from gpudoctor.facts.model import Facts
    from gpudoctor.policy.model import Policy

DRIVER_SECONDS = 10.0
TENSORFLOW_SECONDS = 120.0


class Report(findings.Report, frozen=True, kw_only=True):
    """A report that shows itself: as text when printed, as HTML in a notebook."""

    fail_on: str = "error"
    """Severity from which on the machine is not ready: note, warning, error, never."""

    @property
    def ready(self) -> bool:
        """Whether `gpudoctor check` would exit with 0: nothing is wrong, and what was asked could be answered."""
        return exit_status(self, self.fail_on) == 0

    def __str__(self) -> str:
        """Return the report as `gpudoctor check` prints it, without colours."""
        from gpudoctor.report import text

        return text.render(self)

    def _repr_html_(self) -> str:
        from gpudoctor.report import html

        return html.fragment(self)


class EnvironmentNotReady(RuntimeError):
    """The machine is not what was asked for; the text is the report, `report` holds it."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.summary}\n\n{report}")
        self.report = report

    def __reduce__(self) -> tuple[type[EnvironmentNotReady], tuple[Report]]:
        """Pickle the report: a worker's exception has to reach the process that started it."""
        return EnvironmentNotReady, (self.report,)


class Asked(TypedDict, total=False):
    """What may be asked of a machine; each goes before what the policy says. Sizes: "6GiB" or bytes."""

    min_gpus: int
    gpu_name: str | Sequence[str]
    min_compute_capability: str
    min_memory: str | int
    min_free_memory: str | int
    max_used_memory: str | int
    max_gpu_processes: int
    max_gpu_temperature: int
    require_native_code: bool
    driver: str
    tensorflow: str
    keras: str
    python: str
    min_shm: str | int
    min_images_per_second: float
    benchmark: str
    benchmark_mode: str


def check(
    *,
    policy: bool | str | os.PathLike[str] = True,
    expect: str | None = None,
    fail_on: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    quick: bool = False,
    interpreter: str | os.PathLike[str] | None = None,
    facts: str | os.PathLike[str] | None = None,
    **asked: Unpack[Asked],
) -> Report:
    """Check this machine and return the report.

    policy: True for the one that `gpudoctor check` would find here, False for none, or a file.
    expect: gpu (default), cpu or any. fail_on: note, warning, error (default) or never.
    quick: do not start TensorFlow. interpreter: the Python to judge; default: the one that runs this.
    facts: a file with saved facts to judge in place of this machine.
    Raises PolicyError (gpudoctor.policy.read) for what cannot be asked, FactsFileError (gpudoctor.facts.codec).
    """
    from gpudoctor.judging import judge_facts, with_benchmark

    chosen = _policy(policy, {"expect": expect, "fail_on": fail_on, **asked}, select, ignore)
    if facts is None:
        source, seen = Source(kind=SourceKind.LIVE), read_machine(quick=quick, interpreter=interpreter)
    else:
        from gpudoctor.facts import codec

        source, seen = Source(kind=SourceKind.FACTS, names=(os.fspath(facts),)), codec.read(Path(facts))
    wanted = (chosen.expect if chosen else None) or Expect.GPU
    report = judge_facts(with_benchmark(seen, chosen), source, wanted, chosen)
    return of_report(report, (chosen.fail_on if chosen else None) or "error")


def require(
    *,
    policy: bool | str | os.PathLike[str] = True,
    expect: str | None = None,
    fail_on: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    quick: bool = False,
    interpreter: str | os.PathLike[str] | None = None,
    facts: str | os.PathLike[str] | None = None,
    **asked: Unpack[Asked],
) -> Report:
    """Check this machine and return the report; raise EnvironmentNotReady unless it is ready.

    The arguments are those of `check`.
    """
    report = check(
        policy=policy,
        expect=expect,
        fail_on=fail_on,
        select=select,
        ignore=ignore,
        quick=quick,
        interpreter=interpreter,
        facts=facts,
        **asked,
    )
    if not report.ready:
        raise EnvironmentNotReady(report)
    return report


def read_machine(*, quick: bool, interpreter: str | os.PathLike[str] | None = None) -> Facts:
    """Return the facts of this machine; bounded as in `gpudoctor check`."""
    from gpudoctor.facts.collect import collect
    from gpudoctor.facts.host import Host

    collected = collect(
        Host(),
        python=os.fspath(interpreter or sys.executable),
        start_tensorflow=not quick,
        driver_seconds=DRIVER_SECONDS,
        tensorflow_seconds=TENSORFLOW_SECONDS,
    )
    if collected.interrupted:
        raise KeyboardInterrupt
    return collected.facts


def of_report(report: findings.Report, fail_on: str) -> Report:
    """Return a report as one that shows itself."""
    return Report(**asdict(report), fail_on=fail_on)


def _policy(
    policy: bool | str | os.PathLike[str], values: dict[str, Any], select: Sequence[str], ignore: Sequence[str]
) -> Policy | None:
    from gpudoctor.policy import read
    from gpudoctor.policy.model import NOTHING_ASKED

    path = (read.find() if policy else None) if isinstance(policy, bool) else Path(policy)
    given = {name: value for name, value in values.items() if value is not None}
    if path is None and not (given or select or ignore):
        return None
    found = NOTHING_ASKED if path is None else read.read(path)
    return read.override(found, given, select, ignore).on(dt.date.today())
