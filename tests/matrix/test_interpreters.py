"""The interpreter that is to be judged, broken in every way: its facts are unknown with a reason, the rest stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts.model import Facts, Known
from gpudoctor.facts.probes.python_environment import PythonAnswer, read_python
from gpudoctor.facts.probes.target import Target
from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write
from tests.matrix.judged import assert_judged

SECONDS = 60.0


def asked(
    environment: Environment, python: str | None = None, seconds: float = SECONDS, **variables: str
) -> PythonAnswer:
    target = environment.target if python is None else Target(path=python, chosen_by="--python", reason="a test")
    return read_python(environment.host(**variables), target, seconds)


def script(path: Path, text: str) -> str:
    write(path, text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = make_environment(tmp_path)
    add_tensorflow(made.site)
    return made


def absent(folder: Path) -> str:
    return str(folder / "no such python")


def no_python(folder: Path) -> str:
    return script(folder / "shell", "#!/bin/sh\ncat > /dev/null\n")


def binary(folder: Path) -> str:
    path = folder / "binary"
    path.write_bytes(bytes(range(256)))
    path.chmod(0o755)
    return str(path)


def a_folder(folder: Path) -> str:
    return str(folder)


def hangs(folder: Path) -> str:
    return script(folder / "hangs", "#!/bin/sh\nexec sleep 600\n")


def rubbish(folder: Path) -> str:
    return script(folder / "rubbish", "#!/bin/sh\nhead -c 3000000 /dev/urandom; echo '{\"version\": 7}' >&3\nexit 0\n")


def rubbish_on_the_result(folder: Path) -> str:
    return script(folder / "result", "#!/bin/sh\nfor a; do case $a in [0-9]*) echo '[1, {' >&$a;; esac; done\n")


@pytest.mark.parametrize(
    "broken", [absent, no_python, binary, a_folder, hangs, rubbish, rubbish_on_the_result], ids=lambda one: one.__name__
)
def test_what_is_no_python(tmp_path: Path, environment: Environment, broken: Callable[[Path], str]) -> None:
    started = time.monotonic()
    answer = asked(environment, broken(tmp_path), 1.0 if broken is hangs else SECONDS)
    assert time.monotonic() - started < SECONDS
    version = answer.python.version
    assert not isinstance(version, Known) and getattr(version, "reason", "").strip()
    facts = Facts(python=answer.python, tensorflow=answer.tensorflow)
    assert_judged(facts, ("tensorflow-import-fails",))


def known(answer: PythonAnswer, version: str | None = "2.21.0") -> None:
    """The environment was read in spite of all."""
    assert answer.python.version.get() == ".".join(map(str, sys.version_info[:3]))
    assert answer.tensorflow.version.get() == version


def test_a_sitecustomize_that_prints(environment: Environment, tmp_path: Path) -> None:
    noise = "import sys\nprint('{\"version\": 1}' * 1000)\nsys.stderr.write('x\\n')\n"
    write(tmp_path / "noise" / "sitecustomize.py", noise)
    known(asked(environment, PYTHONPATH=str(tmp_path / "noise")))


def test_a_sitecustomize_that_raises(environment: Environment, tmp_path: Path) -> None:
    write(tmp_path / "noise" / "sitecustomize.py", "raise RuntimeError('no')\n")
    known(asked(environment, PYTHONPATH=str(tmp_path / "noise")))


def test_two_thousand_distributions(environment: Environment) -> None:
    for number in range(2000):
        add_distribution(environment.site, f"package-{number}", f"1.{number}")
    started = time.monotonic()
    known(asked(environment))
    assert time.monotonic() - started < SECONDS


METADATA = (b"", b"\xff\xfe\0\0" * 100, b"Name\nVersion", b"Name: x\nVersion: \n", b"Version: 1\n" * 10_000)


@pytest.mark.parametrize("text", METADATA, ids=["empty", "binary", "no-values", "no-version", "long"])
def test_broken_metadata(environment: Environment, text: bytes) -> None:
    for name in ("broken-1.0.dist-info", "numpy-.dist-info", "keras-3.0.0.dist-info", "-0.dist-info"):
        write(environment.site / name / "METADATA", text)
    write(environment.site / "protobuf-5.0.dist-info")  # a file in place of a folder
    os.mkfifo(write(environment.site / "absl-1.0.dist-info" / "x").with_name("RECORD"))
    known(asked(environment))


def test_a_folder_without_permission(environment: Environment) -> None:
    """For root, to whom permissions mean nothing, a link to itself stands for it."""
    closed = environment.site / "closed-1.0.dist-info"
    closed.mkdir()
    if os.geteuid():
        closed.chmod(0)
    else:
        (closed / "METADATA").symlink_to("METADATA")
        (environment.site / "numpy").symlink_to("numpy")
    try:
        known(asked(environment))
    finally:
        closed.chmod(0o755)


@pytest.mark.parametrize("name", ["with space", 'it\'s "quoted"', "$(touch x);&|", "ünïcödé", os.fsdecode(b"\xff\xfe")])
def test_paths_of_any_kind(tmp_path: Path, name: str) -> None:
    try:
        (tmp_path / name).mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    environment = make_environment(tmp_path / name)
    add_tensorflow(environment.site)
    answer = asked(environment)
    known(answer)
    assert_judged(Facts(python=answer.python, tensorflow=answer.tensorflow), ("keras-version-mismatch",))


def test_a_report_on_a_path_that_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff\xfe 'x'")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    environment = make_environment(folder)
    argv = [sys.executable, "-m", "gpudoctor", "check", "--quick", "--python", environment.python, "--format", "json"]
    done = subprocess.run(argv, capture_output=True, check=False, env={**os.environ, "PYTHONUTF8": "1"})
    assert json.loads(done.stdout)["schema"] == 1
    assert b"Traceback" not in done.stderr
