"""A user without any right, with folders on the search paths that may not be entered: each command says what it can."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.facts import codec
from tests.environments import write
from tests.fakes.build import RTX_4090, Profile, build

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="user and mount namespaces of Linux")
NOBODY = 65534
# Interpreter and packages may lie in folders that nobody else may enter: they are mounted where all may, for
# this process alone.
AS_NOBODY = (
    'while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit; done; shift; '
    f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs "$@"'
)


@pytest.fixture
def as_nobody() -> Iterator[tuple[list[str], dict[str, str]]]:
    """The words and variables that let Python run as a user without any right; the GPU is that of a stand-in."""
    if os.geteuid() != 0:
        pytest.skip("run as another user already")
    if not shutil.which("setpriv") or not shutil.which("unshare"):
        pytest.skip("util-linux is not there")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        for path in (folder, *(folder / part for part in ("python", "driver", "packages"))):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        variables = build(Profile(gpus=(RTX_4090,)), folder / "driver")
        variables["LD_LIBRARY_PATH"] += f":{folder / 'python' / 'lib'}"  # where the interpreter's own library lies now
        python = folder / "python" / "bin" / Path(os.path.realpath(sys.executable)).name
        mounts = {sys.base_prefix: "python", sysconfig.get_path("purelib"): "packages"}
        pairs = [word for real, part in mounts.items() for word in (real, str(folder / part))]
        apart = ["unshare", "--mount", "sh", "-c", AS_NOBODY, "sh", *pairs, "--"]
        # With the .pth files of the environment, which an installation for development is made of.
        packages = f"import site\nsite.addsitedir({str(folder / 'packages')!r})\n"
        write(folder / "site" / "sitecustomize.py", packages).parent.chmod(0o755)
        variables |= {"PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
        # A folder that this user may not enter, as others' homes are, on each path that is searched.
        (folder / "closed").mkdir(mode=0o700)
        closed = {name: f"{folder}/closed:{value}" for name, value in {**variables, "PATH": os.environ["PATH"]}.items()
                  if name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")}  # fmt: skip
        variables |= {"HOME": f"{folder}/closed", "VIRTUAL_ENV": f"{folder}/closed/venv", **closed}
        able = subprocess.run([*apart, str(python), "-c", "import gpudoctor, typer, msgspec"], env=variables,
                              cwd="/", capture_output=True, check=False)  # fmt: skip
        if able.returncode:
            pytest.skip(f"another user cannot be played here: {able.stderr.decode('utf-8', 'replace')[-200:]}")
        yield [*apart, str(python), "-m", "gpudoctor"], variables


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "whole"])
def test_no_privilege_is_needed(as_nobody: tuple[list[str], dict[str, str]], quick: bool) -> None:
    words, variables = as_nobody
    argv = [*words, "check", "--format", "json", *(["--quick"] if quick else [])]
    done = subprocess.run(argv, env=variables, cwd="/", capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    report = json.loads(done.stdout)
    assert [check for check in report["checks"] if check["outcome"] == "error"] == []
    facts = codec.decode(json.dumps(report["facts"]).encode())
    assert facts.gpus[0].name.get() == RTX_4090.name
    assert facts.python.version.get() == ".".join(map(str, sys.version_info[:3]))


def test_what_may_not_be_entered_is_said_so(as_nobody: tuple[list[str], dict[str, str]]) -> None:
    words, variables = as_nobody
    python = f"{variables['HOME']}/bin/python"
    argv = [*words, "check", "--quick", "--python", python]
    done = subprocess.run(argv, env=variables, cwd="/", capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr
    assert "cannot be reached by this user" in " ".join(done.stdout.split())


BENCH_SHORT = ("bench", "--quick", "--modes", "cpu", "--images", "32", "--image-size", "48")


@pytest.mark.parametrize(
    ("words", "statuses"),
    [
        (("processes",), (0,)),
        (("snapshot", "--quick"), (0,)),
        (("plan",), (0, 1)),
        (("plan", "--write", "HOME/requirements.txt"), (2,)),
        (("explain", "HOME/log.txt"), (2,)),
        (("check", "--facts", "HOME/facts.json"), (2,)),
        (("check", "--quick", "-o", "json=HOME/report.json"), (2,)),
        (("check", "--quick", "--policy", "HOME/gpudoctor.toml"), (2,)),
        (("policy", "init", "HOME/gpudoctor.toml"), (2,)),
        (("data", "list"), (0,)),
        (("tables", "--tables", "HOME", "list"), (2,)),
        pytest.param(BENCH_SHORT, (2,), marks=pytest.mark.slow),  # its images have nowhere to be kept
    ],
    ids=lambda words: words[0] if isinstance(words[0], str) else "",
)
def test_no_command_fails_on_a_home_that_may_not_be_entered(
    as_nobody: tuple[list[str], dict[str, str]], words: tuple[str, ...], statuses: tuple[int, ...]
) -> None:
    start, variables = as_nobody
    argv = [*start, *(word.replace("HOME", variables["HOME"]) for word in words)]
    done = subprocess.run(argv, env=variables, cwd="/", capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode in statuses, done.stderr


def test_another_users_processes_are_told_without_privilege(as_nobody: tuple[list[str], dict[str, str]]) -> None:
    words, variables = as_nobody
    profile = Path(variables["GPUDOCTOR_FAKE_PROFILE"])
    profile.write_text(f"gpu.0.compute={os.getpid()}:{1 << 30}\n" + profile.read_text())
    done = subprocess.run([*words, "processes", "--format", "json"], env=variables, cwd="/", capture_output=True,
                          check=False)  # fmt: skip
    assert done.stderr == b""
    (found,) = (item for item in json.loads(done.stdout)["gpus"][0]["processes"] if item["pid"] == os.getpid())
    if found["sight"] == "seen":  # not in a PID namespace of our own
        assert (found["user"], found["own"]) == ("other", False)
    assert not any(command.startswith("kill") for command in found["commands"])
