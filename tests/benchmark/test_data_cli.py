"""gpudoctor data make, list, clear."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpudoctor.benchmark.data import Spec
from gpudoctor.benchmark.data_model import Progress
from gpudoctor.benchmark.options import IMAGES, VALIDATION_IMAGES, Effort
from gpudoctor.cli import app
from gpudoctor.cli.data import make
from gpudoctor.cli.images_bar import bar
from gpudoctor.facts.host import ChildRun, Host


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "gpudoctor" / "images"


def test_make_list_clear(cache: Path) -> None:
    run = CliRunner()
    assert run.invoke(app, ["data", "list"]).stdout == "0 set(s), 0.0 MB\n"
    made = run.invoke(app, ["data", "make", "--images", "3", "--validation", "2", "--seed", "9"])
    assert made.exit_code == 0
    first, how, pixels = made.stdout.splitlines()
    (folder,) = cache.iterdir()
    assert re.fullmatch(rf"5 images, 0\.\d MB, in {folder}", first)
    assert re.fullmatch(r"Made now, in [\d.]+ s, 1 at a time\.", how)
    assert re.fullmatch(r"pixels: [0-9a-f]{64}", pixels)
    assert len(os.listdir(folder / "train" / "cats")) == 2
    listed = run.invoke(app, ["data", "list"]).stdout
    assert re.match(rf"{folder}: 5 images, 0\.\d MB, seed 9, last used \d{{4}}-\d\d-\d\d \d\d:\d\d\n1 set", listed)
    assert run.invoke(app, ["data", "clear"]).stdout.startswith("removed 1 set(s), 0.")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--images", "1"], "Invalid value for '--images'"),
        (["--python", "/nowhere/python"], "gpudoctor: there is no /nowhere/python\n"),
        (["--python", "{sh}"], "gpudoctor: drawing images failed: {sh} ended with exit status 7 (no Python here)\n"),
    ],
)
def test_make_tells_why_it_cannot(cache: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    script = tmp_path / "sh"
    script.write_text("#!/bin/sh\necho no Python here >&2\nexit 7\n")
    script.chmod(0o755)
    run = CliRunner().invoke(app, ["data", "make", *(argument.format(sh=script) for argument in arguments)])
    assert run.exit_code == 2
    assert message.format(sh=script) in run.stderr


def test_interrupt_is_told_by_the_exit_status(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object, **_more: object) -> ChildRun:
        raise KeyboardInterrupt

    monkeypatch.setattr(Host, "run_child", interrupt)
    assert CliRunner().invoke(app, ["data", "make"]).exit_code == 130
    assert list(cache.iterdir()) == []


def test_makes_what_bench_asks_for() -> None:
    defaults = {name: option.default for name, option in inspect.signature(make).parameters.items()}
    by_bench = Spec(images=IMAGES[Effort.NORMAL], validation=VALIDATION_IMAGES[Effort.NORMAL], seed=0)
    assert by_bench == Spec(images=defaults["images"], validation=defaults["validation"], seed=defaults["seed"])


def test_bar() -> None:
    assert bar(Progress("drawing images", 0, 1200)) == f"drawing images [{'.' * 30}] 0 of 1,200"
    assert bar(Progress("drawing images", 600, 1200)) == f"drawing images [{'#' * 15}{'.' * 15}] 600 of 1,200"
    assert bar(Progress("checking images", 5, 5)) == f"checking images [{'#' * 30}] 5 of 5"
