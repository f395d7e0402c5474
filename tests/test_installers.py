"""The same advice in the words of each program that keeps an environment: pip, uv, Poetry, conda, mamba."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor import engine
from gpudoctor.findings import Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.rule_case import facts_of

QUICK = {f"tensorflow.{name}": "not started" for name in ("run", "devices", "computations", "events")}
NUMPY = [{"name": "numpy", "version": "2.0.2", "location": "/env"}]
PYTHON = "/home/f/app/.venv/bin/python"


def commands_for(rule: str, changes: dict[str, Any], absent: dict[str, str] | None = None) -> tuple[str, ...]:
    """Return the commands that are printed for a rule on a desktop with a healthy GPU."""
    facts = facts_of("desktop-rtx4090", set=changes, unknown=QUICK, absent=absent)
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.FACTS))
    assert rule in {finding.rule for finding in report.findings}
    return next(remedy.commands for remedy in report.remedies if rule in remedy.fixes)


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        ({"python.installer": "pip"}, (f"{PYTHON} -m pip install 'numpy<2'",)),
        ({"python.installer": "uv"}, (f"uv pip install --python {PYTHON} 'numpy<2'",)),
        ({"python.installer": "poetry"}, ("poetry -C /home/f/app add 'numpy<2'",)),
        (
            {
                "python.installer": "poetry",
                "python.executable": "/home/f/.cache/pypoetry/virtualenvs/app-x1-py3.11/bin/python",
            },
            ("poetry add 'numpy<2'",),
        ),
        (
            {"python.packages": [{**NUMPY[0], "installer": "conda"}], "python.prefix": "/opt/conda/envs/tf"},
            ("conda install -p /opt/conda/envs/tf 'numpy<2'",),
        ),
        (
            {
                "python.packages": [{**NUMPY[0], "installer": "conda"}],
                "python.prefix": "/opt/conda/envs/tf",
                "python.conda_program": "micromamba",
            },
            ("micromamba install -p /opt/conda/envs/tf 'numpy<2'",),
        ),
        (
            {
                "python.installer": "pip",
                "host.os": "windows",
                "tensorflow.version": "2.10.1",
                "python.executable": "C:\\tf env\\Scripts\\python.exe",
            },
            ('& "C:\\tf env\\Scripts\\python.exe" -m pip install "numpy<2"',),
        ),
    ],
    ids=["pip", "uv", "poetry, in the project", "poetry", "conda", "micromamba", "pip on Windows"],
)
def test_one_package_to_another_version(changes: dict[str, Any], commands: tuple[str, ...]) -> None:
    given = {
        "tensorflow.version": "2.15.1",
        "python.packages": NUMPY,
        "python.executable": PYTHON,
        "python.environment_kind": "venv",
        **changes,
    }
    assert commands_for("numpy-abi-mismatch", given) == commands


@pytest.mark.parametrize(
    ("changes", "absent", "commands"),
    [
        (
            {"python.externally_managed": True, "python.ensurepip": False, "python.executable": "/usr/bin/python3"},
            {},
            (
                "sudo apt-get install python3.11-venv",
                "/usr/bin/python3 -m venv tf-env",
                "tf-env/bin/python -m pip install 'tensorflow[and-cuda]==2.15.1' 'numpy<2'",
            ),
        ),
        (
            {"python.externally_managed": True, "python.ensurepip": True, "python.executable": "/usr/bin/python3"},
            {},
            (
                "/usr/bin/python3 -m venv tf-env",
                "tf-env/bin/python -m pip install 'tensorflow[and-cuda]==2.15.1' 'numpy<2'",
            ),
        ),
        (
            {"python.environment_kind": "system", "python.executable": "/usr/bin/python3", "python.ensurepip": False},
            {"python.installer": "no pip"},
            ("sudo apt-get install python3-pip", "/usr/bin/python3 -m pip install 'numpy<2'"),
        ),
        (
            {"python.ensurepip": False},
            {"python.installer": "no pip"},
            (
                "sudo apt-get install python3.11-venv",
                f"{PYTHON} -m ensurepip",
                f"{PYTHON} -m pip install 'numpy<2'",
            ),
        ),
        (
            {"python.ensurepip": False, "host.distribution_id": "fedora"},
            {"python.installer": "no pip"},
            (f"{PYTHON} -m ensurepip", f"{PYTHON} -m pip install 'numpy<2'"),
        ),
    ],
    ids=["PEP 668 without venv", "PEP 668", "the system's Python without pip", "an environment without pip", "Fedora"],
)
def test_what_debian_keeps_in_packages_of_its_own(
    changes: dict[str, Any], absent: dict[str, str], commands: tuple[str, ...]
) -> None:
    given = {
        "host.distribution_id": "ubuntu",
        "tensorflow.version": "2.15.1",
        "python.version": "3.11.2",
        "python.packages": NUMPY,
        "python.executable": PYTHON,
        "python.environment_kind": "venv",
        **changes,
    }
    assert commands_for("numpy-abi-mismatch", given, absent) == commands


@pytest.mark.parametrize(
    ("installer", "commands"),
    [
        (
            "uv",
            (
                f"uv pip uninstall --python {PYTHON} tensorflow-cpu",
                f"uv pip install --python {PYTHON} 'tensorflow[and-cuda]==2.21.0'",
            ),
        ),
        (
            "poetry",
            (
                "poetry -C /home/f/app remove tensorflow-cpu",
                "poetry -C /home/f/app add 'tensorflow[and-cuda]==2.21.0'",
            ),
        ),
        (
            None,
            (
                f"{PYTHON} -m ensurepip",
                f"{PYTHON} -m pip uninstall -y tensorflow-cpu",
                f"{PYTHON} -m pip install 'tensorflow[and-cuda]==2.21.0'",
            ),
        ),
    ],
    ids=["uv", "poetry", "none"],
)
def test_another_tensorflow(installer: str | None, commands: tuple[str, ...]) -> None:
    """Of these only the environment of uv and the last have no pip: `python -m pip` would fail there."""
    changes = {
        "tensorflow.distribution": "tensorflow-cpu",
        "tensorflow.cuda_build": False,
        "python.executable": PYTHON,
        "python.chosen_by": "--python",
        "python.environment_kind": "venv",
        **({"python.installer": installer} if installer else {}),
    }
    absent = {} if installer else {"python.installer": "package metadata: no pip"}
    given = commands_for("cpu-only-tensorflow", changes, absent)
    assert given[:-1] == commands
    assert given[-1].startswith("export LD_LIBRARY_PATH=")  # for the library that its own search path leaves out


@pytest.mark.parametrize(
    ("version", "commands"),
    [
        (
            "2.13.1",
            (
                "mamba install -p /opt/conda/envs/tf -c conda-forge cudatoolkit=11.8.0",
                "/opt/conda/envs/tf/bin/python -m pip install nvidia-cudnn-cu11==8.6.0.163",
                "export LD_LIBRARY_PATH=/opt/conda/envs/tf/lib:"
                "/opt/conda/envs/tf/lib/python3.11/site-packages/nvidia/cudnn/lib",
            ),
        ),
        (
            "2.10.1",
            (
                "mamba install -p /opt/conda/envs/tf -c conda-forge cudatoolkit=11.2.2 cudnn=8.1.0",
                "export LD_LIBRARY_PATH=/opt/conda/envs/tf/lib",
            ),
        ),
    ],
)
def test_the_cuda_libraries_by_conda_are_those_of_the_table(version: str, commands: tuple[str, ...]) -> None:
    changes: dict[str, Any] = {
        "tensorflow.version": version,
        "tensorflow.built_with_cuda": "11.8" if version == "2.13.1" else "11.2",
        "tensorflow.location": "/opt/conda/envs/tf/lib/python3.11/site-packages/tensorflow",
        "libraries.found": [],
        "python.executable": "/opt/conda/envs/tf/bin/python",
        "python.environment_kind": "conda",
        "python.installer": "pip",
        "python.conda_program": "mamba",
        "python.prefix": "/opt/conda/envs/tf",
    }
    assert commands_for("cuda-libs-missing", changes) == commands
