"""`gpudoctor processes`, the wait of `check`, the classes of programs: over saved facts, stand-ins, real programs."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from msgspec.structs import replace as changed
from typer.testing import CliRunner

from gpudoctor.cli import app, durations, waiting
from gpudoctor.cli.durations import Seconds
from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts, Gpu, GpuProcess, Known, ProcessKind, ProcessSight, Unknown
from gpudoctor.facts.probes import processes
from gpudoctor.findings import Expect, Source, SourceKind
from gpudoctor.judging import judge_facts
from gpudoctor.policy.model import NOTHING_ASKED, Policy
from gpudoctor.processes import classes
from gpudoctor.processes.classify import class_of, kernel_of, place_of, unlisted_bytes, unseen_class, what_to_do
from gpudoctor.processes.model import ProcessClass
from gpudoctor.report import process_lines, processes_text
from tests.fakes.build import A100_WITH_MIG, GEFORCE_940M, RTX_4090, FakeGpu, Profile, StandIns
from tests.rule_case import facts_of

GOLDEN = Path(__file__).parent / "golden_processes"
REWRITE = os.environ.get("GPUDOCTOR_REWRITE_GOLDEN") == "1"
GIB = 1 << 30
MIB = 1 << 20
run = CliRunner().invoke


def seen(name: str, memory: int = GIB, **fields: Any) -> GpuProcess:
    """Return a process that was looked at."""
    values = {"pid": 4242, "kind": ProcessKind.COMPUTE, "sight": ProcessSight.SEEN, "own": True, **fields}
    return GpuProcess(name=name, memory_bytes=memory, **values)


def gpu(*found: GpuProcess, total: int = 2 * GIB, used: int | None = None, name: str = "NVIDIA GeForce 940M") -> Gpu:
    """Return a GPU with these processes; used: all of its memory in use, that of the processes if None."""
    taken = sum(item.memory_bytes or 0 for item in found) if used is None else used
    return Gpu(
        name=Known(name, "NVML"),
        uuid=Known(f"GPU-{total:012}", "NVML"),
        memory_total_bytes=Known(total, "NVML"),
        memory_used_bytes=Known(taken, "NVML"),
        memory_free_bytes=Known(total - taken, "NVML"),
        utilization_percent=Known(12, "NVML"),
        processes=Known(found, "NVML"),
    )


def machine(*gpus: Gpu, base: str = "laptop-940m") -> Facts:
    return changed(facts_of(base), gpus=gpus)


# Which class: a name, a command line, and whose it is.
CLASSES = [
    ("Xorg", "/usr/lib/xorg/Xorg vt2 -displayfd 3", "display-server"),
    ("Xwayland", None, "display-server"),
    ("gnome-shell", "/usr/bin/gnome-shell", "compositor"),
    ("kwin_wayland", None, "compositor"),
    ("firefox", "/usr/lib/firefox/firefox", "firefox"),
    ("Isolated Web Co", "/usr/lib/firefox/firefox -contentproc", "firefox"),
    ("chrome", "/opt/google/chrome/chrome --type=gpu-process", "chrome"),
    ("msedge", "/opt/microsoft/msedge/msedge --type=gpu-process", "edge"),
    ("brave", "/opt/brave.com/brave/brave --type=gpu-process", "brave"),
    ("slack", "/usr/lib/slack/slack --type=gpu-process", "electron"),
    ("code", "/usr/share/code/code --type=gpu-process", "vscode"),
    ("someapp", "/opt/someapp/someapp --type=gpu-process", "electron-like"),
    ("steamwebhelper", None, "game"),
    ("hl2_linux", "/home/a/.steam/steam/steamapps/common/Half-Life 2/hl2_linux", "game"),
    ("Xvnc", None, "remote-desktop"),
    ("gnome-remote-desktop-daemon", None, "remote-desktop"),
    ("ollama_llama_server", None, "ollama"),
    ("llama-server", None, "llama-server"),
    ("python3", "python3 -m vllm.entrypoints.openai.api_server --model x", "vllm"),
    ("VLLM::EngineCore", "VLLM::EngineCore", "vllm"),
    ("tritonserver", None, "triton"),
    ("python3", "/opt/ComfyUI/venv/bin/python /opt/ComfyUI/main.py", "image-generator"),
    ("xmrig", None, "miner-like"),
    ("python3", "python3 m.py -o stratum+tcp://pool.example:3333 -u x", "miner-like"),
    ("nvidia-cuda-mps-server", None, "mps-server"),
    ("nvidia-cuda-mps", None, "mps-server"),
    ("python3.11", "/venv/bin/python -m ipykernel_launcher -f /run/kernel-1.json", "notebook-kernel"),
    ("python3.11", "python3.11 train.py", "own-training"),
    ("my_cuda_program", "./my_cuda_program", "other"),
    (None, None, "other"),
    # Words of one class in the name or arguments of something else.
    ("python3", "python3 chrome_dataset.py --out firefox/", "own-training"),
    ("python3", "python3 train_vllm_like.py", "own-training"),
    ("gpudoctor", None, "gpudoctor"),
    ("xlogo", None, "other"),
    ("chronyd", None, "other"),
]


@pytest.mark.parametrize(("name", "command_line", "expected"), CLASSES)
def test_a_program_is_recognised(name: str | None, command_line: str | None, expected: str) -> None:
    process = GpuProcess(
        pid=1, kind=ProcessKind.COMPUTE, name=name, command_line=command_line, own=True, sight=ProcessSight.SEEN
    )
    assert class_of(process).id == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"own": False}, "other-user-training"),
        ({"own": None, "sight": None}, "training"),
        ({"sight": ProcessSight.GONE}, "zombie"),
        ({"sight": ProcessSight.DEFUNCT}, "defunct"),
        ({"sight": ProcessSight.UNSEEN}, "unseen"),
        ({"framework": "tensorflow"}, "tensorflow-preallocated"),
        ({"framework": "tensorflow", "memory": GIB}, "own-training"),
        ({"framework": "torch"}, "own-training"),
    ],
)
def test_whose_it_is_and_what_can_be_seen_of_it_decide(fields: dict[str, Any], expected: str) -> None:
    process = seen("python3", **{"memory": 1900 * MIB, **fields})
    assert class_of(process, gpu(process)).id == expected


KERNEL = "/venv/bin/python -m ipykernel_launcher -f /run/user/1000/jupyter/runtime/kernel-3f2a0c1e-77.json"
GROUPS = {
    "docker": "/system.slice/docker-0123456789abcdef0123.scope",
    "podman": "/user.slice/user-1000.slice/libpod-0123456789abcdef0123.scope",
    "slurm": "/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0",
    "kubernetes": "/kubepods/besteffort/pod1",
}


@pytest.mark.parametrize(
    ("kind", "place", "command"),
    [
        ("docker", "docker 0123456789ab", "docker ps --filter id=0123456789ab"),
        ("podman", "podman 0123456789ab", "podman ps --filter id=0123456789ab"),
        ("slurm", "Slurm job 4711", "scontrol show job 4711"),
        ("kubernetes", "kubernetes", None),
    ],
)
def test_a_container_or_job_can_be_found(kind: str, place: str, command: str | None) -> None:
    process = seen("python3", container=kind, control_group=GROUPS[kind], own=False)
    assert place_of(process) == place
    found = what_to_do(process, classes.OTHERS)
    assert found[0] == (command or "ps -o pid,user,etime,args -p 4242")


def test_a_kernel_is_told_by_its_connection_file() -> None:
    assert kernel_of(seen("python3", command_line=KERNEL)) == "3f2a0c1e-77"
    assert kernel_of(seen("python3", command_line=KERNEL.replace("kernel-", "kernel-v3"))) == "3f2a0c1e-77"
    assert kernel_of(seen("python3", command_line="python3 train.py")) is None


@pytest.mark.parametrize(
    ("base", "words"),
    [("container-t4", "outside this container"), ("wsl2-rtx3090", "Task Manager"), ("desktop-rtx4090", "hidden from")],
)
def test_where_to_look_for_what_cannot_be_seen(base: str, words: str) -> None:
    assert words in unseen_class(facts_of(base).host).advice
    assert unseen_class(Facts().host) is classes.UNSEEN


@pytest.mark.parametrize(("parent", "ends"), [(900, True), (1, False), (None, False)])
def test_a_defunct_process_is_ended_by_its_parent_but_never_by_the_first(parent: int | None, ends: bool) -> None:
    process = seen("true", sight=ProcessSight.DEFUNCT, parent_pid=parent)
    assert ("kill 900" in what_to_do(process, classes.DEFUNCT)) is ends
    assert not any(command.startswith("kill 1") for command in what_to_do(process, classes.DEFUNCT))


@pytest.mark.parametrize(
    ("found", "need", "text"),
    [
        (gpu(used=GIB), None, ""),
        (gpu(used=GIB), GIB, "; 1.0 GiB fits"),
        (gpu(used=GIB), GIB + 1, "; 1.0 GiB does not fit: 0 MiB more is needed"),
        (gpu(seen("firefox", GIB), used=GIB), 3 * GIB // 2,
         "; 1.5 GiB does not fit: 512 MiB more is needed, which firefox (browser Firefox, pid 4242) would free"),
        # Not by ending the desktop, or what is another user's, or all that there is together.
        (gpu(seen("Xorg", GIB), used=GIB), 3 * GIB // 2, "; 1.5 GiB does not fit: 512 MiB more is needed"),
        (gpu(seen("code", GIB, own=False), used=GIB), 3 * GIB // 2, "; 1.5 GiB does not fit: 512 MiB more is needed"),
        (gpu(seen("firefox", GIB), used=GIB), 3 * GIB, "; 3.0 GiB does not fit: 2.0 GiB more is needed"),
        (changed(gpu(), memory_free_bytes=Unknown("MIG")), GIB, "; whether 1.0 GiB fits is not known"),
        (changed(gpu(), visible=Known(False, "libcuda")), GIB, "; 1.0 GiB was not asked of it"),
        (changed(gpu(), mig=Known(True, "NVML")), GIB, "; whether 1.0 GiB fits depends on the MIG instance"),
    ],
)  # fmt: skip
def test_whether_it_fits_and_what_would_make_it_fit(found: Gpu, need: int | None, text: str) -> None:
    assert processes_text.fits(found, need) == text


def shown(*gpus: Gpu, base: str = "laptop-940m", **options: Any) -> str:
    report = judge_facts(machine(*gpus, base=base), Source(kind=SourceKind.LIVE), Expect.ANY, NOTHING_ASKED)
    return processes_text.render(report, tuple(range(len(gpus))), **options)


def test_one_that_draws_and_computes_is_listed_once() -> None:
    text = shown(gpu(seen("blender", GIB), seen("blender", GIB, kind=ProcessKind.GRAPHICS), used=GIB))
    assert text.count("blender (pid 4242, yours, compute and graphics)") == 1
    # Those without a number cannot be told apart: each is there.
    assert shown(gpu(seen("a", pid=0), seen("a", pid=0))).count("    1.0 GiB  a (no pid") == 2


def test_an_idle_kernel_is_called_so() -> None:
    idle = seen("python3", command_line=KERNEL, utilization_percent=0)
    assert "notebook kernel, idle" in shown(gpu(idle))
    assert "kernel 3f2a0c1e-77" in shown(gpu(idle))
    assert "idle" not in shown(gpu(changed(idle, utilization_percent=3)))
    assert "idle" not in shown(gpu(seen("python3", command_line="python3 train.py", utilization_percent=0)))


def test_a_free_gpu_is_named_where_another_users_training_stands_in_the_way() -> None:
    busy, free = gpu(seen("python3", GIB, own=False, user="bob")), gpu(total=4 * GIB)
    assert f"export CUDA_VISIBLE_DEVICES=GPU-{4 * GIB:012}" in shown(busy, free)
    assert "CUDA_VISIBLE_DEVICES" not in shown(busy)
    assert "CUDA_VISIBLE_DEVICES=NUMBER-OF-A-FREE-GPU" in shown(busy, busy)


def test_the_largest_comes_first_in_the_advice_too() -> None:
    text = shown(gpu(seen("firefox", 100 * MIB, pid=1), seen("chrome", 200 * MIB, pid=2)), width=300)
    assert text.index("1. Browser Chrome or Chromium (pid 2)") < text.index("2. Browser Firefox (pid 1)")


def test_a_check_shows_the_largest_processes_each_once() -> None:
    small = [seen(f"p{number}", number * MIB, pid=number) for number in range(1, 8)]
    both = [seen("blender", GIB, kind=kind) for kind in (ProcessKind.GRAPHICS, ProcessKind.COMPUTE)]
    _, lines = process_lines.section((gpu(*small, *both),))
    assert lines[0] == "GPU 0: blender (pid 4242, compute and graphics), 1.0 GiB"
    assert [line.split()[2] for line in lines[1:5]] == ["p7", "p6", "p5", "p4"]
    assert lines[5] == "GPU 0: and 3 more"


def test_the_short_text_is_the_list_alone() -> None:
    text = shown(gpu(seen("firefox", 1500 * MIB, command_line="/usr/lib/firefox/firefox")), short=True)
    assert text.splitlines()[1:] == ["    1.5 GiB  firefox, browser Firefox (pid 4242, yours, compute)"] or (
        len(text.splitlines()) == 3  # the first line is broken in two
    )
    assert "What you can do" not in text and "competing" not in text


def test_watching_shows_no_more_than_the_terminal_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 10)))
    command = sys.modules["gpudoctor.cli.processes"]
    lines = command._of_height("\n".join(map(str, range(50)))).splitlines()
    assert len(lines) == 9  # and one for the cursor
    assert lines[:2] == ["0", "1"] and lines[-2] == "... 43 more lines" and lines[-1].startswith("Ctrl-C")
    assert command._of_height("0\n1\n").splitlines()[:2] == ["0", "1"]


@pytest.mark.parametrize("row", classes.ALL, ids=lambda row: row.id)
def test_nothing_is_to_be_done_to_a_process_without_a_number(row: ProcessClass) -> None:
    for pid in (0, -1):
        assert not [text for text in what_to_do(seen("x", pid=pid), row) if "kill" in text or "-p" in text.split()]


def test_every_class_has_an_id_of_its_own_and_commands_that_can_be_filled_in() -> None:
    assert len({row.id for row in classes.ALL}) == len(classes.ALL)
    for row in classes.ALL:
        assert row.advice.endswith(".")
        commands = what_to_do(seen("x", user="ann"), row)
        assert all("{pid}" not in command and "{user}" not in command for command in commands)


def test_no_command_ends_another_users_process() -> None:
    for row in classes.ALL:
        assert not [text for text in what_to_do(seen("x", own=False), row) if text.startswith("kill")]


@pytest.mark.parametrize(
    ("found", "rest"),
    [
        (gpu(seen("a", GIB), used=GIB + 256 * MIB), 0),
        (gpu(seen("a", GIB), used=GIB + 256 * MIB + 1), 256 * MIB + 1),
        (gpu(used=300 * MIB), 300 * MIB),
        (gpu(used=300 * MIB, total=24 * GIB), 0),  # what the driver keeps for itself grows with the GPU
        # Drawing and computing are listed twice, each with all of its memory.
        (gpu(seen("a", GIB), seen("a", GIB, kind=ProcessKind.GRAPHICS), used=GIB), 0),
        (gpu(seen("a", 800 * MIB, pid=0), seen("b", 800 * MIB, pid=0), used=1600 * MIB), 0),
        (gpu(changed(seen("a"), memory_bytes=None), used=GIB), None),
        (changed(gpu(used=GIB), processes=Unknown("MIG")), GIB),
        (changed(gpu(), memory_used_bytes=Unknown("MIG")), None),
    ],
)
def test_memory_that_nothing_listed_holds(found: Gpu, rest: int | None) -> None:
    assert unlisted_bytes(found) == rest


BROWSER = machine(
    gpu(
        seen("firefox", 1229 * MIB, kind=ProcessKind.GRAPHICS, command_line="/usr/lib/firefox/firefox", user="ann",
             age_seconds=10800, parent_pid=900, parent_name="gnome-shell"),
        seen("Xorg", 64 * MIB, pid=1088, kind=ProcessKind.GRAPHICS, own=False, user="root", age_seconds=90000),
    )
)  # fmt: skip
SERVER = machine(
    gpu(
        seen("python3", 30 * GIB, own=False, user="bob", age_seconds=200000, utilization_percent=98,
             command_line="python3 train.py --epochs 90", container="docker"),
        seen("python3", 6 * GIB, pid=77, own=False, user="eve", age_seconds=604800, utilization_percent=0,
             command_line="/opt/conda/bin/python -m ipykernel_launcher -f /run/k.json"),
        total=40 * GIB, name="NVIDIA A100-SXM4-40GB",
    ),
    base="cluster-a100",
)  # fmt: skip
CONTAINER = machine(gpu(total=15 * GIB, used=10 * GIB, name="Tesla T4"), base="container-t4")
ZOMBIE = machine(
    gpu(
        GpuProcess(pid=4711, kind=ProcessKind.COMPUTE, memory_bytes=12 * GIB, sight=ProcessSight.GONE),
        total=24 * GIB, name="NVIDIA GeForce RTX 4090",
    ),
    base="desktop-rtx4090",
)  # fmt: skip
MIG = machine(
    changed(gpu(total=40 * GIB, used=20 * GIB, name="NVIDIA A100"), processes=Unknown("this GPU does not report it")),
    base="cluster-a100",
)
TRANSCRIPTS = {
    "laptop-browser": (BROWSER, ["--need-memory", "1GiB"], 1),
    "shared-server": (SERVER, [], 0),
    "container-unseen": (CONTAINER, [], 0),
    "zombie": (ZOMBIE, ["--need-memory", "6GiB"], 0),
    "mig": (MIG, [], 3),
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcript(name: str, tmp_path: Path) -> None:
    facts, options, status = TRANSCRIPTS[name]
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(facts, codec.Identity(home="/home/ann", user="ann", host="pc")))
    done = run(app, ["processes", "--facts", str(file), *options])
    assert done.exit_code == status, done.output
    golden = GOLDEN / f"{name}.txt"
    if REWRITE:
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(done.stdout, "utf-8")
    assert done.stdout == golden.read_text("utf-8")


def test_a_browser_on_a_small_gpu_is_a_warning_of_check(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(BROWSER))
    done = run(app, ["check", "--facts", str(file), "--format", "json"])
    found = {item["rule"]: item for item in json.loads(done.stdout)["findings"]}
    assert found["competing-gpu-process"]["severity"] == "warning"
    assert "1.2 GiB" in found["competing-gpu-process"]["message"]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_json_is_of_the_shipped_schema(name: str, tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(TRANSCRIPTS[name][0]))
    done = run(app, ["processes", "--facts", str(file), "--format", "json"])
    schema = json.loads((resources.files("gpudoctor") / "schemas" / "processes.schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads(done.stdout), schema)


def test_what_is_not_known_is_null_and_not_zero(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_bytes(codec.encode(MIG))
    done = run(app, ["processes", "--facts", str(file), "--format", "json"])
    (found,) = json.loads(done.stdout)["gpus"]
    assert (found["processes"], found["unlisted_bytes"]) == (None, None)
    assert found["reason"] == "this GPU does not report it"
    assert done.exit_code == 3


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A program of this user that waits, under the name of a notebook's kernel; its number."""
    monkeypatch.setattr(processes, "FIRST_PID_NAMESPACE", os.readlink("/proc/self/ns/pid"))
    monkeypatch.setattr(processes, "_is_ours", lambda _: False)
    program = "import sys, time; sys.stdout.write('.'); sys.stdout.flush(); time.sleep(600)"
    argv = ["python3", "-c", program, "-m", "ipykernel_launcher", "--password=hunter2"]
    with ExitStack() as stack:
        child = stack.enter_context(subprocess.Popen(argv, executable=sys.executable, stdout=subprocess.PIPE))
        stack.callback(child.kill)
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        yield child.pid


