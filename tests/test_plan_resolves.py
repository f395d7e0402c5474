"""The printed commands against the package index: outside the default run, since it downloads whole wheels."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from gpudoctor.compat import Os
from gpudoctor.plan.answer import by_release, plan
from gpudoctor.plan.commands import python_for
from gpudoctor.plan.model import Machine, Stack
from gpudoctor.plan.ways import WayKind, requirements_txt, ways
from tests.environments import interpreters

# A GPU that some cuDNN has dropped, and whose code is in the wheels of many years; and one for which it has not.
MACHINES = {"6.1": Machine(os=Os.LINUX, compute_capabilities=("6.1",)), "8.9": Machine(os=Os.LINUX)}


def printed() -> list[tuple[str, Stack]]:
    """The newest stack of each minor release that plan prints, newest first; the same words once."""
    found: dict[tuple[str, ...], tuple[str, Stack]] = {}
    for name, machine in MACHINES.items():
        for stack in by_release(plan(machine)):
            found.setdefault(stack.requirements, (f"{stack.tensorflow}-{name}", stack))
    return list(found.values())


def fitting(stack: Stack) -> int:
    """The newest interpreter here that the release has wheels for, as its minor number."""
    here = [minor for minor in interpreters() if f"3.{minor}" in stack.pythons]
    if not here:
        pytest.skip(f"no interpreter here for tensorflow {stack.tensorflow}")
    return max(here)


def make_environment(place: Path, minor: int) -> str:
    """Make a virtual environment whose pip has --dry-run; return its interpreter."""
    subprocess.run([interpreters()[minor], "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    if not _dry_runs(python):  # as that of Python 3.7, whose newest has it
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=True)
        assert _dry_runs(python)
    return python


def _dry_runs(python: str) -> bool:
    asked = [python, "-m", "pip", "install", "--help"]
    return "--dry-run" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("stack", [stack for _, stack in printed()], ids=[name for name, _ in printed()])
def test_the_printed_command_resolves(stack: Stack, tmp_path: Path) -> None:
    """The environment is made by the interpreter at hand, not by the one printed."""
    make_environment(tmp_path / "tf-env", fitting(stack))
    way = next(way for way in ways(stack) if way.kind is WayKind.PIP)
    make, install = map(shlex.split, way.commands[:2])
    assert make == [f"python{python_for(stack)}", "-m", "venv", "tf-env"]
    (tmp_path / "requirements.txt").write_text(requirements_txt(stack), "utf-8")
    for words in (install, [*install[: install.index("install") + 1], "-r", "requirements.txt"]):
        dry = [*words, "--dry-run", "--ignore-installed", "--quiet"]
        done = subprocess.run(dry, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
