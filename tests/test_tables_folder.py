"""Newer tables than the bundled, and the command that shows tables: in processes of their own, since answers last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.compat.bundle import read_bytes

Change = Callable[[dict[str, Any]], object]


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "gpudoctor", *words]
    return subprocess.run(
        argv, env={**os.environ, **environ}, capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def write(folder: Path, name: str, change: Change) -> Path:
    table = json.loads(read_bytes(name))
    change(table)
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(table), "utf-8")
    return path


def newer_wheels(table: dict[str, Any]) -> None:
    table["retrieved"] = "2027-06-01"
    rows = table["rows"]
    newest = next(row for row in rows if (row["tensorflow"], row["platform"]) == ("2.21.0", "linux-x86_64"))
    rows.insert(0, {**newest, "tensorflow": "2.23.0", "pythons": [*newest["pythons"], "cp314"]})


def newer_code(table: dict[str, Any]) -> None:
    newest = next(row for row in table["rows"] if row["tensorflow"] == "2.21.0")
    table["rows"].insert(0, {**newest, "tensorflow": "2.23.0"})


def newer_pins(table: dict[str, Any]) -> None:
    table["rows"] += [{**row, "tensorflow": "2.23.0"} for row in table["rows"] if row["tensorflow"] == "2.21.0"]


def newer_routes(table: dict[str, Any]) -> None:
    table["rows"][0]["to_tensorflow"] = "2.23.0"


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    for name, change in (
        ("tensorflow_wheels", newer_wheels),
        ("gpu_code", newer_code),
        ("cuda_pins", newer_pins),
        ("pip_routes", newer_routes),
    ):
        write(folder, name, change)
    return folder


def test_a_release_that_only_the_newer_tables_have(newer: Path) -> None:
    words = ("plan", "--gpu", "4090", "--driver", "580.65.06", "--os", "linux", "--python", "3.14")
    assert "2.23.0" not in run(*words).stdout
    for done in (run(*words, "--tables", str(newer)), run(*words, GPUDOCTOR_TABLES=str(newer))):
        assert done.returncode == 0
        assert "Best: TensorFlow 2.23.0" in done.stdout
        assert "3.14 (there are wheels for 3.10 to 3.14)" in done.stdout


def test_every_command_uses_those_of_the_environment(newer: Path) -> None:
    listed = run("tables", GPUDOCTOR_TABLES=str(newer)).stdout
    assert "tensorflow_wheels     2027-06-01   709 rows" in listed
    assert "keras                 2026-11-30" in listed
    facts = str(Path(__file__).parent / "facts_base" / "no-gpu.json")
    report = json.loads(run("check", "--facts", facts, "--format", "json", GPUDOCTOR_TABLES=str(newer)).stdout)
    assert report["tables"]["tensorflow_wheels"] == "2027-06-01"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "keras",
            lambda table: table["rows"][3].pop("generation"),
            "missing required field `generation` - at `$.rows[3]`",
        ),
        ("keras", lambda table: table["rows"][3].update(generation="3"), "- at `$.rows[3].generation`"),
        (
            "keras",
            lambda table: table["rows"][3].update(tensorflow="x"),
            "'x' is not a version - at `$.rows[3].tensorflow`",
        ),
        ("keras", lambda table: table["rows"][0].update(source=99), "no source 99 - at `$.rows[0].source`"),
        ("keras", lambda table: table.update(retrieved="soon"), "'soon' is no date - at `$.retrieved`"),
        ("keras", lambda table: table.update(schema=2), "schema 2 of 'keras', expected 1"),
        ("gpus", lambda table: table["rows"][1].update(compute_capability="8"), "- at `$.rows[1].compute_capability`"),
    ],
)
def test_a_fault_is_told_with_file_and_place(tmp_path: Path, name: str, change: Change, message: str) -> None:
    path = write(tmp_path / "tables", name, change)
    done = run("tables", "--tables", str(path.parent))
    assert (done.returncode, done.stdout) == (2, "")
    assert str(path) in done.stderr
    assert message in done.stderr


def test_a_folder_that_is_none_of_tables(tmp_path: Path) -> None:
    assert "holds no table" in run("tables", "--tables", str(tmp_path)).stderr
    (tmp_path / "mine.json").write_text("{}", "utf-8")
    done = run("plan", "--gpu", "4090", GPUDOCTOR_TABLES=str(tmp_path))
    assert done.returncode == 2
    assert "mine.json is no table; tables are conda_cuda, " in done.stderr
    (tmp_path / "mine.json").rename(tmp_path / "keras.json")
    assert "keras.json: Object missing required field" in run("tables", "--tables", str(tmp_path)).stderr


@pytest.mark.parametrize(
    ("words", "has", "lacks"),
    [
        (("tensorflow", "2.10"), "package: tensorflow-gpu; platform: win-amd64", "2.1.4"),
        (
            ("tensorflow", "2.12.0"),
            "from_tensorflow: 2.12.0; to_tensorflow: 2.13.1; packages: cudatoolkit=11.8.0",
            "tensorflow: 2.12.1; package",
        ),
        (("gpus", "940M"), "name: GeForce 940M; compute_capability: 5.0", "GeForce 940A"),
        (("driver_branches", "470"), "branch: 470; cuda_max: 11.4", "branch: 460"),
    ],
)
def test_rows_are_shown_with_their_source(words: tuple[str, ...], has: str, lacks: str) -> None:
    done = run("tables", "show", *words)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert has in text
    assert lacks not in text
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_is_not_there() -> None:
    assert run("tables", "show", "gpus", "RTX 9090").returncode == 1
    done = run("tables", "show", "nothing")
    assert done.returncode == 2
    assert "there is no table 'nothing'" in done.stderr