def live(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch, *gpus: FakeGpu) -> None:
    """Let the commands in this process meet the stand-ins."""
    for name, value in stand_ins(Profile(gpus=gpus)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_live_machine(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch, sleeping: int) -> None:
    laptop = replace(GEFORCE_940M, memory_used=1300 * MIB, extra={"compute": f"{sleeping}:{1200 * MIB}"})
    live(stand_ins, monkeypatch, replace(RTX_4090, extra={"compute": "", "graphics": ""}), laptop)
    done = run(app, ["processes", "--gpu", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("GPU 1: GeForce 940M: 1.3 GiB of 2.0 GiB in use")
    assert f"kill {sleeping}" in done.stdout
    assert "notebook kernel" in done.stdout
    assert "--password=***" in done.stdout
    assert getpass.getuser() in done.stdout
    text = run(app, ["processes", "--gpu", laptop.uuid or "", "--format", "json"]).stdout
    (process,) = json.loads(text)["gpus"][0]["processes"]
    assert (process["pid"], process["process_class"], process["user"]) == (sleeping, "notebook-kernel", "me")
    assert "hunter2" not in text


def test_a_command_line_that_is_no_text(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch, sleeping: int) -> None:
    monkeypatch.setattr("shlex.join", lambda _: "python3 \udcff.py")
    live(stand_ins, monkeypatch, replace(GEFORCE_940M, extra={"compute": f"{sleeping}:{GIB}"}))
    assert "python3" in run(app, ["processes"]).stdout
    done = run(app, ["processes", "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["gpus"][0]["processes"][0]["command_line"].startswith("python3")


def test_a_gpu_that_does_not_exist(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    live(stand_ins, monkeypatch, GEFORCE_940M)
    done = run(app, ["processes", "--gpu", "7"])
    assert (done.exit_code, "there is no such GPU" in done.output) == (2, True)


def test_mig_says_what_cannot_be_told(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    live(stand_ins, monkeypatch, A100_WITH_MIG)
    done = run(app, ["processes"])
    assert done.exit_code == 3
    assert "Which processes use it cannot be told: this GPU does not report it." in done.stdout


def test_mig_tells_on_which_instance_a_process_runs(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    split = {"mig_uuids": "MIG-a,MIG-b", "mig_ids": "7,9", "compute": "4242:1073741824@9", "graphics": ""}
    live(stand_ins, monkeypatch, replace(A100_WITH_MIG, extra={**A100_WITH_MIG.extra, **split}))
    assert "on MIG-b" in run(app, ["processes"]).stdout
    (process,) = json.loads(run(app, ["processes", "--format", "json"]).stdout)["gpus"][0]["processes"]
    assert process["mig_instance"] == "MIG-b"


def test_watching_looks_again_until_it_is_interrupted(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    live(stand_ins, monkeypatch, replace(GEFORCE_940M, extra={"compute": "", "graphics": ""}))
    naps = iter([None, None])

    def sleep(_: float) -> None:
        if next(naps, 1):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["gpudoctor.cli.processes"], "time", SimpleNamespace(sleep=sleep))
    done = run(app, ["processes", "--watch", "--format", "json"])
    assert done.exit_code == 130
    assert [json.loads(line)["gpus"][0]["processes"] for line in done.stdout.splitlines()] == [[], [], []]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "--wait", "1m", "--no-policy"], "nothing to wait for"),
        (["check", "--wait", "1m", "--max-gpu-processes", "0", "--facts", "x"], "saved facts do not change"),
        (["check", "--wait", "soon", "--max-gpu-processes", "0"], "is no time"),
        (["processes", "--need-memory", "much"], "--need-memory has to be a size"),
        (["processes", "--watch", "--facts", "x"], "saved facts do not change"),
    ],
)
def test_wrong_usage(words: list[str], message: str) -> None:
    done = run(app, words)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "seconds"), [("10m", 600), ("90s", 90), ("45", 45), ("1h30m", 5400), ("0.5s", 0.5), ("2min", 120)]
)
def test_times(text: str, seconds: float) -> None:
    assert Seconds.parse(text) == seconds


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (545, "9:05"), (-3, "0:00")])
def test_time_that_is_left(seconds: float, text: str) -> None:
    assert durations.left_text(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(119, "119 s"), (120, "2 min"), (7200, "2 h"), (172800, "2 days")])
