"""Which interpreter is judged, and what the user is told about the choice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.probes.target import choose_target
from tests.environments import write


def python_in(folder: Path, name: str = "bin/python", mode: int = 0o755) -> str:
    path = write(folder / name, "#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def test_own_when_nothing_is_active() -> None:
    target = choose_target(Host(environ={}))
    assert (target.path, target.chosen_by, target.problem) == (sys.executable, "own", "")
    assert target.reason == "No environment is active, so this is the Python that runs gpudoctor."


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_active_environment(tmp_path: Path, variable: str) -> None:
    path = python_in(tmp_path)
    target = choose_target(Host(environ={variable: str(tmp_path)}))
    assert (target.path, target.chosen_by, target.problem) == (path, variable, "")
    assert target.reason == f"{variable} names {tmp_path}."


def test_virtual_environment_before_conda(tmp_path: Path) -> None:
    python_in(tmp_path / "conda")
    path = python_in(tmp_path / "venv")
    environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "VIRTUAL_ENV": str(tmp_path / "venv")}
    assert choose_target(Host(environ=environ)).path == path


def test_active_environment_that_is_gone(tmp_path: Path) -> None:
    path = python_in(tmp_path / "conda")
    environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "VIRTUAL_ENV": "/nowhere"}
    target = choose_target(Host(environ=environ))
    assert (target.path, target.chosen_by) == (path, "CONDA_PREFIX")
    assert target.reason == (
        f"VIRTUAL_ENV names /nowhere, which holds no Python that can be started. CONDA_PREFIX names {tmp_path}/conda."
    )


def test_empty_variable_is_not_set() -> None:
    assert choose_target(Host(environ={"VIRTUAL_ENV": "", "CONDA_PREFIX": ""})).chosen_by == "own"


def test_named_file_before_everything(tmp_path: Path) -> None:
    python_in(tmp_path / "venv")
    path = python_in(tmp_path, "mine/python3.9")
    target = choose_target(Host(environ={"VIRTUAL_ENV": str(tmp_path / "venv")}), path)
    assert (target.path, target.chosen_by, target.problem) == (path, "--python", "")


@pytest.mark.parametrize("name", ["bin/python", "bin/python3", "Scripts/python.exe", "python.exe"])
def test_named_folder(tmp_path: Path, name: str) -> None:
    path = python_in(tmp_path, name)
    assert choose_target(Host(environ={}), str(tmp_path)).path == path


def test_links_are_not_followed(tmp_path: Path) -> None:
    real = python_in(tmp_path, "real/python")
    link = tmp_path / "venv/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    assert choose_target(Host(environ={}), str(tmp_path / "venv")).path == str(link)


def test_named_command(tmp_path: Path) -> None:
    path = python_in(tmp_path, "python3.99")
    assert choose_target(Host(environ={"PATH": str(tmp_path)}), "python3.99").path == path


def test_named_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = python_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert choose_target(Host(environ={}), "bin/python").path == path


def test_named_file_that_is_missing() -> None:
    assert choose_target(Host(environ={"PATH": ""}), "/nowhere/python").problem == "there is no /nowhere/python"
    assert choose_target(Host(environ={"PATH": ""}), "python3.99").problem == "there is no python3.99"


def test_named_file_that_may_not_be_executed(tmp_path: Path) -> None:
    path = python_in(tmp_path, mode=0o644)
    assert choose_target(Host(environ={}), path).problem == f"{path} may not be executed by this user"


def test_named_folder_without_python(tmp_path: Path) -> None:
    problem = choose_target(Host(environ={}), str(tmp_path)).problem
    assert problem == f"{tmp_path} is a folder without a Python that can be started (looked for bin/python)"
