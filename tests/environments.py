"""Stand-in Python environments: a real interpreter over a folder of site-packages that a test fills."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.probes.target import Target

MINORS = range(6, 14)
LICENCE = "# Copyright 2020 The TensorFlow Authors. All Rights Reserved.\n"
# As in the wheel of 2.21.0; from 2.3 on all have this form.
BUILD_INFO_2_21 = (
    LICENCE
    + '"""Auto-generated module providing information about the build."""\nimport collections\n\n'
    + "build_info = collections.OrderedDict([('cpu_compiler', 'clang'), ('cuda_compute_capabilities', "
    + "['sm_60', 'sm_70', 'sm_80', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), "
    + "('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n"
)
# As in the wheels of 1.15 to 2.2.
BUILD_INFO_1_15 = (
    LICENCE
    + '"""Generates a Python module containing information about the build."""\n'
    + "from __future__ import absolute_import\nfrom __future__ import division\n"
    + "from __future__ import print_function\n\n"
    + "is_rocm_build = False\nis_cuda_build = True\n\ncuda_version_number = '10'\ncudnn_version_number = '7'\n"
)
REQUIRES_2_21 = (
    "absl-py>=1.0.0",
    "protobuf<8.0.0,>=6.31.1",
    "numpy>=1.26.0",
    "keras>=3.12.0",
    'nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"',
    'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',
)


@functools.cache
def interpreters() -> dict[int, str]:
    """Return a working interpreter for each minor version of Python 3 that is found here."""
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    candidates = [sys.executable]
    candidates += [str(p) for root in roots if root for p in sorted(Path(root).glob("versions/3.*/bin/python"))]
    candidates += [path for minor in MINORS if (path := shutil.which(f"python3.{minor}"))]
    found: dict[int, str] = {}
    for path in candidates:
        ask = "import sys; print(sys.version_info[1])"
        done = subprocess.run([path, "-I", "-c", ask], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip().isdigit():
            found.setdefault(int(done.stdout), path)
    return found


def interpreter(minor: int) -> str:
    """Return a Python 3.minor, or skip the test."""
    if minor not in interpreters():
        pytest.skip(f"there is no Python 3.{minor} on this machine (looked in pyenv and PATH)")
    return interpreters()[minor]


def write(path: Path, content: str | bytes = "") -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def add_distribution(
    site: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    files: Sequence[str] = (),
    python: str = ">=3.6",
) -> Path:
    """Write what pip leaves of one package: its metadata, and empty files where RECORD lists them."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Requires-Python: {python}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    write(info / "METADATA", "\n".join(lines) + "\n\nVersion: 0.0.0 (this is the long description)\n")
    write(info / "INSTALLER", "pip\n")
    write(info / "RECORD", "".join(f"{file},,\n" for file in (f"{info.name}/METADATA", *files)))
    for file in files:
        if not (site / file).exists():
            write(site / file)
    return info


def add_tensorflow(
    site: Path,
    version: str = "2.21.0",
    build_info: str | None = BUILD_INFO_2_21,
    *,
    name: str = "tensorflow",
    folder: str = "tensorflow",
    requires: Sequence[str] = REQUIRES_2_21,
) -> None:
    """Write a TensorFlow that looks like the real one from outside. folder: tensorflow_core holds the code to 2.1."""
    write(site / folder / "python" / "_pywrap_tensorflow_internal.so", b"\x7fELF")
    if build_info is not None:
        write(site / folder / "python" / "platform" / "build_info.py", build_info)
    write(site / folder / "tools" / "pip_package" / "setup.py", f"_VERSION = '{version}'\n")
    files = [f"{folder}/__init__.py", "tensorflow/__init__.py"]
    add_distribution(site, name, version, requires=requires, files=files)


@dataclass(frozen=True)
class Environment:
    """A virtual environment made by hand: no pip, and a hundred times faster."""

    python: str
    site: Path
    home: Path

    @property
    def target(self) -> Target:
        """Return it as the interpreter to be judged."""
        return Target(path=self.python, chosen_by="--python", reason="a test wants it")

    def host(self, **environ: str) -> Host:
        """Return this machine with a bare environment."""
        return Host(environ={"PATH": os.environ["PATH"], "HOME": str(self.home), **environ})


def make_environment(folder: Path, minor: int = sys.version_info[1]) -> Environment:
    """Make an empty environment on Python 3.minor."""
    base = interpreter(minor)
    python = folder / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    real = subprocess.run(
        [base, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    ).stdout.strip()
    python.symlink_to(Path(real) / "bin" / f"python3.{minor}")
    write(folder / "env" / "pyvenv.cfg", f"home = {real}/bin\ninclude-system-site-packages = false\n")
    site = folder / "env" / "lib" / f"python3.{minor}" / "site-packages"
    site.mkdir(parents=True)
    (folder / "home").mkdir()
    return Environment(str(python), site, folder / "home")
