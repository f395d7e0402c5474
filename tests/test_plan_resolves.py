"""The printed commands against the package index: outside the default run, since it downloads whole wheels."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from gpudoctor import compat
from gpudoctor.compat import Os
from gpudoctor.compat.rows import Wheel
from gpudoctor.plan import Machine, install_commands
from gpudoctor.plan.stack import build_stack
from tests.environments import interpreters


def served() -> list[Wheel]:
    """The newest CUDA wheel of each minor version of TensorFlow, newest first."""
    newest: dict[tuple[int, ...], Wheel] = {}
    for wheel in compat.cuda_wheels("linux-x86_64"):
        newest.setdefault(compat.version(wheel.tensorflow).release[:2], wheel)
    return list(newest.values())


@pytest.mark.slow
@pytest.mark.parametrize("wheel", served(), ids=lambda wheel: str(wheel.tensorflow))
def test_the_printed_command_resolves(wheel: Wheel, tmp_path: Path) -> None:
    """Needs an interpreter that the release is published for, with a pip that has --dry-run."""
    known = interpreters()
    fitting = [minor for minor in known if f"3.{minor}" in compat.pythons_of(wheel)]
    if not fitting:
        pytest.skip(f"no interpreter here for tensorflow {wheel.tensorflow}")
    environment = tmp_path / "env"
    subprocess.run([known[max(fitting)], "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    helped = subprocess.run([python, "-m", "pip", "install", "--help"], capture_output=True, text=True, check=True)
    if "--dry-run" not in helped.stdout:
        pytest.skip(f"the pip of Python 3.{max(fitting)} has no --dry-run")
    machine = Machine(os=Os.LINUX, compute_capabilities=("6.1",))
    code = compat.gpu_code_of_release(wheel.tensorflow, wheel.platform, "6.1")
    (command,) = install_commands(build_stack(wheel, code, machine, ()), python)
    words = [*shlex.split(command), "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
