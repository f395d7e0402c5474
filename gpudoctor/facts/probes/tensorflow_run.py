"""Facts of a TensorFlow that was started: it may abort, hang, be killed or print without end, each is a fact."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from gpudoctor.facts.host import ChildOutcome
from gpudoctor.facts.model import (
    Computation,
    Device,
    Fact,
    Known,
    LogEvent,
    RunOutcome,
    TensorFlowFacts,
    TensorFlowRun,
    Unknown,
)
from gpudoctor.facts.probes.answers import Answer
from gpudoctor.facts.probes.driver_answers import program
from gpudoctor.facts.scratch import scratch_folder, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpudoctor.facts.host import ChildRun, Host
    from gpudoctor.facts.probes.target import Target

TIMEOUT_SECONDS = 120.0
# An abort then leaves the Python stack in the log: it tells which import brought it down.
FLAGS = ("-X", "faulthandler")
# What an interpreter says that knows neither our flag (Python 2) nor our syntax.
TOO_OLD = ("-X is reserved", "SyntaxError")
SOURCE = "TensorFlow's own start"
LOG_NAME = "TensorFlow's log"
DONE = "done"
RUN_FIELDS = ("run", "devices", "computations", "events", "log_tail")
ENDS = {
    ChildOutcome.SIGNALLED: RunOutcome.SIGNAL,
    ChildOutcome.TIMED_OUT: RunOutcome.NO_ANSWER,
    ChildOutcome.EXITED: RunOutcome.EXIT,
    ChildOutcome.BAD_RESULT: RunOutcome.EXIT,
    ChildOutcome.NOT_STARTED: RunOutcome.NOT_STARTED,
}


def run_tensorflow(host: Host, target: Target, timeout: float = TIMEOUT_SECONDS) -> TensorFlowFacts:
    """Start TensorFlow in the target interpreter, list devices, compute on each. Fills RUN_FIELDS and version.

    timeout: seconds for all of it. Never raises for anything that TensorFlow does.
    """
    if target.problem:
        unknown = Unknown(target.problem)
        not_started = TensorFlowRun(outcome=RunOutcome.NOT_STARTED, detail=target.problem)
        return TensorFlowFacts(
            run=Known(not_started, SOURCE), devices=unknown, computations=unknown, events=unknown, log_tail=unknown
        )
    from gpudoctor.logs.reader import read_text  # here: `check --quick` does not need it

    with _scratch(host) as environ:
        run = host.run_child(
            program("probe_tensorflow"), {}, timeout=timeout, python=target.path, flags=FLAGS, environ=environ
        )
    answer = Answer(run.result or {})
    ended = _ended(run, answer, target)
    reason = f"TensorFlow did not come to that: {_how(ended)}"
    events = tuple(read_text(run.log, LOG_NAME))
    version = answer.at("imported").text("version")
    return TensorFlowFacts(
        version=Known(version, "import tensorflow") if version else Unknown(reason),
        run=Known(ended, SOURCE),
        devices=_devices(answer, events) if answer.has("devices") else Unknown(reason),
        computations=_computations(answer) if answer.has("computations") else Unknown(reason),
        events=Known(events, LOG_NAME),
        log_tail=Known(run.log, LOG_NAME),
    )


@contextlib.contextmanager
def _scratch(host: Host) -> Iterator[Mapping[str, str]]:
    """Give the environment with a temporary folder of its own: what TensorFlow writes and leaves goes with it."""
    if not host.is_real:
        yield host.environ
        return
    place = temporary_folder(host.environ)
    with contextlib.ExitStack() as stack:
        environ = host.environ
        with contextlib.suppress(OSError):  # the user's folder cannot be written to: TensorFlow shall meet it, too
            environ = {**environ, "TMPDIR": str(stack.enter_context(scratch_folder(parent=Path(place))))}
        yield environ


def join(files: TensorFlowFacts, started: TensorFlowFacts) -> TensorFlowFacts:
    """Join what the files tell with what the started TensorFlow told; two versions are both kept."""
    version = files.version
    ran = started.version
    if isinstance(ran, Known):
        if not isinstance(version, Known):
            version = ran
        elif version.value != ran.value:
            version = Known(ran.value, ran.source, ((version.value, version.source), *version.also))
    fields = {name: getattr(started, name) for name in RUN_FIELDS}
    return structs.replace(files, version=version, **fields)


def _ended(run: ChildRun, answer: Answer, target: Target) -> TensorFlowRun:
    stage, seconds = answer.text("stage"), answer.at("imported").number("seconds")
    if not stage and run.exit_code and any(sign in run.log for sign in TOO_OLD):
        detail = f"{target.path} is older than Python 3.6, the oldest that can be asked"
        return TensorFlowRun(outcome=RunOutcome.NOT_STARTED, detail=detail)
    error = answer.at("error")
    if error.has("type"):
        detail = f"{error.text('type')}: {error.text('text')}".rstrip(": ")
        return TensorFlowRun(outcome=RunOutcome.EXCEPTION, stage=stage, detail=detail, seconds=seconds)
    if stage == DONE:
        return TensorFlowRun(outcome=RunOutcome.OK, stage=stage, seconds=seconds)
    outcome = ENDS.get(run.outcome, RunOutcome.EXIT)
    detail = run.signal_name or run.reason or "ended with exit status 0 before it was done"
    return TensorFlowRun(outcome=outcome, stage=stage, detail=detail, seconds=seconds)


def _how(ended: TensorFlowRun) -> str:
    """Return a sentence part: how the start ended."""
    where = f" while {ended.stage}" if ended.stage and ended.stage != DONE else ""
    if ended.outcome is RunOutcome.SIGNAL:
        return f"it was ended by {ended.detail}{where}"
    if ended.outcome in (RunOutcome.EXCEPTION, RunOutcome.NOT_STARTED):
        return f"{ended.detail}{where}"
    return f"it {ended.detail}{where}"


def _devices(answer: Answer, events: tuple[LogEvent, ...]) -> Fact[tuple[Device, ...]]:
    """List devices as TensorFlow does; PCI addresses come from its log, it tells them nowhere else."""
    created = {f"GPU:{e.parameters.get('index')}": e.parameters for e in events if e.message == "created-device"}
    found = []
    for item in answer.items("devices"):
        name, logged = item.text("name"), created.get(item.text("name"), {})
        found.append(
            Device(
                name=name,
                kind=item.text("kind"),
                description=item.text("description") or logged.get("gpu_name", ""),
                compute_capability=item.text("compute_capability") or logged.get("compute_capability"),
                pci_address=logged.get("pci_address"),
            )
        )
    return Known(tuple(found), SOURCE)


def _computations(answer: Answer) -> Fact[tuple[Computation, ...]]:
    found = tuple(
        Computation(
            device=item.text("device"),
            operation=item.text("operation"),
            correct=item.flag("correct"),
            detail=item.text("detail"),
        )
        for item in answer.items("computations")
    )
    return Known(found, SOURCE)
