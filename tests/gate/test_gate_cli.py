"""`gpudoctor check` with a policy and several formats, `gpudoctor policy`, and what it looks like in a CI's log."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from gpudoctor.benchmark.results import BenchResult, Machine, ModeResult, Rate, Recommendation, Status, encode
from gpudoctor.benchmark.stored import stored_rate
from gpudoctor.cli import app
from gpudoctor.cli.terminal import CI_COLOURS, look
from gpudoctor.facts.codec import encode as encode_facts
from gpudoctor.facts.model import Known, Unknown
from tests.rule_case import BASES, facts_of

OK, FOUND, USAGE, UNANSWERED = 0, 1, 2, 3
DESKTOP = BASES / "desktop-rtx4090.json"


def call(*arguments: str | Path) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error of a call in this process."""
    result = CliRunner().invoke(app, [str(part) for part in arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def check(*arguments: str | Path, facts: Path = DESKTOP) -> tuple[int, str, str]:
    return call("check", "--facts", facts, *arguments)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*CI_COLOURS, "GITHUB_STEP_SUMMARY", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_without_a_policy_nothing_is_asked(here: Path) -> None:
    status, out, _ = check("--format", "json")
    assert status == OK
    assert json.loads(out)["policy"] is None


def test_a_policy_is_found_and_named(here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.gpudoctor]\nmin_gpus = 2\n")
    status, out, _ = check("--format", "json")
    assert status == FOUND
    report = json.loads(out)
    assert report["policy"] == {"source": "pyproject.toml", "asks": {"min_gpus": "2"}}
    assert [item["rule"] for item in report["findings"] if item["severity"] == "error"] == ["too-few-gpus"]
    assert check("--no-policy")[0] == OK
    status, out, _ = check()
    assert "Root cause: too-few-gpus" in out
    assert "Policy: pyproject.toml" in out


def test_a_named_file_goes_before_those_found(here: Path) -> None:
    (here / "gpudoctor.toml").write_text("min_gpus = 2\n")
    (here / "other.toml").write_text("min_gpus = 1\n")
    assert check("--policy", "other.toml")[0] == OK
    assert check("--policy", "none.toml") == (USAGE, "", "gpudoctor: none.toml: No such file or directory\n")
    assert check("--policy", "other.toml", "--no-policy")[0] == USAGE


def test_a_bad_policy_is_wrong_usage(here: Path) -> None:
    (here / "gpudoctor.toml").write_text("\nmin_gpu = 2\n")
    told = "gpudoctor: gpudoctor.toml:2: there is no key 'min_gpu'; did you mean min_gpus?\n"
    assert check() == (USAGE, "", told)
    assert call("policy", "check") == (USAGE, "", told)


def test_options_override_the_policy(here: Path) -> None:
    (here / "gpudoctor.toml").write_text('min_gpus = 2\nexpect = "cpu"\nfail_on = "never"\n')
    assert check()[0] == OK, "fail_on of the policy"
    assert check("--fail-on", "error")[0] == FOUND
    assert check("--fail-on", "error", "--require", "min_gpus=1")[0] == OK
    assert json.loads(check("--format", "json")[1])["expect"] == "cpu"
    assert json.loads(check("--format", "json", "--expect", "gpu")[1])["expect"] == "gpu"
    assert check("--require", "min_gpus") == (USAGE, "", "gpudoctor: --require min_gpus: KEY=VALUE is wanted\n")
    assert check("--require", "min_gpus=x")[0] == USAGE


def test_select_and_ignore(here: Path) -> None:
    laptop = BASES / "laptop-940m.json"
    assert check(facts=laptop)[0] == FOUND
    ignored = ("--ignore", "driver-too-old-for-cuda", "--ignore", "gpu-arch-too-old-for-wheel")
    assert check(*ignored, facts=laptop)[0] == UNANSWERED, "ignoring does not make the GPU work"
    assert check(*ignored, "--expect", "cpu", facts=laptop)[0] == OK
    assert check("--select", "python", "--expect", "cpu", facts=laptop)[0] == OK
    status, _, err = check("--select", "pyhton", facts=laptop)
    assert (status, err) == (USAGE, "gpudoctor: there is no rule 'pyhton'\n")


def test_what_a_policy_asks_and_nobody_can_tell_is_not_ok(here: Path) -> None:
    facts = here / "facts.json"
    seen = facts_of("desktop-rtx4090", unknown={"gpus[0].temperature_celsius": "this GPU does not tell"})
    facts.write_bytes(encode_facts(seen))
    status, out, _ = check("--require", "max_gpu_temperature=80", facts=facts)
    assert status == UNANSWERED
    assert "gpu-too-hot: this GPU does not tell" in out


def test_an_ignore_expires(here: Path) -> None:
    entry = '{{ rule = "no-nvidia-gpu", until = {} }}'
    facts = BASES / "no-gpu.json"
    (here / "gpudoctor.toml").write_text(f'expect = "cpu"\nignore = [{entry.format("2999-01-01")}]\n')
    assert "no-nvidia-gpu: " not in check(facts=facts)[1]
    (here / "gpudoctor.toml").write_text(f'expect = "cpu"\nignore = [{entry.format("2020-01-01")}]\n')
    status, out, _ = check(facts=facts)
    assert status == OK
    assert "ignore-expired: The policy ignored no-nvidia-gpu until 2020-01-01 only:" in out


# Formats.


def test_four_files_and_one_format_in_one_go(here: Path) -> None:
    outputs = [f"junit={here}/a.xml", f"sarif={here}/a.sarif", f"markdown={here}/a.md", f"html={here}/a.html"]
    arguments = [part for output in outputs for part in ("-o", output)]
    status, out, err = check("--format", "github", "--require", "min_gpus=2", *arguments)
    assert (status, err) == (FOUND, "")
    assert out.startswith("::error title=gpudoctor too-few-gpus::A CUDA program here sees 1 GPUs")
    assert ET.parse(here / "a.xml").getroot().get("failures") == "1"
    assert json.loads((here / "a.sarif").read_text())["version"] == "2.1.0"
    assert (here / "a.md").read_text().startswith("## gpudoctor: errors\n")
    assert (here / "a.html").read_text().startswith("<!DOCTYPE html>")


def test_github_writes_the_summary_of_the_job(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = here / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    check()
    assert summary.read_text() == "before\n", "only where the format is github"
    check("--format", "github")
    assert summary.read_text().startswith("before\n## gpudoctor: ok\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "none" / "summary.md"))
    assert check("--format", "github")[0] == USAGE


def test_an_unknown_format_is_wrong_usage() -> None:
    assert check("-o", "junitxml=a.xml")[0] == USAGE
    assert call("bench", "-o", "junit=a.xml")[0] == USAGE, "a benchmark is no report of checks"


def test_explain_has_the_same_formats(here: Path) -> None:
    log = here / "train.log"
    log.write_text("Could not find cuda drivers on your machine, GPU will not be used.\n")
    _, out, _ = call("explain", log, "--format", "sarif")
    results = json.loads(out)["runs"][0]["results"]
    assert results
    assert {item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for item in results} == {"train.log"}


# gpudoctor policy.


def test_init_writes_a_policy_that_check_explains(here: Path) -> None:
    status, out, _ = call("policy", "init", "--facts", DESKTOP)
    assert (status, out.split()[:2]) == (OK, ["gpudoctor.toml", "written;"])
    assert check()[0] == OK
    status, out, _ = call("policy", "check")
    assert status == OK
    assert out.startswith("gpudoctor.toml:\n  The machine is to train on: gpu.\n")
    assert "  The name of each GPU has to contain NVIDIA GeForce RTX 4090.\n" in out
    status, _, err = call("policy", "init", "--facts", DESKTOP)
    assert (status, err) == (USAGE, "gpudoctor: gpudoctor.toml is there already; --force replaces it\n")
    assert call("policy", "init", "--facts", BASES / "no-gpu.json", "--force")[0] == OK
    assert 'expect = "cpu"' in (here / "gpudoctor.toml").read_text()


def test_init_adds_to_pyproject_once(here: Path) -> None:
    path = here / "pyproject.toml"
    path.write_text('[project]\nname = "x"\n')
    assert call("policy", "init", "pyproject.toml", "--facts", DESKTOP)[0] == OK
    assert path.read_text().startswith('[project]\nname = "x"\n\n[tool.gpudoctor]\n')
    assert call("policy", "init", "pyproject.toml", "--facts", DESKTOP)[0] == USAGE
    assert check()[0] == OK


def test_init_of_the_machine_at_hand_prints(here: Path) -> None:
    status, out, _ = call("policy", "init", "-")
    assert status == OK
    assert out.startswith("# What this machine has to have")
    assert list(here.iterdir()) == []


def test_policy_check_takes_several_files_and_tells_all_faults(here: Path) -> None:
    (here / "a.toml").write_text("min_gpu = 1")
    (here / "b.toml").write_text("")
    (here / "c.toml").write_text("min_gpus = 'x'")
    status, out, err = call("policy", "check", "a.toml", "b.toml", "c.toml")
    assert (status, out) == (USAGE, "b.toml:\n  It asks for nothing.\n")
    assert [line.split(":")[1].strip() for line in err.splitlines()] == ["a.toml", "c.toml"]
    assert call("policy", "check")[0] == USAGE


# The stored benchmark.


def result(machine: Machine, mode: str = "gpu-optimized", rate: float = 800.0) -> BenchResult:
    rates = Rate(median=rate, min=rate, max=rate, rounds=(rate,))
    modes = (
        ModeResult(mode="cpu", status=Status.OK, images_per_second=replace(rates, median=90.0)),
        ModeResult(mode=mode, status=Status.OK, images_per_second=rates),
        ModeResult(mode="gpu-baseline", status=Status.SKIPPED, reason="x"),
    )
    return BenchResult(
        tool={"version": "0"},
        started="2027-01-01T00:00:00Z",
        machine=machine,
        data=None,
        workload_hash="0",
        options={},
        modes=modes,
        recommendation=Recommendation(mode=mode),
    )


def test_a_stored_benchmark_is_held_against_the_policy(here: Path) -> None:
    (here / "bench.json").write_text(encode(result(Machine(gpu_uuid="GPU-00000000-0000-0000-0000-000000000001"))))
    policy = 'min_images_per_second = {}\nbenchmark = "bench.json"\n'
    (here / "gpudoctor.toml").write_text(policy.format(900))
    status, out, _ = check("--format", "json")
    assert status == FOUND
    (finding,) = (item for item in json.loads(out)["findings"] if item["rule"] == "training-too-slow")
    assert finding["message"] == "the benchmark trained 800 images a second here, and the policy asks for 900"
    assert finding["evidence"][0]["source"] == "bench.json, gpu-optimized, 2027-01-01T00:00:00Z"
    (here / "gpudoctor.toml").write_text(policy.format(700))
    assert check()[0] == OK
    (here / "gpudoctor.toml").write_text(policy.format(70) + 'benchmark_mode = "gpu-baseline"\n')
    status, out, _ = check()
    assert status == UNANSWERED
    assert "training-too-slow: bench.json has no rate of the mode gpu-baseline" in out


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (Machine(gpu_uuid="GPU-2", gpu="Tesla T4"), "bench.json was measured on another GPU (Tesla T4): measure again"),
        (Machine(driver="1.0"), "with driver 1.0, and now it is"),
        (Machine(tensorflow="2.10.0"), "with TensorFlow 2.10.0, and now it is"),
    ],
)
def test_a_result_of_another_machine_says_nothing_of_this_one(here: Path, machine: Machine, told: str) -> None:
    path = here / "bench.json"
    path.write_text(encode(result(machine)))
    found = stored_rate(facts_of("desktop-rtx4090"), path, None)
    assert isinstance(found, Unknown)
    assert told in found.reason
    on_cpu = stored_rate(facts_of("desktop-rtx4090"), path, "cpu")
    assert isinstance(on_cpu, Unknown if machine.tensorflow else Known), "the GPU does not matter to a rate of the CPU"


def test_a_result_that_is_none(here: Path) -> None:
    facts = facts_of("desktop-rtx4090")
    found = stored_rate(facts, here / "none.json", None)
    assert isinstance(found, Unknown)
    assert found.reason == "none.json: No such file or directory"
    (here / "bad.json").write_text("{")
    found = stored_rate(facts, here / "bad.json", None)
    assert isinstance(found, Unknown)
    assert found.reason.startswith("bad.json is no benchmark result")


# Colour and width.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_colours_and_a_file_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert look(Terminal(), {}) == (True, 90)
    assert look(Terminal(), {"NO_COLOR": "1"}) == (False, 90)
    assert look(Terminal(), {"TERM": "dumb"}) == (False, 90)
    assert look(io.StringIO(), {}) == (False, 80)
    assert look(io.StringIO(), {"FORCE_COLOR": "1"}) == (True, 80)
    assert look(None, {"GITHUB_ACTIONS": "true"}) == (False, 80)


@pytest.mark.parametrize("name", CI_COLOURS)
def test_a_ci_changes_colour_and_width_and_nothing_else(here: Path, name: str) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "check", "--facts", str(BASES / "laptop-940m.json")]
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "GITHUB_STEP_SUMMARY")}

    def run(*arguments: str, **more: str) -> tuple[int, str]:
        done = subprocess.run(
            [*argv, *arguments], env={**environ, **more}, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout

    status, shown = run(**{name: "true"})
    assert status == FOUND
    assert ("\x1b[" in shown) == CI_COLOURS[name]
    plain = re.sub("\x1b[^m]*m", "", shown)
    assert 80 < max(len(line) for line in plain.splitlines() if not line.startswith("       ")) <= 100
    assert run("--format", "json", **{name: "true"}) == run("--format", "json")
    file = here / "out.txt"
    with file.open("wb") as out:
        subprocess.run(argv, env={**environ, name: "true"}, stdout=out, timeout=120, check=False)
    assert b"\x1b[" not in file.read_bytes()
