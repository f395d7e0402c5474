"""action.yml, the hooks of pre-commit and the examples in ci/: as far as they can be run without their hosts."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpudoctor.policy import read
from tests.installing import ROOT
from tests.rule_case import BASES

CI = ROOT / "ci"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
# Facts in place of the machine, so that the result does not depend on where the tests run.
STAND_IN = f"""#!/usr/bin/env bash
if [ "$1" = check ]; then shift; exec '{sys.executable}' -m gpudoctor check --facts "$FACTS" "$@"; fi
exec '{sys.executable}' -m gpudoctor "$@"
"""


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def bash(
    script: str | Path, folder: Path, environ: Mapping[str, str], *, facts: str = "desktop-rtx4090"
) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub, GitLab and Slurm do, with as little around it as they promise."""
    argv = ["bash", str(script)] if isinstance(script, Path) else ["bash", "-e", "-o", "pipefail", "-c", script]
    around = {"PATH": os.environ["PATH"], "HOME": str(folder), "FACTS": str(BASES / f"{facts}.json")}
    return subprocess.run(
        argv, cwd=folder, env={**around, **environ}, capture_output=True, text=True, timeout=120, check=False
    )


def schema_check(kind: str, path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# GitHub Actions.


def action_steps(folder: Path, inputs: Mapping[str, str]) -> list[subprocess.CompletedProcess[str]]:
    """Run the steps of the action that are scripts, as the runner would; stop at the first that fails."""
    action = loaded(ROOT / "action.yml")
    unknown = set(inputs) - set(action["inputs"])
    assert not unknown
    values = {f"inputs.{name}": inputs.get(name, item["default"]) for name, item in action["inputs"].items()}
    values |= {"github.action_path": str(ROOT), "runner.temp": str(folder / "temp")}
    executable(folder / "temp" / "gpudoctor" / "bin" / "gpudoctor", STAND_IN)
    done = []
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        assert "${{" not in step["run"], "what a user gives must not become a part of a script"
        environ = {name: EXPRESSION.sub(lambda match: values[match[1]], text) for name, text in step["env"].items()}
        files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        done.append(bash(step["run"], folder, {**environ, **files}))
        if done[-1].returncode:
            break
    return done


def test_the_action_is_one() -> None:
    schema_check("github-actions", ROOT / "action.yml")


def test_the_action_lets_a_ready_machine_pass(tmp_path: Path) -> None:
    install, check = action_steps(tmp_path, {})
    assert (install.returncode, check.returncode) == (0, 0), check.stderr
    assert check.stdout.endswith("gpudoctor: ok: no fault found; TensorFlow computes on GPU:0\n")
    sarif = tmp_path / "temp" / "gpudoctor.sarif"
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"exit-status=0\nsarif={sarif}\n"
    assert sarif.exists()
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("## gpudoctor: ok\n")


def test_the_action_gives_all_inputs_on(tmp_path: Path) -> None:
    (tmp_path / "my policy.toml").write_text("min_gpus = 2\n")
    inputs = {
        "policy": "my policy.toml",
        "expect": "any",
        "fail-on": "error",
        "quick": "true",
        "python": "$(touch gone)",
        "outputs": "junit=a b.xml\njson=report.json\n",
    }
    *_, check = action_steps(tmp_path, inputs)
    assert check.returncode == 1
    assert "::error title=gpudoctor too-few-gpus::" in check.stdout
    assert (tmp_path / "GITHUB_OUTPUT").read_text().startswith("exit-status=1\n")
    assert (tmp_path / "a b.xml").exists()
    assert (tmp_path / "report.json").exists()
    assert not (tmp_path / "gone").exists()


@pytest.mark.slow
def test_the_action_installs_gpudoctor(tmp_path: Path) -> None:
    """Downloads what gpudoctor needs."""
    step = loaded(ROOT / "action.yml")["runs"]["steps"][0]
    done = bash(step["run"], tmp_path, {"SOURCE": str(ROOT), "ENVIRONMENT": str(tmp_path / "env")})
    assert done.returncode == 0, done.stderr
    assert bash(f"'{tmp_path}/env/bin/gpudoctor' --version", tmp_path, {}).returncode == 0


# GitLab CI.


def test_the_gitlab_job(tmp_path: Path) -> None:
    schema_check("gitlab-ci", CI / "gitlab-ci.yml")
    job = loaded(CI / "gitlab-ci.yml")["gpudoctor"]
    *install, check = job["script"]
    assert len(install) == 2
    stand_in = executable(tmp_path / "gpudoctor", STAND_IN)
    done = bash(check.replace("/tmp/gpudoctor/bin/gpudoctor", str(stand_in)), tmp_path, {})  # noqa: S108
    assert done.returncode == 0, done.stderr
    wanted = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    assert [name for name in wanted if not (tmp_path / name).exists()] == []


# pre-commit.


def test_the_hooks_are_some(tmp_path: Path) -> None:
    manifest = ROOT / ".pre-commit-hooks.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(manifest)],
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_hooks_run(tmp_path: Path) -> None:
    hooks = {hook["id"]: hook for hook in loaded(ROOT / ".pre-commit-hooks.yaml")}
    executable(tmp_path / "bin" / "gpudoctor", STAND_IN)
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    files = re.compile(hooks["gpudoctor-policy"]["files"])
    assert [bool(files.search(name)) for name in ("gpudoctor.toml", "a/pyproject.toml", "my-gpudoctor.toml")] == [
        True,
        True,
        False,
    ]
    (tmp_path / "pyproject.toml").write_text("[tool.gpudoctor]\nmin_gpu = 1\n")
    entry = hooks["gpudoctor-policy"]["entry"]
    done = bash(f"{entry} pyproject.toml", tmp_path, environ)
    assert (done.returncode, done.stderr.split(";")[0]) == (
        2,
        "gpudoctor: pyproject.toml:2: there is no key 'min_gpu'",
    )
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert bash(f"{entry} pyproject.toml", tmp_path, environ).returncode == 0
    assert hooks["gpudoctor-check"]["pass_filenames"] is False
    assert bash(hooks["gpudoctor-check"]["entry"], tmp_path, environ).returncode == 0
    assert bash(hooks["gpudoctor-check"]["entry"], tmp_path, environ, facts="no-gpu").returncode == 1


# Kubernetes.


def test_the_pod_checks_before_it_trains(tmp_path: Path) -> None:
    config, pod = yaml.safe_load_all((CI / "kubernetes.yaml").read_text("utf-8"))
    (first,), (training,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    assert first["image"] == training["image"], "the TensorFlow that trains is the one that is checked"
    assert first["resources"] == training["resources"]
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for container in (first, training) for mount in container["volumeMounts"]} <= volumes
    (name,) = config["data"]
    (volume,) = (item for item in pod["spec"]["volumes"] if "configMap" in item)
    assert volume["configMap"]["name"] == config["metadata"]["name"]
    (tmp_path / name).write_text(config["data"][name])
    assert read.read(tmp_path / name).min_gpus == 1
    executable(tmp_path / "bin" / "gpudoctor", STAND_IN)
    command = " ".join(first["command"]).replace("/etc/gpudoctor", str(tmp_path))
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    assert bash(command, tmp_path, environ).returncode == 0
    assert bash(command, tmp_path, environ, facts="no-gpu").returncode == 1


# Slurm.


@pytest.mark.parametrize(
    ("status", "drained"), [(0, False), (1, True), (3, True), (2, False), (127, False), (130, False)]
)
def test_the_prolog_drains_broken_nodes_only(tmp_path: Path, status: int, drained: bool) -> None:
    stand_in = executable(tmp_path / "gpudoctor", f"#!/bin/sh\necho \"$@\" > '{tmp_path}/called'\nexit {status}\n")
    environ = {"GPUDOCTOR": str(stand_in), "GPUDOCTOR_REPORTS": str(tmp_path / "log"), "SLURM_JOB_ID": "7"}
    done = bash(CI / "slurm-prolog.sh", tmp_path, {**environ, "SLURM_JOB_GPUS": "0"})
    assert (done.returncode != 0) == drained
    assert bool(done.stderr) == (status != 0)
    assert "7-%h.json" in (tmp_path / "called").read_text()


def test_the_prolog_leaves_jobs_without_a_gpu_alone(tmp_path: Path) -> None:
    assert bash(CI / "slurm-prolog.sh", tmp_path, {"GPUDOCTOR": "/bin/false"}).returncode == 0


@pytest.mark.parametrize(
    ("facts", "python", "status"),
    [("server-h200", "", 0), ("no-gpu", "", 1), ("server-h200", "python3", 0), ("driver-missing", "python3", 1)],
)
def test_the_prolog_with_gpudoctor_itself(tmp_path: Path, facts: str, python: str, status: int) -> None:
    (tmp_path / "policy.toml").write_text("min_gpus = 1\n")
    environ = {
        "GPUDOCTOR": str(executable(tmp_path / "gpudoctor", STAND_IN)),
        "GPUDOCTOR_REPORTS": str(tmp_path / "log"),
        "GPUDOCTOR_POLICY": str(tmp_path / "policy.toml"),
        "GPUDOCTOR_PYTHON": python,
        "SLURM_JOB_GPUS": "0,1",
    }
    done = bash(CI / "slurm-prolog.sh", tmp_path, environ, facts=facts)
    assert done.returncode == status, (tmp_path / "log" / "last.txt").read_text()
    assert len(list((tmp_path / "log").glob("job-*.json"))) == 1


# systemd and Docker.


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_unit_is_one(tmp_path: Path) -> None:
    text = (CI / "training.service").read_text()
    for place in ("/opt/gpudoctor/bin/gpudoctor", "/srv/training/env/bin/python"):
        assert place in text
        text = text.replace(place, "/bin/true")
    unit = tmp_path / "training.service"
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    own = [line for line in done.stderr.splitlines() if "training.service" in line]
    assert own == [], done.stderr


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, with their continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (CI / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def test_the_container_runs_check_and_asks_for_the_driver() -> None:
    found = dict(dockerfile())
    assert found["ENTRYPOINT"] == '["gpudoctor"]'
    assert found["CMD"].startswith('["check"')
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in found["ENV"]
    assert [rest for word, rest in dockerfile() if word == "FROM"] == ["python:3.12-slim AS wheel", "${BASE}"]
    for word, rest in dockerfile():
        if word == "RUN":
            assert subprocess.run(["bash", "-n", "-c", rest], check=False).returncode == 0


def test_what_the_dockerfile_copies_is_enough_for_the_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for word, rest in dockerfile():
        if word == "COPY" and "--from" not in rest:
            *names, target = rest.split()
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source / target / name)
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*argv, "-w", str(tmp_path), str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("gpudoctor-*.whl"))) == 1


def test_each_example_is_listed() -> None:
    text = (CI / "README.md").read_text()
    names = [path.name for path in CI.iterdir() if path.name not in ("README.md", "run")]
    assert [name for name in names if f"]({name})" not in text] == []
