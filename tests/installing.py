"""Building the project and installing it into new virtual environments, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")
FOLDERS = ("gpudoctor", "compat_tables", "bench", "docs", "tests", "tools")


def run(
    argv: Sequence[str | Path], cwd: Path, *, path: Path | None = None, ok: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Run a command away from the project's folder, deaf to pip's settings of this machine."""
    hidden = ("PIP_", "PYTHON", "VIRTUAL_ENV", "CONDA_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    environ |= {"PIP_CONFIG_FILE": os.devnull, **({"PYTHONPATH": str(path)} if path else {})}
    done = subprocess.run(
        [str(part) for part in argv], cwd=cwd, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in ok, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done


def copy_project(folder: Path) -> Path:
    """Copy what is under version control: building leaves files behind, and several builds may run side by side."""
    folder.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


def new_environment(folder: Path) -> Path:
    """Make a virtual environment that sees our dependencies, but no gpudoctor; return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python3*/site-packages")
    ours = {str(Path(module.__file__ or "").parent.parent) for module in (pytest, msgspec)}
    # An entry of a .pth file is searched, and the .pth files in it are not read: so not an editable gpudoctor either.
    (site / "dependencies.pth").write_text("\n".join(ours) + "\n")
    return folder / "bin" / "python"


def install(python: Path, what: str | Path, *options: str) -> None:
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
    ]
    run([*pip, "--no-build-isolation", "--force-reinstall", *options, what], python.parent)


def build(folder: Path) -> None:
    """Make sdist and wheel in a folder; the wheel is built from the sdist, as an index would have it."""
    project = copy_project(folder / "project")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project], folder)
