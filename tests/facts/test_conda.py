"""conda's virtual packages, asked of programs that answer as conda and mamba do, or not at all."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gpudoctor.facts.collect import NOT_ASKED, collect
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, CondaPackage, Known, Unknown
from gpudoctor.facts.probes.conda import program_name, virtual_packages
from gpudoctor.facts.probes.target import choose_target
from tests.test_host import wait_until_gone

CUDA = CondaPackage(name="__cuda", version="12.2", build="0")
GLIBC = CondaPackage(name="__glibc", version="2.36", build="0")
# As conda 24 and micromamba 2 print it; of the rest nothing may be kept.
OF_CONDA = {"rc_path": "/home/someone/.condarc", "virtual_pkgs": [["__glibc", "2.36", "0"], ["__cuda", "12.2", "0"]]}
OF_MAMBA = {"user config files": ["/home/someone"], "virtual packages": ["__glibc=2.36=0", "__cuda=12.2=0"]}


def program(path: Path, answer: object = None, *, code: int = 0, script: str = "") -> Path:
    """Make a stand-in for conda."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = answer if isinstance(answer, str) else json.dumps(answer)
    says = f"#!/bin/sh\n[ \"$1 $2\" = 'info --json' ] || exit 9\ncat <<'X'\n{text}\nX\nexit {code}\n"
    path.write_text(script or says)
    path.chmod(0o755)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return the root of a conda environment below an installation of conda."""
    folder = tmp_path / "conda" / "envs" / "tf"
    (folder / "conda-meta").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


def ask(environment: Path, timeout: float = 60, **variables: str) -> object:
    host = Host(environ={"PATH": os.environ["PATH"], **variables})
    return virtual_packages(host, choose_target(host, str(environment)), timeout)


@pytest.mark.parametrize(("name", "answer"), [("conda", OF_CONDA), ("micromamba", OF_MAMBA)])
def test_what_conda_and_mamba_say(environment: Path, name: str, answer: object) -> None:
    program(environment.parent.parent / "bin" / name, answer)
    assert ask(environment) == Known((GLIBC, CUDA), f"{name} info")


def test_the_environments_own_conda_comes_before_the_users(environment: Path, tmp_path: Path) -> None:
    assert isinstance(ask(environment, PATH=str(tmp_path)), Unknown)
    program(tmp_path / "path" / "mamba", {"virtual packages": ["__unix=0=0"]})
    assert ask(environment, PATH=f"{tmp_path / 'path'}:/bin:/usr/bin") == Known(
        (CondaPackage(name="__unix", version="0", build="0"),), "mamba info"
    )
    program(tmp_path / "exe" / "micromamba", {"virtual packages": ["__linux=6=0"]})
    found = ask(environment, PATH=f"{tmp_path / 'path'}:/bin:/usr/bin", MAMBA_EXE=str(tmp_path / "exe" / "micromamba"))
    assert isinstance(found, Known) and found.source == "micromamba info"
    program(environment.parent.parent / "condabin" / "conda", OF_CONDA)
    assert ask(environment, PATH=f"{tmp_path / 'path'}:/bin:/usr/bin") == Known((GLIBC, CUDA), "conda info")


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        ({"virtual_pkgs": []}, 3, "ended with exit status 3"),
        ("an error", 0, "gave no readable answer"),
        ({"conda_version": "4.7.12"}, 0, "names no virtual packages; it may be too old for them"),
        ([1], 0, "names no virtual packages; it may be too old for them"),
    ],
)
def test_an_answer_that_tells_nothing_is_unknown(environment: Path, answer: object, code: int, reason: str) -> None:
    path = program(environment.parent.parent / "bin" / "conda", answer, code=code)
    assert ask(environment) == Unknown(f"{path} info --json {reason}")


def test_a_conda_that_hangs_is_given_up_and_ended(environment: Path, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program(environment.parent.parent / "bin" / "conda", script=f"#!/bin/sh\necho $$ > {mark}\nexec sleep 1000\n")
    found = ask(environment, timeout=3)
    assert isinstance(found, Unknown) and "did not answer within 3 s" in found.reason
    if mark.exists():
        assert wait_until_gone(int(mark.read_text()))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\nexec yes\n", "prints without end"),
        ("#!/bin/sh\nhead -c 4000 /dev/urandom\n", "gave no readable answer"),
        ("#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' '['\n", "gave no readable answer"),
        ("#!/bin/sh\nhead -c 3000000 /dev/zero >&2\n", "gave no readable answer"),
        ("#!/bin/sh\nkill -9 $$\n", "ended with exit status -9"),
    ],
)
def test_a_conda_that_prints_rubbish(environment: Path, script: str, reason: str) -> None:
    path = program(environment.parent.parent / "bin" / "conda", script=script)
    assert ask(environment) == Unknown(f"{path} info --json {reason}")


def test_a_conda_that_cannot_be_started(environment: Path) -> None:
    path = program(environment.parent.parent / "bin" / "conda", script="#!/nowhere/python\n")
    assert ask(environment) == Unknown(f"{path} info --json could not be started: No such file or directory")


def test_the_program_that_changes_the_environment_is_told_without_starting_it(environment: Path) -> None:
    host = Host(environ={"PATH": "/nowhere"})
    target = choose_target(host, str(environment))
    assert program_name(host, target) == Absent("no conda, mamba or micromamba was found")
    path = program(environment.parent.parent / "bin" / "micromamba", script="#!/nowhere\n")
    assert program_name(host, target) == Known("micromamba", str(path))


def test_outside_conda_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert ask(tmp_path) == Absent("no conda environment")


def test_only_the_full_check_asks(environment: Path, tmp_path: Path) -> None:
    mark = tmp_path / "asked"
    program(environment.parent.parent / "bin" / "conda", script=f"#!/bin/sh\ntouch {mark}\n")
    host = Host(environ={"PATH": os.environ["PATH"]})
    facts = collect(host, python=str(environment), start_tensorflow=False, driver_seconds=60).facts
    assert facts.python.conda_virtual_packages in (NOT_ASKED, Absent("no conda environment"))
    assert not mark.exists()
