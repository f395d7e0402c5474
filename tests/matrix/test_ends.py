"""However gpudoctor ends: no child is left, no file, and while it ran it asked no network and wrote nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_left(
    tmp_path: Path, stuck: Environment, hanging_driver: dict[str, str], moment: float, number: signal.Signals
) -> None:
    mark = f"GPUDOCTOR_TEST_MARK={tmp_path.name}-{os.getpid()}"
    name, _, value = mark.partition("=")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environ = {**os.environ, **hanging_driver, name: value, "TMPDIR": str(temporary)}
    argv = [*CHECK, "--python", stuck.python, "-o", f"json={tmp_path / 'report.json'}"]
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(moment)
        process.send_signal(number)
        assert process.wait(30) == -number
        assert gone(mark) == []
    finally:
        for pid in marked(mark):
            os.kill(pid, signal.SIGKILL)
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


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
    environ = {**os.environ, **stand_ins(Profile(gpus=(RTX_4090,))), **spied}
    argv = [*CHECK, "--python", environment.python, "--format", "json"]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False)
    assert done.stdout.startswith(b"{")
    seen = (tmp_path / "seen").read_text().splitlines()
    kept = [line for line in seen if not line.startswith(("os.killpg ", f"write {os.devnull}"))]
    assert [line for line in kept if not line.startswith("write /proc/")] == []
    subprocess.run([sys.executable, "-c", "import socket; socket.socket()"], env=environ, check=True)
    assert "socket.__new__" in (tmp_path / "seen").read_text(), "the spy sees nothing"


def test_an_empty_network_namespace_is_enough(stand_ins: StandIns) -> None:
    environ = {**os.environ, **stand_ins(Profile(gpus=(RTX_4090,)))}
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        able = subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        pytest.skip("this machine gives no network namespace to a user")
    argv = [*CHECK, "--quick", "--format", "json", "--expect", "cpu"]
    inside, outside = (
        subprocess.run([*prefix, *argv], env=environ, capture_output=True, check=False) for prefix in (apart, [])
    )
    assert inside.returncode == outside.returncode
    assert b'"schema": 1' in inside.stdout and b'"schema": 1' in outside.stdout


def test_no_privilege_is_needed(stand_ins: StandIns, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("run as another user already")
    del tmp_path
    nobody = 65534
    argv = [*CHECK, "--quick", "--format", "json", "--python", "/usr/bin/python3"]
    try:
        done = subprocess.run(
            argv, user=nobody, group=nobody, extra_groups=[], env={**os.environ, "HOME": tempfile.gettempdir()},
            capture_output=True, check=False, cwd="/",
        )  # fmt: skip
    except PermissionError:
        pytest.skip("another user cannot reach this interpreter")
    if b"Permission denied" in done.stderr or b"No module named" in done.stderr:
        pytest.skip("another user cannot read this checkout")
    assert done.stdout.startswith(b"{"), done.stderr[-2000:]
