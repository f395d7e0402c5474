"""Plugin of pytest: the gate once for a session, tests that need a GPU, and the report as a fixture.

Found by pytest through its entry point. It imports nothing of gpudoctor until it is used. With pytest-xdist the machine
is read once: the first worker that needs the facts leaves them in a folder that the others look into.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpudoctor.api import Report
    from gpudoctor.facts.model import Facts
    from gpudoctor.policy.model import Policy

FOLDER = "gpudoctor_folder"
OPTIONS = {
    "min_memory": "min_memory",
    "min_free_memory": "min_free_memory",
    "min_compute_capability": "min_compute_capability",
    "name": "gpu_name",
}
MARKER = (
    "gpu(count=1, min_memory, min_free_memory, min_compute_capability, name): needs so many GPUs that are like that "
    "and that TensorFlow can use; skipped elsewhere, or failed with --gpudoctor-require"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gpudoctor", "gpudoctor: is this machine ready")
    group.addoption("--gpudoctor", action="store_true", help="check the machine first; run no test if it is not ready")
    group.addoption("--gpudoctor-quick", action="store_true", help="do not start TensorFlow for that")
    group.addoption(
        "--gpudoctor-policy", metavar="FILE", help="what the machine has to fulfil; default: as gpudoctor check"
    )
    group.addoption("--gpudoctor-facts", metavar="FILE", help="judge saved facts in place of this machine")
    group.addoption(
        "--gpudoctor-require", action="store_true", help="fail tests marked with gpu(...) where there is no such GPU"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and make the folder that workers share."""
    config.addinivalue_line("markers", MARKER)
    worker = getattr(config, "workerinput", None)
    folder = None
    if worker is not None:
        folder = worker.get(FOLDER)
    elif getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        folder = tempfile.mkdtemp(prefix="gpudoctor-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.stash[_MACHINE] = _Machine(config, Path(folder) if folder else None)


class _XdistHooks:
    """Hooks that only pytest-xdist calls."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which folder is shared; one on another machine will not find it, and reads its own."""
        node.workerinput[FOLDER] = str(self._folder)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let pytest-xdist tell its workers of the folder."""
    machine = session.config.stash[_MACHINE]
    if machine.folder is not None and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_XdistHooks(machine.folder), "gpudoctor-xdist")


def pytest_collection(session: pytest.Session) -> object:
    """Run the gate; if the machine is not ready, one failing item takes the place of all tests."""
    config = session.config
    if not config.getoption("gpudoctor") or config.getoption("collectonly", False):
        return None
    report = config.stash[_MACHINE].gate()
    if report.ready:
        return None
    session.items = [_Gate.from_parent(session, name="gpudoctor", report=report)]
    session.testscollected = 1
    config.hook.pytest_collection_finish(session=session)
    return True


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say that the gate stands before the tests."""
    return ["gpudoctor: the machine is checked first"] if config.getoption("gpudoctor") else []


class _NotReady(Exception):
    """Ends the item of the gate."""


class _Gate(pytest.Item):
    """Fails with the report."""

    def __init__(self, *, report: Report, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._report = report

    def runtest(self) -> None:
        raise _NotReady

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, _NotReady):
            return f"This machine is not ready: no test was run.\n\n{self._report}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, "gpudoctor: is this machine ready"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail, a test that needs a GPU that is not there."""
    for marker in item.iter_markers("gpu"):
        reason = item.config.stash[_MACHINE].why_not(marker)
        if reason and item.config.getoption("gpudoctor_require"):
            pytest.fail(reason, pytrace=False)
        if reason:
            pytest.skip(reason)


@pytest.fixture(scope="session")
def gpu_report(pytestconfig: pytest.Config) -> Report:
    """Return gpudoctor's report on this machine. TensorFlow is started for it only with --gpudoctor."""
    return pytestconfig.stash[_MACHINE].report()


class _Machine:
    """What is known of the machine, read when first asked for."""

    def __init__(self, config: pytest.Config, folder: Path | None) -> None:
        self._config = config
        self.folder = folder if folder is not None and folder.is_dir() else None
        self._facts: Facts | None = None
        self._reports: dict[bool, Report] = {}

    def gate(self) -> Report:
        """Return the report that decides whether tests are run. Raises UsageError for a bad policy."""
        return self.report()

    def report(self, *, with_policy: bool = True) -> Report:
        """Return the report; a test that needs a GPU of some kind is no matter of the policy."""
        if with_policy not in self._reports:
            self._reports[with_policy] = self._judge(self._policy() if with_policy else None)
        return self._reports[with_policy]

    def why_not(self, marker: pytest.Mark) -> str:
        """Return why a marked test cannot run here; empty if it can. Raises UsageError for a bad marker."""
        from gpudoctor.policy.model import NOTHING_ASKED
        from gpudoctor.policy.read import PolicyError, override

        wrong = set(marker.kwargs) - {*OPTIONS, "count"}
        count = marker.kwargs.get("count", 1)
        if wrong or marker.args or not isinstance(count, int):
            raise pytest.UsageError(f"the marker is {MARKER.partition(':')[0]}, not {marker}")
        asked = {OPTIONS[name]: value for name, value in marker.kwargs.items() if name != "count"}
        try:
            policy = override(NOTHING_ASKED, asked)
        except PolicyError as exc:
            raise pytest.UsageError(f"marker gpu: {exc}") from None
        report = self.report(with_policy=False)
        found, reasons = _usable(report, policy)
        if found >= count:
            return ""
        wanted = ", ".join(f"{name}={value!r}" for name, value in marker.kwargs.items())
        why = f": {'; '.join(reasons)}" if reasons else ""
        return f"needs gpu({wanted}), and {found} such GPU{'s are' if found != 1 else ' is'} here{why}"

    def _judge(self, policy: Policy | None) -> Report:
        from gpudoctor import api
        from gpudoctor.findings import Expect, Source, SourceKind
        from gpudoctor.judging import judge_facts, with_benchmark

        file = self._config.getoption("gpudoctor_facts")
        source = Source(kind=SourceKind.FACTS, names=(file,)) if file else Source(kind=SourceKind.LIVE)
        facts = with_benchmark(self._read(), policy)
        report = judge_facts(facts, source, (policy.expect if policy else None) or Expect.GPU, policy)
        return api.of_report(report, (policy.fail_on if policy else None) or "error")

    def _policy(self) -> Policy | None:
        import datetime as dt

        from gpudoctor.policy import read

        named = self._config.getoption("gpudoctor_policy")
        path = self._config.invocation_params.dir / named if named else read.find(self._config.rootpath)
        try:
            return None if path is None else read.read(path).on(dt.date.today())
        except read.PolicyError as exc:
            raise pytest.UsageError(str(exc)) from None

    def _read(self) -> Facts:
        if self._facts is None:
            from gpudoctor.facts import codec

            file = self._config.getoption("gpudoctor_facts")
            try:
                self._facts = codec.read(self._config.invocation_params.dir / file) if file else self._shared()
            except codec.FactsFileError as exc:
                raise pytest.UsageError(f"{file}: {exc}") from None
        return self._facts

    def _shared(self) -> Facts:
        from gpudoctor import api
        from gpudoctor.facts import codec

        quick = not self._config.getoption("gpudoctor") or bool(self._config.getoption("gpudoctor_quick"))
        if self.folder is None:
            return api.read_machine(quick=quick)
        file = self.folder / "facts.json"
        with _alone(self.folder / "lock"):
            if file.exists():
                return codec.read(file)
            facts = api.read_machine(quick=quick)
            unfinished = self.folder / f"facts.{os.getpid()}"
            unfinished.write_bytes(codec.encode(facts))
            unfinished.replace(file)
            return facts


_MACHINE = pytest.StashKey[_Machine]()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time run the block; a process that dies lets the next one in."""
    try:
        import fcntl
    except ImportError:  # Windows: each worker reads the machine on its own
        yield
        return
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _usable(report: Report, policy: Policy) -> tuple[int, list[str]]:
    """Return how many GPUs are as asked and have no fault of their own, and why the others do not count."""
    from msgspec.structs import replace

    from gpudoctor.engine import run_rule
    from gpudoctor.findings import Severity
    from gpudoctor.rules.registry import load_rules

    errors = [item for item in report.findings if item.severity is Severity.ERROR]
    if any(item.gpu is None for item in errors) or not report.answered:
        return 0, [report.summary]
    rules = [rule for rule in load_rules(policy=True).values() if rule.asks and policy.asked(rule.asks) is not None]
    count, reasons = 0, [item.message for item in errors]
    for number, gpu in enumerate(report.facts.gpus):
        if gpu.visible.get() is False or any(item.gpu == number for item in errors):
            continue
        alone = replace(report.facts, gpus=(gpu,))
        runs = [run_rule(rule, alone, policy) for rule in rules]
        faults = [item.message for run in runs for item in run.findings] + [run.skipped for run in runs if run.skipped]
        count += not faults
        reasons += faults
    return count, list(dict.fromkeys(reasons))
