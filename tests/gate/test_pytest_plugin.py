"""The plugin of pytest, in runs of pytest of its own."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.rule_case import BASES, base_names, facts_of

pytest_plugins = ["pytester"]

HEALTHY, BROKEN = BASES / "server-h200.json", BASES / "no-gpu.json"
TESTS = """
    import pytest

    def test_plain():
        pass

    @pytest.mark.gpu
    def test_one():
        pass

    @pytest.mark.gpu(min_memory="8GiB", min_compute_capability="7.0", count=2)
    def test_two():
        pass

    @pytest.mark.gpu(count=3)
    def test_three():
        pass

    def test_fixture(gpu_report):
        assert gpu_report.summary
"""
# In the place of the machine: facts from a file, and a line in another file each time that they are read.
COUNTING = """
    import pathlib
    from gpudoctor import api
    from gpudoctor.facts import codec

    def read_machine(*, quick, interpreter=None):
        with open({log!r}, "a") as log:
            log.write(f"quick={{quick}}\\n")
        return codec.read(pathlib.Path({facts!r}))

    api.read_machine = read_machine
"""


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with tests; without options of the outer run."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "COV_CORE_SOURCE"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(TESTS)
    return pytester


def counted(inner: pytest.Pytester, facts: Path) -> Path:
    log = inner.path / "read.log"
    inner.makeconftest(COUNTING.format(log=str(log), facts=str(facts)))
    return log


NEEDLESS = ("cacheprovider", "cov", "benchmark", "hypothesispytest", "platformdirs")
ALWAYS = ("-rs", *(f"-pno:{name}" for name in NEEDLESS))


def run(inner: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return inner.runpytest_inprocess(*ALWAYS, *arguments)


def run_apart(inner: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run in a process of its own, where its conftest.py may replace what it likes."""
    return inner.runpytest_subprocess(*ALWAYS, *arguments)


def test_pytest_finds_it() -> None:
    found = {point.name: point.value for point in entry_points(group="pytest11")}
    assert found.get("gpudoctor") == "gpudoctor.pytest_plugin", "install the project again: pip install -e ."


def test_nothing_happens_unless_asked_for(inner: pytest.Pytester) -> None:
    log = counted(inner, BROKEN)
    run_apart(inner, "-k", "plain").assert_outcomes(passed=1)
    assert not log.exists()
    assert "gpu(count=1, min_memory" in run_apart(inner, "--markers", "--strict-markers").stdout.str()


def test_the_gate_lets_tests_run_on_a_machine_that_is_ready(inner: pytest.Pytester) -> None:
    result = run(inner, "--gpudoctor", f"--gpudoctor-facts={HEALTHY}")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["gpudoctor: the machine is checked first"])


