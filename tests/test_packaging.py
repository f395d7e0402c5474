"""What a user installs: wheel, sdist and editable install, each in a new virtual environment, without a network."""

from __future__ import annotations

import json
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.rules.registry import load_rules
from tests.installing import ROOT, build, copy_project, install, new_environment, run

# The packages whose folder is not called like them.
MAPPED = {"compat_tables": "gpudoctor/compat_tables", "bench/workloads": "gpudoctor/workloads"}
# Built once: pytest-xdist keeps a group on one worker.
pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sdist and wheel; the wheel is built from the sdist, as an index would have it."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    (found,) = built.glob("*.tar.gz")
    return found


def shipped() -> set[str]:
    """Return the path in the wheel of each file that has to be there."""
    found = {}
    for folder, place in {"gpudoctor": "gpudoctor", **MAPPED}.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in (".py", ".json", ".typed"):
                found[f"{place}/{path.relative_to(ROOT / folder).as_posix()}"] = path
    return set(found)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert names == shipped()
    assert {"gpudoctor/py.typed", "gpudoctor/compat_tables/gpus.json", "gpudoctor/workloads/__init__.py"} <= names
    assert len(licences) == 1


def test_the_metadata_asks_for_tensorflow_only_in_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    needs = metadata.get_all("Requires-Dist") or []
    assert metadata["Version"] == gpudoctor.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    core = [need for need in needs if "extra ==" not in need]
    assert any(need.startswith("nvidia-ml-py") for need in core)
    assert [need for need in core if need.startswith(("tensorflow", "keras", "numpy", "pillow", "scipy"))] == []
    assert any(need.startswith("tensorflow[and-cuda]") and 'extra == "gpu"' in need for need in needs)


def test_the_sdist_can_be_tested(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"tests/test_packaging.py", "tests/fakes/nvml.c", "compat_tables/gpus.json", "docs/architecture.md"}
    assert wanted <= names
    assert not {name for name in names if name.endswith(".pyc")}


def check_installed(python: Path, elsewhere: Path) -> None:
    """Use the installed program as its user does, from another folder."""
    command = python.parent / "gpudoctor"
    assert run([command, "--version"], elsewhere).stdout == f"gpudoctor {gpudoctor.__version__}\n"
    listed = run([command, "rules"], elsewhere).stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(load_rules(policy=True))
    done = run([python, "-m", "gpudoctor", "check", "--quick", "--format", "json"], elsewhere, ok=(0, 1, 3))
    report = json.loads(done.stdout)
    assert report["tool"] == {"name": "gpudoctor", "version": gpudoctor.__version__}
    assert len(report["checks"]) == len(load_rules())
    assert [item["reason"] for item in report["checks"] if item["outcome"] == "error"] == []
    ask = "import gpudoctor.workloads, gpudoctor.compat_tables as t, gpudoctor as g; print(g.__file__, t.__file__)"
    for file in run([python, "-c", ask], elsewhere).stdout.split():
        assert Path(file).is_file()


def test_an_installed_wheel_works(wheel: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    install(python, wheel)
    check_installed(python, tmp_path)
    where = run([python, "-c", "import gpudoctor; print(gpudoctor.__file__)"], tmp_path).stdout
    assert where.startswith(str(tmp_path / "env"))


def test_an_installed_sdist_works(sdist: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    install(python, sdist)
    check_installed(python, tmp_path)


def test_an_editable_install_works(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    python = new_environment(tmp_path / "env")
    install(python, project, "--editable")
    check_installed(python, tmp_path)
    where = run([python, "-c", "import gpudoctor; print(gpudoctor.__file__)"], tmp_path).stdout
    assert where.startswith(str(project))


def test_the_wheel_works_as_a_zip(wheel: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    done = run([python, "-m", "gpudoctor", "check", "--quick", "--format", "json"], tmp_path, path=wheel, ok=(0, 1, 3))
    report = json.loads(done.stdout)
    assert len(report["checks"]) == len(load_rules())
    assert [item["reason"] for item in report["checks"] if item["outcome"] == "error"] == []
