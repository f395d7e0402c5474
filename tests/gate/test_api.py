"""gpudoctor.check and gpudoctor.require, and how a report shows itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import gpudoctor
from gpudoctor import api
from gpudoctor.facts import codec
from gpudoctor.policy.read import PolicyError
from gpudoctor.report import text
from tests.rule_case import BASES

DESKTOP, LAPTOP = BASES / "desktop-rtx4090.json", BASES / "laptop-940m.json"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_shows_itself() -> None:
    report = gpudoctor.check(facts=LAPTOP)
    assert isinstance(report, gpudoctor.Report)
    assert not report.ready
    assert str(report) == text.render(report)
    assert "Root cause: driver-too-old-for-cuda" in report._repr_html_()
    assert gpudoctor.check(facts=DESKTOP).ready


def test_require_raises_with_the_text_of_the_report() -> None:
    assert gpudoctor.require(facts=DESKTOP, min_free_memory="6GiB").ready
    with pytest.raises(gpudoctor.EnvironmentNotReady) as caught:
        gpudoctor.require(facts=DESKTOP, min_free_memory="60 GiB", fail_on="error")
    shown = str(caught.value)
    assert shown.startswith("one root cause: gpu-memory-not-free\n\n[")
    assert "Root cause: gpu-memory-not-free" in shown
    assert caught.value.report.findings[0].rule == "gpu-memory-not-free"
    assert isinstance(caught.value, RuntimeError)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own)
    assert (str(again), again.report) == (shown, caught.value.report)


def test_what_was_asked_and_could_not_be_told_is_not_ready() -> None:
    with pytest.raises(gpudoctor.EnvironmentNotReady, match="it could not be told"):
        gpudoctor.require(facts=DESKTOP, min_images_per_second=1)


def test_the_policy_of_the_folder_counts(here: Path) -> None:
    (here / "gpudoctor.toml").write_text("min_gpus = 2\nfail_on = 'never'\n")
    report = gpudoctor.check(facts=DESKTOP)
    assert [item.rule for item in report.findings if item.severity > 0] == ["too-few-gpus"]
    assert report.ready
    assert not gpudoctor.check(facts=DESKTOP, fail_on="error").ready
    assert gpudoctor.check(facts=DESKTOP, fail_on="error", min_gpus=1).ready
    assert gpudoctor.check(facts=DESKTOP, policy=False).policy is None
    (here / "other.toml").write_text("min_gpus = 1\n")
    assert gpudoctor.check(facts=DESKTOP, policy="other.toml", fail_on="error").ready


def test_select_ignore_and_expect() -> None:
    assert gpudoctor.check(facts=LAPTOP, expect="cpu").ready
    report = gpudoctor.check(facts=LAPTOP, ignore=["driver-too-old-for-cuda"])
    assert [item.rule for item in report.findings if item.severity > 0] == ["gpu-arch-too-old-for-wheel"]
    report = gpudoctor.check(facts=LAPTOP, select=["hardware"])
    assert report.findings == ()


def test_what_cannot_be_asked() -> None:
    with pytest.raises(PolicyError, match="there is no key 'min_gpu'; did you mean min_gpus"):
        gpudoctor.check(facts=DESKTOP, min_gpu=1)  # type: ignore[call-arg]
    with pytest.raises(PolicyError, match="min_memory has to be a size"):
        gpudoctor.check(facts=DESKTOP, min_memory="much")
    with pytest.raises(codec.FactsFileError):
        gpudoctor.check(facts="none.json")


def test_the_interpreter_that_runs_this_is_judged() -> None:
    facts = api.read_machine(quick=True)
    assert facts.python.executable.get() == sys.executable


def test_importing_is_light_and_does_not_import_tensorflow() -> None:
    code = "import gpudoctor, sys; print(sorted({name.split('.')[0] for name in sys.modules}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"msgspec", "typer", "rich", "packaging", "tensorflow", "importlib.metadata"} & set(eval(shown))  # noqa: S307
    code = (
        f"import gpudoctor, sys; gpudoctor.check(facts={str(DESKTOP)!r}, min_gpus=1);"
        "print({'tensorflow', 'numpy', 'typer', 'rich'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_what_is_not_there() -> None:
    assert {"check", "require", "Report", "EnvironmentNotReady"} <= set(gpudoctor.__all__)
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        gpudoctor.chekc  # noqa: B018


def test_a_notebook_shows_the_report(here: Path) -> None:
    """An executed notebook, with the kernel of this interpreter."""
    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    sources = [
        f"import gpudoctor\ngpudoctor.check(facts={str(LAPTOP)!r})",
        f"gpudoctor.require(facts={str(LAPTOP)!r})",
    ]
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(here)}})
    client.execute()
    (shown,) = notebook.cells[0].outputs
    page = shown["data"]["text/html"]
    assert page.startswith("<style>")
    assert "Root cause: driver-too-old-for-cuda" in page
    (raised,) = notebook.cells[1].outputs
    assert raised["ename"] == "EnvironmentNotReady"
    assert raised["evalue"].startswith("2 root causes: driver-too-old-for-cuda; gpu-arch-too-old-for-wheel")
