"""gpudoctor explain: options and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from typer.testing import CliRunner

from gpudoctor.cli import app
from gpudoctor.findings import Report
from gpudoctor.judging import judge_facts
from gpudoctor.logs.messages import MESSAGES
from gpudoctor.logs.rows.blocks import BLOCKS
from gpudoctor.logs.rows.said import SENTENCES
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.json import json_schema
from tests.logs.test_texts import TEXTS

FOUND, USAGE, NOTHING = 1, 2, 3


def call(*arguments: str | Path, given: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)], input=given, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def ill(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(TEXTS["cudnn-too-old"]["text"], "utf-8")
    return path


def test_the_cause_and_its_line(ill: Path) -> None:
    status, shown, _ = call(ill)
    assert status == FOUND
    assert "Root cause: cudnn-too-old" in shown
    assert "train.log, line 1" in shown


def test_json_by_the_contract(ill: Path, tmp_path: Path) -> None:
    status, shown, _ = call(ill, "--format", "json", "-o", f"json={tmp_path / 'report.json'}")
    report = json.loads(shown)
    assert status == FOUND
    assert report["source"] == {"kind": "text", "names": ["train.log"]}
    jsonschema.validate(report, json_schema())
    assert json.loads((tmp_path / "report.json").read_text("utf-8")) == report


@pytest.mark.parametrize(
    ("options", "folder", "times"),
    [
        ((), "/opt", 1),
        (("--format", "json"), "/opt", 1),
        (("-o", "json=r"), "/opt", 1),
        (("-o", "json=r"), "/home/ann", 2),
    ],
    ids=["shown", "as JSON", "shown and saved", "with a name that is not saved"],
)
def test_it_judges_no_oftener_than_reports_differ(
    *, options: tuple[str, ...], folder: str, times: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ill: Path
) -> None:
    judged: list[object] = []

    def judge(*arguments: Any) -> Report:
        judged.append(arguments)
        return judge_facts(*arguments)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpudoctor.cli.reports.judge_facts", judge)
    assert call(ill, "-", *options, given=f"export LD_LIBRARY_PATH={folder}/lib\n".encode())[0] == FOUND
    assert len(judged) == times


def test_standard_input_and_a_file_together(ill: Path) -> None:
    status, shown, _ = call("-", ill, "--format", "json", given=b"Python 3.9.1\n")
    report = json.loads(shown)
    assert status == FOUND
    assert report["source"]["names"] == ["standard input", "train.log"]
    assert report["facts"]["python"]["version"]["source"] == "standard input:1"


@pytest.mark.parametrize(("option", "status"), [("note", FOUND), ("error", FOUND), ("never", 0)])
def test_fail_on(ill: Path, option: str, status: int) -> None:
    assert call(ill, "--fail-on", option)[0] == status


def test_with_a_cpu_the_gpu_is_only_noted(ill: Path) -> None:
    status, shown, _ = call(ill, "--expect", "cpu", "--format", "json")
    assert status == 0
    assert {item["severity"] for item in json.loads(shown)["findings"]} == {"note"}


def test_healthy_text() -> None:
    status, shown, _ = call("-", given=TEXTS["healthy-log"]["text"].encode())
    assert status == 0
    assert "gpu-works" in shown


@pytest.mark.parametrize(
    ("given", "command"),
    [
        (b"hello", "nvidia-smi"),
        (b"PS C:\\work> dir\nhello", "python -VV"),
        (b"% uname -sm\nDarwin arm64\nhello", None),
        (b"$ uname -r\n5.15.1-microsoft-standard-WSL2\n", "uname -r; ls /usr/lib/wsl/lib"),
    ],
)
def test_nothing_known_tells_what_to_paste(given: bytes, command: str | None) -> None:
    status, shown, _ = call("-", given=given)
    if command is None:
        assert status == FOUND  # a Mac alone tells why
        return
    assert status == NOTHING
    assert command in shown
    assert call("-", "--fail-on", "never", given=given)[0] == 0


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("GPU 0: Tesla K80 (UUID: GPU-11111111-2222-3333-4444-555555555555)", "gpudoctor plan --gpu 'Tesla K80'"),
        (
            "alice@ws:~$ nvidia-smi -L\nGPU 0: Tesla V100-SXM2-16GB (UUID: GPU-11111111-2222-3333-4444-555555555555)",
            "gpudoctor plan --gpu 'Tesla V100-SXM2-16GB'",
        ),
        ("GPU 0: GeForce GTX 106... (UUID: GPU-11111111-2222-3333-4444-555555555555)", ""),  # a name that was cut
    ],
)
def test_gpu_alone_tells_how_to_plan(given: str, command: str) -> None:
    shown = call("-", given=f"{given}\n>>> tf.config.list_physical_devices('GPU')\n[]\n".encode())[1]
    assert ("gpudoctor plan" in shown) is bool(command)
    assert f"       {command}\n" in shown if command else "Run these" in shown


def test_machine_that_is_not_known_is_promised_nothing() -> None:
    shown = call("-", given=b"Could not find cuda drivers on your machine, GPU will not be used.")[1]
    assert "Install TensorFlow" in shown and "this machine can use" not in shown
    known = b"GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
    shown = call("-", given=known + b"Could not find cuda drivers on your machine, GPU will not be used.")[1]
    assert "this\n     machine can use" in shown or "this machine can use" in shown


def test_wrong_usage(tmp_path: Path) -> None:
    assert call()[0] == USAGE
    status, _, complaint = call(tmp_path / "away.log")
    assert status == USAGE and "away.log" in complaint
    assert call(tmp_path)[0] == USAGE


def test_list() -> None:
    status, shown, _ = call("--list")
    assert status == 0
    assert all(f"{message.id} (" in shown for message in (*MESSAGES, *SENTENCES, *BLOCKS))


def test_show_lines() -> None:
    status, shown, _ = call("-", "--show-lines", given=b"first\n\x1b[31mLoaded cuDNN version 8100\x1b[0m\nlast")
    assert status == 0
    assert shown.splitlines() == ["  first", "[loaded-cudnn] Loaded cuDNN version 8100", "  last"]


def test_show_lines_marks_each_sentence() -> None:
    given = b"So slow!\nwith tf.GradientTape() as tape:\nSlow again.\nRelu\n"
    _, shown, _ = call("-", "--show-lines", given=given)
    marks = ["[said-slow] So slow!", "[gradient-tape] with tf.GradientTape() as tape:", "[said-slow] Slow again."]
    assert shown.splitlines() == [*marks, "  Relu"]


def test_show_lines_names_the_format_of_a_line() -> None:
    given = b"hello\nGPU 0: Tesla T4 (UUID: GPU-11111111-2222-3333-4444-555555555555)\nEpoch 1/2\n"
    _, shown, _ = call("-", "--show-lines", given=given)
    assert [line.partition("]")[0] for line in shown.splitlines()] == ["  hello", "[nvidia-smi-list", "[training"]


@pytest.mark.parametrize("shown", ["text", *(name for name in FORMATS if name != "text")])
def test_nothing_of_this_machine_is_in_what_a_text_tells(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its names nor its variables; and no program is asked and no file read for it."""
    text = TEXTS["cudnn-too-old"]["text"] + "\nexport LD_LIBRARY_PATH=/srv/me/lib:/home/ann/lib\n"
    before = call("-", "--format", shown, "-v", given=text.encode())

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a text tells of another machine")

    monkeypatch.setattr("socket.gethostname", lambda: "cudnn")
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setattr("subprocess.Popen", refuse)
    monkeypatch.setattr("gpudoctor.facts.host.Host.read_bytes", refuse)
    variables = {
        "HOME": "/srv/me",
        "LD_LIBRARY_PATH": "/x",
        "CUDA_VISIBLE_DEVICES": "-1",
        "CONDA_PREFIX": "/c",
        "LANG": "C",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert call("-", "--format", shown, "-v", given=text.encode()) == before