def test_ages(seconds: int, text: str) -> None:
    assert process_lines.age(seconds) == text


LIMITS = Policy(max_gpu_processes=0, max_used_memory=500 * MIB)


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        (machine(gpu(seen("python3"))), 2),
        (machine(gpu()), 0),
        (machine(gpu(seen("Xorg", 64 * MIB, kind=ProcessKind.GRAPHICS))), 0),
        (CONTAINER, 2),  # nothing is listed, and memory is taken
        (MIG, 2),
        (machine(changed(gpu(), processes=Unknown("x"), memory_used_bytes=Unknown("x"))), 0),  # waiting tells no more
    ],
)
def test_what_is_waited_for(facts: Facts, count: int) -> None:
    assert len(waiting.what_is_waited_for(facts, LIMITS)) == count


def test_waiting_ends_when_the_gpu_is_free_or_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [["python (pid 1)"], ["python (pid 1)"], ["python (pid 2)"], []]
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    waiting._wait(60, lambda: answers.pop(0), sleep)
    assert answers == []
    assert clock[0] == 15
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["waiting, 1:00 left: python (pid 1)", "waiting, 0:50 left: python (pid 2)"]
    waiting._wait(12, lambda: ["busy"], sleep)
    assert clock[0] == 27  # the rest of the time, not all of it


