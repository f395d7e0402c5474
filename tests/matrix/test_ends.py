"""However gpudoctor ends: no child is left, no file, and while it ran it asked no network and wrote nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write
from tests.fakes.build import RTX_4090, Profile, StandIns

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")
CHECK = [sys.executable, "-m", "gpudoctor", "check"]
# From before the first child to long after the last was started; the children below never end by themselves.
MOMENTS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.5)


def marked(mark: str) -> list[int]:
    """Return the living processes that have a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def gone(mark: str, seconds: float = 20) -> list[int]:
    """Wait until no such process lives; return those that do all the same."""
    deadline = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment whose TensorFlow starts a process of its own and then hangs, deaf to SIGTERM."""
    made = make_environment(tmp_path_factory.mktemp("stuck"))
    hang = "import signal, subprocess, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    write(made.site / "tensorflow" / "__init__.py", hang + "subprocess.Popen(['sleep', '600'])\ntime.sleep(600)\n")
    add_distribution(made.site, "tensorflow", "2.21.0")
    return made


@pytest.fixture(scope="module")
def hanging_driver(stand_ins: StandIns) -> dict[str, str]:
    """The variables that bring a driver which never answers into use."""
    return stand_ins(Profile(gpus=(RTX_4090,)).but(hang__nvmlDeviceGetName=1, hang__cuInit=1))


# What is killed: the words after `gpudoctor`, and whether the driver answers. None of them ends before it is killed.
GPU_BUSY = ("--quick", "--no-policy", "--max-gpu-processes", "0", "--wait", "10m")
COMMANDS: dict[str, tuple[tuple[str, ...], bool]] = {
    "check": (("check", "--python", "PYTHON", "-o", "json=report.json"), False),
    "gate": (("check", *GPU_BUSY), True),
    "gate-hanging": (("check", *GPU_BUSY), False),
    "processes": (("processes", "--watch", "--interval", "0.5"), True),
    "processes-hanging": (("processes", "--watch"), False),
    "explain": (("explain", "-"), True),
    "explain-with-machine": (("explain", "log.txt", "--with-machine"), False),
    "plan": (("plan", "--write", "requirements.txt"), False),
    "snapshot": (("snapshot", "--python", "PYTHON", "-o", "json=report.json"), False),
}
BENCH = ("bench", "--modes", "cpu,cpu-optimized", "--image-size", "64", "--images", "320", "--epochs", "999")
FEW, SIGNALS = (0.1, 0.5), (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# While modules are imported, while images are drawn, while workers start, while they train.
BENCH_MOMENTS = (0.2, 1.0, 3.0, 8.0, 16.0)
ENDINGS = list(
    dict.fromkeys(
        (
            *(("check", moment, number) for moment in MOMENTS for number in SIGNALS[1:]),
            *((name, moment, number) for name in COMMANDS for moment in FEW
              for number in (signal.SIGINT, signal.SIGKILL)),
        )
    )
)  # fmt: skip
MORE_ENDINGS = [
    *((name, moment, number) for name in COMMANDS for moment in MOMENTS for number in SIGNALS),
    *(("bench", moment, number) for moment in BENCH_MOMENTS for number in SIGNALS),
]


def ended(folder: Path, argv: list[str], environ: dict[str, str], moment: float, number: signal.Signals) -> None:
    """Run gpudoctor in an empty folder, end it at a moment, and look for what is left of it."""
    mark = f"{folder.name}-{os.getpid()}"
    work, temporary = folder / "work", folder / "tmp"
    for made in (work, temporary):
        made.mkdir()
    (work / "log.txt").write_text("Epoch 1/3\n")
    own = {"GPUDOCTOR_TEST_MARK": mark, "TMPDIR": str(temporary)}
    own |= {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}
    process = subprocess.Popen(
        argv, env={**environ, **own}, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        time.sleep(moment)
        process.send_signal(number)
        # One who presses Ctrl-C gets what is known so far; before Python is up there is nothing to catch it.
        allowed = (130, -number, 1) if number is signal.SIGINT else (-number,)
        assert process.wait(60) in allowed
        assert gone(f"GPUDOCTOR_TEST_MARK={mark}") == []
    finally:
        for pid in marked(f"GPUDOCTOR_TEST_MARK={mark}"):
            os.kill(pid, signal.SIGKILL)
    assert list(temporary.iterdir()) == []
    # By SIGINT what is known is written where the user said; else nothing is, and never half of it.
    written = {path.name for path in work.iterdir()} - {"log.txt"}
    assert not written or (number is signal.SIGINT and written <= {"report.json", "requirements.txt"})
    assert not list((folder / "cache").glob("**/*partial*"))


@pytest.mark.parametrize(
    "ending",
    [*ENDINGS, *(pytest.param(one, marks=pytest.mark.slow) for one in MORE_ENDINGS if one not in ENDINGS)],
    ids=lambda one: f"{one[0]}-{one[1]}-{one[2].name}",
)
def test_nothing_is_left(
    tmp_path: Path,
    stand_ins: StandIns,
    stuck: Environment,
    hanging_driver: dict[str, str],
    ending: tuple[str, float, signal.Signals],
) -> None:
    name, moment, number = ending
    words, answers = COMMANDS.get(name, (BENCH, True))
    # The benchmark passes few variables on: without its profile a stand-in would end the workers.
    driver = {} if words is BENCH else stand_ins(Profile(gpus=(RTX_4090,))) if answers else hanging_driver
    argv = [sys.executable, "-m", "gpudoctor", *(stuck.python if word == "PYTHON" else word for word in words)]
    ended(tmp_path, argv, {**os.environ, **driver}, moment, number)


# Seen by every Python that gpudoctor starts, itself among them.
SPY = """
import os, sys
def spy(event, arguments):
    note = None
    if event.startswith("socket.") and event not in ("socket.gethostname",):
        note = event
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        writes = isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or (arguments[1] is None and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            note = "write " + os.fsdecode(arguments[0])
    elif event in ("os.mkdir", "os.remove", "os.rename") or (event in ("os.kill", "os.killpg") and arguments[1]):
        note = event + " " + str(arguments[0])
    if note:
        os.write(FILE, (note + "\\n").encode())
FILE = os.open(os.environ["GPUDOCTOR_TEST_SPY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(spy)
"""


@pytest.fixture
def spied(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables that let each Python tell what it opens for writing, and whether it asks for a socket."""
    write(tmp_path / "spy" / "sitecustomize.py", SPY)
    yield {
        "PYTHONPATH": str(tmp_path / "spy"),
        "GPUDOCTOR_TEST_SPY": str(tmp_path / "seen"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_no_socket_is_asked_for_and_nothing_is_written(
    tmp_path: Path, stand_ins: StandIns, spied: dict[str, str]
) -> None:
    environment = make_environment(tmp_path)
    add_tensorflow(environment.site)
    write(environment.site / "tensorflow" / "__init__.py", "__version__ = '2.21.0'\n")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environ = {**os.environ, **stand_ins(Profile(gpus=(RTX_4090,))), **spied, "TMPDIR": str(temporary)}
    argv = [*CHECK, "--python", environment.python, "--format", "json"]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False)
    assert done.stdout.startswith(b"{")
    seen = (tmp_path / "seen").read_text().splitlines()
    kept = [line for line in seen if not line.startswith(("os.killpg ", f"write {os.devnull}"))]
    outside = [line for line in kept if f" {temporary}/" not in line]
    assert [line for line in outside if not line.startswith("write /proc/")] == []
    assert list(temporary.iterdir()) == []
    subprocess.run([sys.executable, "-c", "import socket; socket.socket()"], env=environ, check=True)
    assert "socket.__new__" in (tmp_path / "seen").read_text(), "the spy sees nothing"


OFFLINE = (
    ("check", "--quick", "--format", "json", "--expect", "cpu"),
    ("processes", "--format", "json"),
    ("plan", "--format", "json"),
    ("snapshot", "--quick"),
    ("explain", "-", "--format", "json"),
    ("rules",),
    ("tables", "show", "tensorflow", "2.16.2"),
)


@pytest.mark.parametrize("words", OFFLINE, ids=lambda words: words[0])
def test_an_empty_network_namespace_is_enough(stand_ins: StandIns, words: tuple[str, ...]) -> None:
    environ = {**os.environ, **stand_ins(Profile(gpus=(RTX_4090,)))}
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        able = subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        pytest.skip("this machine gives no network namespace to a user")
    argv = [sys.executable, "-m", "gpudoctor", *words]
    inside, outside = (
        subprocess.run([*prefix, *argv], env=environ, capture_output=True, input=b"Epoch 1/3\n", check=False)
        for prefix in (apart, [])
    )
    assert inside.returncode == outside.returncode
    assert inside.stdout and b"Traceback" not in inside.stderr
    assert (b'"schema": 1' in inside.stdout) is (b'"schema": 1' in outside.stdout)


@pytest.mark.parametrize("words", OFFLINE, ids=lambda words: words[0])
def test_a_current_folder_that_was_removed_is_no_obstacle(tmp_path: Path, words: tuple[str, ...]) -> None:
    gone_folder = tmp_path / "gone"
    gone_folder.mkdir()
    argv = ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", sys.executable, "-m", "gpudoctor", *words]
    environ = {**os.environ, "VIRTUAL_ENV": "relative"}
    done = subprocess.run(argv, env=environ, cwd=gone_folder, capture_output=True, input=b"Epoch 1/3\n", check=False)
    assert done.stdout and b"Traceback" not in done.stderr
