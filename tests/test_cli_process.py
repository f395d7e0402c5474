"""The program as a process: pipes, terminals, encodings, an interrupt in the middle."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor.facts.codec import encode
from gpudoctor.facts.model import Facts, HostFacts, Known
from tests.environments import make_environment, write
from tests.fakes.build import RTX_4090, Profile, StandIns

PROGRAM = [sys.executable, "-m", "gpudoctor"]
# What the machine that runs the tests may have set, and what would change the output.
HIDDEN = ("NO_COLOR", "TERM", "COLUMNS", "LINES", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "FORCE_COLOR")
FOUND, USAGE, INTERRUPTED = 1, 2, 130
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")


def environ(**more: str) -> dict[str, str]:
    return {**{key: value for key, value in os.environ.items() if key not in HIDDEN}, "LC_ALL": "C.UTF-8", **more}


@pytest.fixture
def facts_file(tmp_path: Path) -> Path:
    """Facts of a machine without a GPU."""
    path = tmp_path / "facts.json"
    host = HostFacts(os=Known("linux", "Python"), pci_gpus=Known((), "/sys/bus/pci/devices"))
    path.write_bytes(encode(Facts(host=host)))
    return path


def in_terminal(arguments: list[str], columns: int, env: Mapping[str, str]) -> bytes:
    """Return what a terminal of this width shows of standard output and error, as it came."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([*PROGRAM, *arguments], env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    process.wait(120)
    os.close(ours)
    return seen


def piped(arguments: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, *arguments], env=env, capture_output=True, timeout=120, check=False)


def test_a_pipe_gets_plain_text_of_80_columns(facts_file: Path) -> None:
    done = piped(["check", "--facts", str(facts_file)], environ(COLUMNS="200", TERM="xterm-256color"))
    assert b"\x1b" not in done.stdout
    assert "[✗] GPUs" in done.stdout.decode()
    assert max(len(line) for line in done.stdout.decode().splitlines()) <= 80
    assert done.stderr == b""


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}])
def test_a_terminal_gets_no_colour_where_none_is_wanted(facts_file: Path, variables: dict[str, str]) -> None:
    assert b"\x1b" not in in_terminal(["check", "--facts", str(facts_file)], 80, environ(**variables))


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_lines_fit_the_terminal(facts_file: Path, columns: int) -> None:
    seen = in_terminal(["check", "--facts", str(facts_file)], columns, environ(TERM="xterm-256color"))
    assert b"\x1b[" in seen
    lines = ESCAPE.sub(b"", seen).decode().replace("\r", "").splitlines()
    commands = [line for line in lines if line.startswith("       ")]  # never broken, so that they can be pasted
    assert all(len(line) <= columns for line in lines if line not in commands)
    assert max(map(len, lines)) > min(columns, 100) / 2


def test_an_encoding_without_ticks_gets_words(facts_file: Path) -> None:
    done = piped(["check", "--facts", str(facts_file)], environ(PYTHONIOENCODING="ascii"))
    assert done.returncode == FOUND
    assert b"[XX] GPUs" in done.stdout
    done.stdout.decode("ascii")


def test_a_program_that_is_not_on_the_path_names_itself_with_its_folder(facts_file: Path, tmp_path: Path) -> None:
    script = write(tmp_path / "my env/bin/gpudoctor", "from gpudoctor.cli import main\nmain()\n")
    arguments = [sys.executable, str(script), "check", "--facts", str(facts_file)]

    def shown(path: str) -> str:
        return subprocess.run(arguments, env=environ(PATH=path), stdout=subprocess.PIPE, check=False).stdout.decode()

    assert f"       '{script}' check --expect cpu\n" in shown("/nowhere")
    write(tmp_path / "bin/gpudoctor", "#!/bin/sh\n").chmod(0o755)
    assert "       gpudoctor check --expect cpu\n" in shown(str(tmp_path / "bin"))


def test_progress_goes_to_standard_error_and_json_can_be_piped() -> None:
    ours, theirs = pty.openpty()
    argv = [*PROGRAM, "check", "--quick", "--format", "json"]
    done = subprocess.run(argv, env=environ(TERM="xterm"), stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    progress = os.read(ours, 65536).decode()
    os.close(ours)
    assert json.loads(done.stdout)["tool"]["name"] == "gpudoctor"
    first, *_, last = [part for part in progress.split("\r") if part]
    assert first.startswith("asking Python environment, NVML")
    assert last.strip() == ""  # it is wiped out at the end


def test_no_progress_in_a_log_file() -> None:
    assert piped(["check", "--quick"], environ()).stderr == b""


@pytest.mark.parametrize("shown", ["text", "json"])
def test_a_reader_that_went_away_is_no_fault(facts_file: Path, shown: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    argv = [*PROGRAM, "check", "--facts", str(facts_file), "--format", shown]
    done = subprocess.run(argv, env=environ(), stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (FOUND, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_told(facts_file: Path) -> None:
    with open("/dev/full", "w") as full:
        argv = [*PROGRAM, "check", "--facts", str(facts_file)]
        done = subprocess.run(argv, env=environ(), stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (USAGE, b"gpudoctor: standard output: No space left on device\n")


def test_closed_descriptors_change_no_fact(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("open", "closed")}
    argv = {name: [*PROGRAM, "check", "--quick", "-o", f"json={path}"] for name, path in files.items()}
    subprocess.run(argv["open"], env=environ(), stdout=subprocess.DEVNULL, check=False)
    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *argv["closed"]], env=environ(), check=False)
    texts = [json.loads(path.read_text())["facts"]["python"] for path in files.values()]
    assert texts[0] == texts[1]


def test_a_quick_check_loads_nothing_slow() -> None:
    program = """
import atexit, sys
slow = ("tensorflow", "numpy", "pydantic", "pynvml", "asyncio", "http", "unittest", "PIL", "scipy")
atexit.register(lambda: sys.stderr.write(" ".join(name for name in slow if name in sys.modules)))
sys.argv = ["gpudoctor", "check", "--quick"]
from gpudoctor.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], env=environ(), capture_output=True, check=False)
    assert done.stderr == b""


def children_of(pid: int) -> list[int]:
    """Return the process ids of all living descendants."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found += [int(path.parent.name), *children_of(int(path.parent.name))]
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(path: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_an_interrupt_prints_what_was_read_and_leaves_no_child(tmp_path: Path, stand_ins: StandIns) -> None:
    environment = make_environment(tmp_path)
    started = tmp_path / "started"
    hang = f"import subprocess, sys, time\nsubprocess.Popen(['sleep', '600'])\nopen({str(started)!r}, 'w').close()\n"
    write(environment.site / "tensorflow" / "__init__.py", hang + "time.sleep(600)\n")
    argv = [*PROGRAM, "check", "--python", environment.python, "--format", "json"]
    env = environ(**stand_ins(Profile(gpus=(RTX_4090,))))
    process = subprocess.Popen(
        argv,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background job, as CI may be, ignores SIGINT and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (this test has no threads)
    )
    wait_for(started)
    children = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert b"Traceback" not in err
    facts = json.loads(out)["facts"]
    assert facts["tensorflow"]["run"]["reason"] == "gpudoctor was interrupted before this was read"
    assert facts["host"]["os"]["state"] == "known"
    assert len(children) >= 2  # TensorFlow's interpreter, and the child that it started
    assert [pid for pid in children if is_alive(pid)] == []