def test_a_gate_waits_and_then_says_who_is_there(
    stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch, sleeping: int
) -> None:
    live(stand_ins, monkeypatch, replace(GEFORCE_940M, extra={"compute": f"{sleeping}:{GIB}"}))
    words = ["check", "--quick", "--no-policy", "--max-gpu-processes", "0", "--wait", "0.1s", "--format", "json"]
    done = run(app, words)
    assert done.exit_code == 1
    assert f"(pid {sleeping})" in done.stderr
    rules = [item["rule"] for item in json.loads(done.stdout)["findings"] if item["severity"] == "error"]
    assert "too-many-gpu-processes" in rules


def test_a_gate_does_not_wait_for_a_free_gpu(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    live(stand_ins, monkeypatch, replace(GEFORCE_940M, memory_used=0, extra={"compute": "", "graphics": ""}))
    words = ["check", "--quick", "--no-policy", "--max-gpu-processes", "0", "--wait", "1h", "--format", "json"]
    done = run(app, words)
    checks = {item["rule"]: item["outcome"] for item in json.loads(done.stdout)["checks"]}
    assert checks["too-many-gpu-processes"] == "pass"
    assert "waiting" not in done.stderr


def test_a_wait_that_is_interrupted_ends_at_once(stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(waiting, "_wait", interrupt)
    done = run(app, ["check", "--quick", "--no-policy", "--max-gpu-processes", "0", "--wait", "1h"])
    assert (done.exit_code, done.stdout) == (130, "")