def test_a_machine_that_is_not_ready_is_one_failure(inner: pytest.Pytester) -> None:
    inner.makepyfile(test_broken_import="import no_such_module_at_all")
    result = run(inner, "--gpudoctor", f"--gpudoctor-facts={BROKEN}", "--junitxml", "out.xml")
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["This machine is not ready: no test was run.", "*Root cause: no-nvidia-gpu (error)"])
    suite = ET.parse(inner.path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")


def test_the_policy_of_the_project_counts(inner: pytest.Pytester) -> None:
    inner.makeini("[pytest]\n")
    inner.makefile(".toml", gpudoctor="min_gpus = 3\n")
    run(inner, "--gpudoctor", f"--gpudoctor-facts={HEALTHY}").assert_outcomes(failed=1)
    inner.makefile(".toml", other="min_gpus = 2\n")
    arguments = ("--gpudoctor", f"--gpudoctor-facts={HEALTHY}", "--gpudoctor-policy", "other.toml")
    run(inner, *arguments).assert_outcomes(passed=4, skipped=1)
    inner.makefile(".toml", gpudoctor="min_gpu = 3\n")
    result = run(inner, "--gpudoctor", f"--gpudoctor-facts={HEALTHY}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "gpudoctor.toml:1: there is no key 'min_gpu'; did you mean min_gpus?" in result.stderr.str()


def test_marked_tests_are_skipped_with_the_reason(inner: pytest.Pytester) -> None:
    result = run(inner, f"--gpudoctor-facts={HEALTHY}")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*needs gpu(count=3), and 2 such GPUs are here"])
    result = run(inner, f"--gpudoctor-facts={BROKEN}")
    result.assert_outcomes(passed=2, skipped=3)
    result.stdout.fnmatch_lines(["SKIPPED*needs gpu(), and 0 such GPUs are here: one root cause: no-nvidia-gpu"])


def test_marked_tests_do_not_pass_where_they_are_required(inner: pytest.Pytester) -> None:
    result = run(inner, f"--gpudoctor-facts={BROKEN}", "--gpudoctor-require")
    result.assert_outcomes(passed=2, errors=3)
    result.stdout.fnmatch_lines(["needs gpu(), and 0 such GPUs are here: *"])


@pytest.mark.parametrize(
    ("marker", "base", "runs"),
    [
        ("min_memory='100GiB'", "server-h200", True),
        ("min_memory='200GiB'", "server-h200", False),
        ("min_compute_capability='9.0', count=2", "server-h200", True),
        ("min_compute_capability='10.0'", "server-h200", False),
        ("name='H200'", "server-h200", True),
        ("name='A100'", "server-h200", False),
        ("min_free_memory='1GiB'", "desktop-rtx4090", True),
        ("", "laptop-940m", False),
    ],
)
def test_markers(pytester: pytest.Pytester, marker: str, base: str, runs: bool) -> None:
    assert base in base_names()
    assert facts_of(base).gpus
    pytester.makepyfile(f"import pytest\n@pytest.mark.gpu({marker})\ndef test_it(): pass\n")
    result = run(pytester, f"--gpudoctor-facts={BASES}/{base}.json")
    result.assert_outcomes(passed=int(runs), skipped=int(not runs))


@pytest.mark.parametrize("marker", ["min_memry='8GiB'", "'8GiB'", "min_memory='much'", "count='2'"])
def test_a_bad_marker_is_an_error(pytester: pytest.Pytester, marker: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.gpu({marker})\ndef test_it(): pass\n")
    result = run(pytester, f"--gpudoctor-facts={HEALTHY}")
    result.assert_outcomes(errors=1)
    assert "gpu" in result.stdout.str()


@pytest.mark.parametrize(("arguments", "reads"), [((), "quick=True\n"), (("--gpudoctor",), "quick=False\n")])
def test_the_machine_is_read_once(inner: pytest.Pytester, arguments: tuple[str, ...], reads: str) -> None:
    log = counted(inner, HEALTHY)
    run_apart(inner, *arguments).assert_outcomes(passed=4, skipped=1)
    assert log.read_text() == reads


@pytest.mark.parametrize(("arguments", "reads"), [((), "quick=True\n"), (("--gpudoctor",), "quick=False\n")])
def test_workers_of_xdist_read_the_machine_once(inner: pytest.Pytester, arguments: tuple[str, ...], reads: str) -> None:
    log = counted(inner, HEALTHY)
    run_apart(inner, "-n", "2", *arguments).assert_outcomes(passed=4, skipped=1)
    assert log.read_text() == reads


def test_one_failure_with_xdist_too(inner: pytest.Pytester) -> None:
    log = counted(inner, BROKEN)
    result = run_apart(inner, "-n", "2", "--gpudoctor")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Root cause: no-nvidia-gpu (error)"])
    assert log.read_text() == "quick=False\n"


def test_quick_does_not_start_tensorflow(inner: pytest.Pytester) -> None:
    log = counted(inner, HEALTHY)
    run_apart(inner, "--gpudoctor", "--gpudoctor-quick", "-k", "plain").assert_outcomes(passed=1, deselected=4)
    assert log.read_text() == "quick=True\n"


def test_a_bad_facts_file(inner: pytest.Pytester) -> None:
    result = run(inner, "--gpudoctor", "--gpudoctor-facts=none.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "none.json: No such file" in result.stderr.str()
