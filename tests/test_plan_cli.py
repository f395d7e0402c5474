"""gpudoctor plan and gpudoctor tables as people call them: who asks, what they read, exit statuses, files."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from msgspec.structs import replace
from packaging.requirements import Requirement
from typer.testing import CliRunner

from gpudoctor.cli import app
from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts, HostFacts, Known
from tests.machine import machine, started
from tests.rule_case import BASES

FOLDER = Path(__file__).parent / "golden_plan"
REWRITE = os.environ.get("GPUDOCTOR_REWRITE_GOLDEN") == "1"
NONE, USAGE = 1, 2
PERSONS = {
    "laptop-old-driver": '--gpu "GeForce 940M" --driver 470.57.02 --os linux --python 3.11',
    "rtx-5090": '--gpu "RTX 5090" --driver 580.65.06 --os linux --python 3.12',
    "k80": "--gpu K80 --driver 470.57.02 --os linux --python 3.10",
    "k80-new-driver": "--gpu K80 --driver 535.183.01 --os linux --python 3.10",
    "h100-535": "--gpu H100 --driver 535.183.01 --os linux --python 3.11",
    "windows": '--gpu "GTX 1650" --driver 537.13 --os windows --python 3.10',
    "windows-python-3.12": '--gpu "GTX 1650" --driver 537.13 --os windows --python 3.12',
    "wsl2": "--gpu 4090 --driver 560.94 --os wsl2 --python 3.12",
    "macos": "--os macos --python 3.12",
    "python-3.14": "--gpu RTX4070 --driver 580.65.06 --os linux --python 3.14",
    "constraint": '--gpu 1080Ti --os linux --tensorflow ">=2.12,<2.13"',
    "constraint-out": '--gpu 940M --os linux --tensorflow ">=2.17"',
    "nothing-said": "--os linux",
}


def call(words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, shlex.split(words), catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PERSONS)


def schema() -> dict[str, object]:
    text = (resources.files("gpudoctor") / "schemas" / "plan.schema.json").read_text("utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def as_json(words: str) -> dict[str, object]:
    _, out, _ = call(f"plan {words} --format json")
    loaded: dict[str, object] = json.loads(out)
    return loaded


@pytest.mark.parametrize("person", PERSONS)
def test_what_a_person_reads(person: str) -> None:
    status, out, err = call(f"plan {PERSONS[person]}")
    path = FOLDER / f"{person}.txt"
    if REWRITE:
        path.write_text(out, "utf-8")
    assert out == path.read_text("utf-8")
    assert err == ""
    assert status == (0 if "\nBest: TensorFlow" in out else NONE)
    prose = [line for line in out.splitlines() if not line.startswith(" " * 7)]
    assert max(map(len, prose)) <= 80


@pytest.mark.parametrize("person", PERSONS)
def test_json_is_valid_complete_and_the_same_twice(person: str) -> None:
    made = as_json(PERSONS[person])
    jsonschema.validate(made, schema())
    assert made == as_json(PERSONS[person])
    stacks, excluded = made["stacks"], made["excluded"]
    assert isinstance(stacks, list)
    assert isinstance(excluded, list)
    if not made["wanted"]:
        assert len({item["tensorflow"] for item in (*stacks, *excluded)}) == len(stacks) + len(excluded) == 79
    for stack in stacks:
        assert stack["commands"] == stack["ways"][next(iter(stack["ways"]))]["commands"]
        assert stack["evidence"]
        assert all(item["source"] and item["confidence"] != "low" for item in stack["evidence"])
        assert all(Requirement(text) for text in stack["requirements"])


class TestGpus:
    def test_one_on_an_arm_board_gets_no_wheel_for_x86(self) -> None:
        for name in ("Jetson Orin NX", "GH200 480GB"):
            status, out, _ = call(f'plan --gpu "{name}" --os linux')
            assert status == NONE
            assert "the published wheel for linux-aarch64 is a CPU build [cpu-only-tensorflow]" in " ".join(out.split())
            assert "use NVIDIA's builds for Jetson and Grace" in " ".join(out.split())

    def test_two_that_no_driver_serves_together(self) -> None:
        status, out, _ = call("plan --gpu 4090 --gpu K80 --os linux")
        assert status == NONE
        detail = "no driver serves both: Kepler GPUs end with branch 470, Ada Lovelace GPUs begin with 520"
        assert detail in " ".join(out.split())
        assert "With driver" not in out

    def test_two_need_a_wheel_for_both(self) -> None:
        _, out, _ = call("plan --gpu 4090 --gpu 940M --os linux")
        assert "Best: TensorFlow 2.16.2" in out

    def test_a_name_whose_capability_is_not_certain(self) -> None:
        assert "compute capability of GeForce 910M is not certain" in " ".join(call("plan --gpu 910M")[1].split())

    def test_a_release_that_does_not_tell_its_cuda_is_not_judged(self) -> None:
        status, out, _ = call("plan --gpu 4090 --tensorflow 2.22.0rc0")
        assert status == NONE
        assert "What is asked about is not in the tables" in out


class TestThisMachineAndFacts:
    def test_facts_of_the_laptop(self) -> None:
        status, out, _ = call(f"plan --facts {BASES / 'laptop-940m.json'}")
        assert status == 0
        assert "driver 470.57.02, Python 3.10.14" in out.replace("\n", " ")
        assert "2.0 GiB of GPU memory: small models and small batches only" in out
        assert "sudo ubuntu-drivers install nvidia:580" in out

    def test_what_if_the_driver_were_newer(self) -> None:
        _, out, _ = call(f"plan --facts {BASES / 'laptop-940m.json'} --driver 580.65.06")
        assert "Best: TensorFlow 2.16.2 with Keras 3" in out

    def test_a_driver_that_is_to_stay_is_not_proposed_to_change(self) -> None:
        _, out, _ = call(f"plan --facts {BASES / 'laptop-940m.json'} --keep-driver")
        assert "With driver" not in out
        _, out, _ = call(f"plan --facts {BASES / 'laptop-940m.json'} --newest-driver")
        assert "Best: TensorFlow 2.16.2" in out
        assert "Planned for the newest driver that serves Maxwell GPUs: branch 580." in out

    def test_a_machine_without_a_gpu(self) -> None:
        status, out, _ = call(f"plan --facts {BASES / 'no-gpu.json'}")
        assert status == NONE
        assert "This machine has no NVIDIA GPU" in out
        assert "On the CPU: TensorFlow" in out
        status, out, _ = call(f"plan --facts {BASES / 'no-gpu.json'} --gpu 4090")
        assert status == 0

    def test_an_operating_system_that_is_none_of_ours(self, tmp_path: Path) -> None:
        path = tmp_path / "facts.json"
        path.write_bytes(codec.encode(Facts(host=HostFacts(os=Known("freebsd", "Python")))))
        assert call(f"plan --facts {path}")[0] == USAGE

    def test_this_machine_is_planned_for_without_starting_tensorflow(self) -> None:
        words = [sys.executable, "-m", "gpudoctor", "plan", "--format", "json"]
        done = subprocess.run(words, capture_output=True, timeout=120, check=False)
        assert done.returncode in (0, NONE)
        jsonschema.validate(json.loads(done.stdout), schema())

    def test_an_old_system_gets_a_container(self, tmp_path: Path) -> None:
        path = tmp_path / "facts.json"
        facts = machine(("NVIDIA A100-SXM4-40GB",), "580.95.05", "2.20.0", python="3.11", glibc="2.17")
        path.write_bytes(codec.encode(facts))
        made = as_json(f"--facts {path}")
        (change, *_) = [item for item in made["changes"] if item["kind"] == "container"]  # type: ignore[attr-defined]
        assert change["stack"]["route"] == "container"
        assert list(change["stack"]["ways"]) == ["docker"]


class TestNewerThanTheTables:
    def test_a_tensorflow_that_is_installed(self, tmp_path: Path) -> None:
        facts = machine(("NVIDIA GeForce RTX 4090",), "580.95.05", "2.20.0", python="3.12")
        newer = replace(facts.tensorflow, version=Known("2.99.0", "package metadata"))
        path = tmp_path / "facts.json"
        path.write_bytes(codec.encode(started(replace(facts, tensorflow=newer))))
        made = as_json(f"--facts {path}")
        stack = made["stacks"][0]  # type: ignore[index]
        assert (stack["tensorflow"], stack["gpu_code"], stack["provided_by"]) == ("2.99.0", "native", "and-cuda")
        assert made["notes"][0].startswith("TensorFlow 2.99.0 is newer than my tables of 2026-11-30;")  # type: ignore[index]

    def test_one_whose_own_list_leaves_the_gpu_out(self, tmp_path: Path) -> None:
        facts = machine(("Tesla K80",), "470.256.02", "2.20.0", python="3.12")
        newer = replace(facts.tensorflow, version=Known("2.99.0", "package metadata"))
        path = tmp_path / "facts.json"
        path.write_bytes(codec.encode(replace(facts, tensorflow=newer)))
        _, out, _ = call(f"plan --facts {path}")
        assert "by its own metadata it does not fit" in " ".join(out.split())

    def test_a_gpu_and_a_driver(self) -> None:
        _, out, _ = call("plan --gpu 13.0 --driver 700.1 --os linux")
        text = " ".join(out.split())
        assert "Compute capability 13.0 is newer than my tables of 2026-11-30" in text
        assert "Driver 700.1 is newer than my tables of 2026-11-30" in text
        assert "reported to fail on GPUs from Blackwell on" in text

    def test_a_newer_driver_alone_rules_nothing_out(self) -> None:
        assert "Best: TensorFlow 2.21.0" in call("plan --gpu 4090 --driver 700.1 --os linux")[1]


class TestMisuse:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--gpu 'GeForce 940N'", "did you mean GeForce 940M, GeForce 940A, GeForce 940MX?"),
            ("--gpu RTX6090", "did you mean GeForce RTX 5090, GeForce RTX 4090, GeForce RTX 3090?"),
            ("--gpu 'RTX 4000'", "did you mean Quadro RTX 4000, RTX 4000 Ada Generation?"),
            ("--gpu 'GT 730'", "more than one compute capability: 2.1 (GF108); 3.0"),
            ("--gpu banana", "GPU 'banana' is not in the tables of 2026-11-30."),
            ("--gpu 4090 --driver newest", "--driver: 'newest' is not a version"),
            ("--gpu 4090 --python ~/env", "is no version such as 3.11"),
            ("--gpu 4090 --tensorflow '>=2.30'", "whose newest is 2.21.0"),
            ("--gpu 4090 --tensorflow '2.12,'", 'is no constraint such as ">=2.12"'),
            ("--gpu 4090 --keep-driver --newest-driver", "exclude each other"),
            ("--gpu 4090 --write setup.py", "neither requirements.txt nor environment.yml nor Dockerfile"),
            ("--facts /nowhere.json", "/nowhere.json"),
            ("--gpu 4090 --tables /nowhere", "/nowhere: No such file"),
        ],
    )
    def test_says_what_is_wrong(self, words: str, message: str) -> None:
        status, out, err = call(f"plan {words}")
        assert status == USAGE
        assert out == ""
        assert message in " ".join(err.split())


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "last"),
        [
            ("requirements.txt", "nvidia-cudnn-cu12<9.11"),
            ("my.yml", '      - "nvidia-cudnn-cu12<9.11"'),
            ("Dockerfile", "ENV LD_LIBRARY_PATH=/usr/local/lib/python3.12/site-packages/nvidia/cusolver/lib"),
        ],
    )
    def test_the_best_stack_is_written(self, tmp_path: Path, name: str, last: str) -> None:
        status, _, err = call(f"plan --gpu 1080Ti --os linux --python 3.12 --write {tmp_path / name}")
        assert (status, err) == (0, f"gpudoctor: {tmp_path / name} written\n")
        text = (tmp_path / name).read_text("utf-8")
        assert text.splitlines()[-1] == last
        assert text.startswith("# TensorFlow 2.21.0, CUDA 12.5.1, Python 3.12, driver 525.60.13 or newer\n")

    def test_what_is_there_is_never_overwritten(self, tmp_path: Path) -> None:
        path = tmp_path / "requirements.txt"
        path.write_text("mine\n", "utf-8")
        assert call(f"plan --gpu 4090 --write {path}")[0] == USAGE
        assert path.read_text("utf-8") == "mine\n"

    def test_nothing_is_written_where_nothing_works(self, tmp_path: Path) -> None:
        status, _, err = call(f"plan --gpu 5090 --write {tmp_path / 'requirements.txt'}")
        assert status == NONE
        assert "is not written: there is no stack that works" in err
        assert not list(tmp_path.iterdir())

    def test_conda_brings_cuda_where_pip_cannot(self, tmp_path: Path) -> None:
        call(f"plan --gpu 1080Ti --os linux --tensorflow 2.10 --write {tmp_path / 'environment.yml'}")
        text = (tmp_path / "environment.yml").read_text("utf-8")
        assert "  - cudatoolkit=11.2.2\n  - cudnn=8.1.0\n  - pip:\n" in text
        assert '# Once it is active: export LD_LIBRARY_PATH="$CONDA_PREFIX/lib${LD_LIBRARY_PATH' in text

    def test_an_image_that_no_table_has_is_not_made_up(self, tmp_path: Path) -> None:
        status, _, err = call(f"plan --gpu 1080Ti --os linux --tensorflow 2.3 --write {tmp_path / 'Dockerfile'}")
        assert status == USAGE
        assert "no container image is known for TensorFlow 2.3.4" in err

    def test_json_beside_the_text(self, tmp_path: Path) -> None:
        call(f"plan --gpu 4090 -o json={tmp_path / 'plan.json'}")
        jsonschema.validate(json.loads((tmp_path / "plan.json").read_text("utf-8")), schema())


@pytest.mark.skipif(os.name == "nt", reason="sh")
@pytest.mark.parametrize("person", ["laptop-old-driver", "k80", "wsl2", "constraint"])
def test_every_posix_command_is_read_by_a_shell(person: str) -> None:
    made = as_json(PERSONS[person])
    for stack in made["stacks"]:  # type: ignore[attr-defined]
        for way in stack["ways"].values():
            for command in way["commands"]:
                done = subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False)
                assert done.returncode == 0, command
                assert "\n" not in command
