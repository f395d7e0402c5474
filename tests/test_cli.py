"""The command line: options, formats, files and the table of exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gpudoctor
from gpudoctor.cli import app
from gpudoctor.facts.codec import encode
from gpudoctor.facts.model import Api, ApiAnswer, DriverFacts, Facts, HostFacts, Known
from gpudoctor.rules.registry import load_rules

OK, FOUND, USAGE, UNANSWERED = 0, 1, 2, 3
QUICK = ("check", "--quick")
LIBRARY_MISSING = Known(ApiAnswer(outcome=Api.NO_LIBRARY), "NVML")
NO_GPU = Facts(
    host=HostFacts(os=Known("linux", "Python"), pci_gpus=Known((), "/sys/bus/pci/devices")),
    driver=DriverFacts(nvml=LIBRARY_MISSING, cuda_init=LIBRARY_MISSING),
)
NOTHING_KNOWN = Facts()


def call(*arguments: str | Path) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error of a call in this process."""
    result = CliRunner().invoke(app, [str(part) for part in arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def start(
    arguments: Sequence[str | Path], environ: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a user does, with pipes for its output."""
    argv = [sys.executable, "-m", "gpudoctor", *map(str, arguments)]
    ours = {key: value for key, value in os.environ.items() if key not in ("PYTHONUNBUFFERED", "PYTHONIOENCODING")}
    return subprocess.run(argv, env={**ours, **(environ or {})}, cwd=cwd, capture_output=True, timeout=120, check=False)


@pytest.fixture
def facts_file(tmp_path: Path) -> Path:
    """Facts of a machine without a GPU."""
    path = tmp_path / "facts.json"
    path.write_bytes(encode(NO_GPU))
    return path


@pytest.fixture
def unknown_file(tmp_path: Path) -> Path:
    """Facts in which nothing could be read."""
    path = tmp_path / "unknown.json"
    path.write_bytes(encode(NOTHING_KNOWN))
    return path


def test_version() -> None:
    assert call("--version") == (OK, f"gpudoctor {gpudoctor.__version__}\n", "")


def test_help_names_the_commands_and_each_its_exit_statuses() -> None:
    status, text, _ = call("--help")
    assert status == OK
    assert all(f"\n  {name} " in text for name in ("check", "snapshot", "rules"))
    for name in ("check", "snapshot", "rules"):
        status, text, _ = call(name, "--help")
        assert status == OK
        assert "Exit status: 0" in text
        assert f"gpudoctor {name}" in text  # an example


def test_nothing_said_shows_the_help() -> None:
    status, out, err = call()
    assert status == USAGE
    assert "Usage: " in out + err


def test_as_a_module_it_has_the_same_name(tmp_path: Path) -> None:
    done = start(["--help"], cwd=tmp_path)
    assert done.returncode == OK
    assert done.stdout.startswith(b"Usage: ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """The script that the shell reads is shown, and what the script calls completes a command."""
    named = [sys.executable, "-c", "import sys; sys.argv[0] = 'gpudoctor'; from gpudoctor.cli import main; main()"]
    environ = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run([*named, "--show-completion", shell], env=environ, capture_output=True, check=False)
    assert shown.returncode == OK, shown.stderr
    assert b"_GPUDOCTOR_COMPLETE=complete_%b" % shell.encode() in shown.stdout
    environ |= {"_GPUDOCTOR_COMPLETE": f"complete_{shell}", "COMP_WORDS": "gpudoctor ch", "COMP_CWORD": "1"}
    environ |= {"_TYPER_COMPLETE_ARGS": "gpudoctor ch", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert b"check" in subprocess.run(named, env=environ, capture_output=True, check=False).stdout


# The table of exit statuses.


@pytest.mark.parametrize(
    ("expect", "fail_on", "status"),
    [
        ("gpu", "error", FOUND),
        ("gpu", "warning", FOUND),
        ("gpu", "note", FOUND),
        ("gpu", "never", OK),
        ("cpu", "error", OK),
        ("cpu", "warning", OK),
        ("cpu", "note", FOUND),
        ("cpu", "never", OK),
        ("any", "error", OK),
    ],
)
def test_status_with_a_missing_gpu(facts_file: Path, expect: str, fail_on: str, status: int) -> None:
    assert call("check", "--facts", facts_file, "--expect", expect, "--fail-on", fail_on)[0] == status


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), UNANSWERED),
        (("--expect", "cpu"), UNANSWERED),
        (("--expect", "any"), UNANSWERED),
        (("--fail-on", "note"), UNANSWERED),
        (("--fail-on", "never"), UNANSWERED),
    ],
)
def test_status_when_nothing_could_be_read(unknown_file: Path, options: tuple[str, ...], status: int) -> None:
    exit_code, out, _ = call("check", "--facts", unknown_file, *options)
    assert exit_code == status
    assert "UNKNOWN: no fault found, but too little could be read to tell" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("chekc",), "No such command 'chekc'"),
        (("check", "--no-such-option"), "--no-such-option"),
        (("check", "--expect", "tpu"), "'tpu'"),
        (("check", "--fail-on", "fatal"), "'fatal'"),
        (("check", "--format", "yaml"), "'yaml'"),
        (("check", "--timeout", "0"), "--timeout"),
        (("check", "--timeout", "soon"), "'--timeout'"),
        (("check", "-o", "report.txt"), "'report.txt' is not FORMAT=PATH (FORMAT is text, json, junit, "),
        (("check", "-o", "yaml=report.txt"), "'yaml=report.txt' is not FORMAT=PATH"),
        (("check", "-o", "json="), "'json=' is not FORMAT=PATH"),
        (("snapshot", "-o", "text=facts.txt"), "facts are saved as JSON only: -o json=PATH"),
        (("rules", "no-such-rule-at-all"), "there is no rule 'no-such-rule-at-all'"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], told: str) -> None:
    status, out, err = call(*arguments)
    assert status == USAGE
    assert out == ""
    assert told in " ".join(err.split())


def test_a_near_miss_of_a_rule_is_named() -> None:
    status, _, err = call("rules", "driver-to-old-for-cuda")
    assert status == USAGE
    assert "did you mean driver-too-old-for-cuda" in err


# Facts files are untrusted.


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "Input data was truncated"),
        (b"[1, 2]", "Expected `object`, got `array`"),
        (b"not JSON", "JSON is malformed"),
        (
            b'{"schema": 1, "host": {"cpu_count": {"state": "known", "value": "two", "source": "x"}}}',
            "$.host.cpu_count",
        ),
        (b'{"schema": 1, "gpus": [{"name": {"state": "known", "value": 7, "source": "x"}}]}', "$.gpus[0].name"),
        (b'{"schema": 99}', "schema 99, but this gpudoctor reads schema 1"),
        (b"[" * 100_000, "Expected `object`"),
        (b"\xff\xfe", "JSON is malformed"),
    ],
)
def test_a_bad_facts_file_is_told_with_its_place(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    status, out, err = call("check", "--facts", path)
    assert (status, out) == (USAGE, "")
    assert err.startswith(f"gpudoctor: {path}: ")
    assert told in err


def test_a_huge_facts_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    status, _, err = call("check", "--facts", path)
    assert status == USAGE
    assert "larger than 16 MiB" in err


def test_a_missing_facts_file(tmp_path: Path) -> None:
    status, _, err = call("check", "--facts", tmp_path / "none.json")
    assert status == USAGE
    assert err == f"gpudoctor: {tmp_path / 'none.json'}: No such file or directory\n"


# Formats and files.


def test_json_is_the_same_for_the_same_facts(facts_file: Path) -> None:
    first, second = (call("check", "--facts", facts_file, "--format", "json") for _ in range(2))
    assert first == second
    report = json.loads(first[1])
    assert report["verdict"] == "errors"
    assert report["source"] == {"kind": "facts", "names": [str(facts_file)]}
    assert [item["rule"] for item in report["checks"]] == list(load_rules())


def test_several_files_in_one_go(facts_file: Path, tmp_path: Path) -> None:
    name = tmp_path / "report-%h.txt"
    outputs = ("-o", f"json={tmp_path / 'report.json'}", "-o", f"text={name}")
    status, out, err = call("check", "--facts", facts_file, *outputs)
    assert (status, err) == (FOUND, "")
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "errors"
    written = tmp_path / f"report-{os.uname().nodename}.txt"
    assert written.read_text().splitlines()[-1] == out.splitlines()[-1] == "ERRORS: one root cause: no-nvidia-gpu"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([facts_file.name, "report.json", written.name])


def test_a_path_that_cannot_be_written_is_told_after_the_report(facts_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "no-such-folder" / "report.json"
    status, out, err = call("check", "--facts", facts_file, "-o", f"json={path}")
    assert status == USAGE
    assert "ERRORS: one root cause" in out
    assert err == f"gpudoctor: {path}: No such file or directory\n"


def test_a_file_that_cannot_be_replaced_stays_as_it_was(facts_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report.json"
    folder.mkdir()
    assert call("check", "--facts", facts_file, "-o", f"json={folder}")[0] == USAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts.json", "report.json"]


def test_a_snapshot_can_be_judged(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    assert call("snapshot", "--quick", "-o", f"json={path}") == (OK, "", "")
    live = json.loads(call(*QUICK, "--format", "json")[1])
    saved = json.loads(call("check", "--facts", path, "--format", "json")[1])
    assert [item["rule"] for item in saved["findings"]] == [item["rule"] for item in live["findings"]]
    assert saved["summary"] == live["summary"]


def test_verbose_lists_every_check(facts_file: Path) -> None:
    _, out, _ = call("check", "--facts", facts_file, "-v")
    assert all(f"{name}: " in out for name in load_rules())


def test_rules_are_listed_and_explained() -> None:
    status, out, _ = call("rules")
    assert status == OK
    assert [line.split()[0] for line in out.splitlines()] == list(load_rules(policy=True))
    status, out, _ = call("rules", "driver-too-old-for-cuda")
    assert status == OK
    assert out.startswith("# driver-too-old-for-cuda\n")
    assert "**How to fix:**" in out


def test_the_python_to_judge_can_be_missing() -> None:
    status, out, _ = call(*QUICK, "--python", "/no/such/python", "--format", "json")
    assert status in (FOUND, UNANSWERED)
    assert "/no/such/python" in json.loads(out)["facts"]["python"]["version"]["reason"]
