"""The one door to the machine: files that may be anything, children that may do anything."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from gpudoctor.facts import children
from gpudoctor.facts.host import LOG_TAIL_BYTES, ChildOutcome, ChildRun, Host

LONG = 60.0  # seconds; a limit that no test is meant to reach
ANSWER = """
import os, json, sys
def answer(item, end="\\n"):
    os.write(int(sys.argv[1]), (json.dumps(item) + end).encode())
request = json.loads(sys.argv[2])
"""


def run(program: str, timeout: float = LONG, **request: object) -> ChildRun:
    return Host().run_child(ANSWER + program, request, timeout=timeout)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has reaped yet counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return True
        return False
    return state in "ZX"


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while not is_gone(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_an_answer_arrives() -> None:
    done = run("print('log'); answer({'sum': request['a'] + request['b']})", a=1, b=2)
    assert (done.outcome, done.result, done.lines) == (ChildOutcome.OK, {"sum": 3}, ({"sum": 3},))
    assert (done.log, done.log_bytes, done.exit_code, done.signal_name, done.reason) == ("log\n", 4, 0, None, "")
    assert done.seconds > 0


def test_lines_are_merged_the_latest_wins() -> None:
    done = run("answer({'a': 1, 'b': {'x': 1}}); answer({'a': 2, 'b': {'y': 2}})")
    assert done.result == {"a": 2, "b": {"y": 2}}
    assert len(done.lines) == 2


def test_program_and_request_of_any_text() -> None:
    text = "\u4e2d\U0001f600 \x00 ' \" \\ \n $HOME"
    assert run(f"answer({{'same': request['text'] == {text!r}}})", text=text).result == {"same": True}


def test_a_program_larger_than_a_pipe() -> None:
    padding = "# " + "x" * 200 + "\n"
    assert run(padding * 5000 + "answer({'done': True})").result == {"done": True}


def test_the_child_gets_flags_environment_and_no_terminal() -> None:
    done = Host(environ={"MARK": "1"}).run_child(
        ANSWER + "answer({'env': os.environ.get('MARK'), 'home': os.environ.get('HOME'), 'utf8': sys.flags.utf8_mode,"
        "'argv': sys.argv[0], 'leader': os.getsid(0) == os.getpid()})",
        {},
        timeout=LONG,
        flags=("-X", "utf8"),
    )
    assert done.result == {"env": "1", "home": None, "utf8": 1, "argv": "-", "leader": True}


def test_another_environment() -> None:
    done = Host(environ={"MARK": "1"}).run_child(
        ANSWER + "answer({'mark': os.environ.get('MARK')})", {}, timeout=LONG, environ={"MARK": "2"}
    )
    assert done.result == {"mark": "2"}


def test_a_hang_ends_at_the_limit_and_keeps_what_arrived() -> None:
    done = run("print('so far', flush=True); answer({'stage': 'importing'}); import time; time.sleep(1000)", 3.0)
    assert done.outcome is ChildOutcome.TIMED_OUT
    assert done.reason == "did not answer within 3 s"
    assert (done.result, done.log, done.signal_name) == ({"stage": "importing"}, "so far\n", None)


def test_a_child_that_ignores_sigterm_and_sigint_is_ended() -> None:
    done = run(
        "import signal as s, time\nfor number in (s.SIGTERM, s.SIGINT, s.SIGHUP): s.signal(number, s.SIG_IGN)\n"
        "answer({'pid': os.getpid()}); time.sleep(1000)",
        3.0,
    )
    assert done.outcome is ChildOutcome.TIMED_OUT
    assert done.result is not None and wait_until_gone(int(str(done.result["pid"])))


@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV", "SIGKILL", "SIGILL"])
def test_a_signal_is_named(name: str) -> None:
    done = run(f"import signal; answer({{'a': 1}}); os.kill(os.getpid(), signal.{name})")
    assert (done.outcome, done.signal_name, done.exit_code) == (ChildOutcome.SIGNALLED, name, None)
    assert done.reason == f"was ended by {name}"
    assert done.result == {"a": 1}


def test_a_real_time_signal_is_numbered() -> None:
    done = run("import signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)")
    assert done.signal_name == f"signal {signal.SIGRTMIN + 3}"


def test_an_exception_is_an_exit_with_its_log() -> None:
    done = run("raise RuntimeError('no such thing')")
    assert (done.outcome, done.exit_code, done.reason) == (ChildOutcome.EXITED, 1, "ended with exit status 1")
    assert done.log.endswith("RuntimeError: no such thing\n")


def test_an_exit_status_after_the_answer_keeps_the_answer() -> None:
    done = run("answer({'a': 1}); os._exit(7)")
    assert (done.outcome, done.exit_code, done.result) == (ChildOutcome.EXITED, 7, {"a": 1})


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("", None),
        ("os.close(int(sys.argv[1]))", None),
        ("os.write(int(sys.argv[1]), b'rubbish')", None),
        ("os.write(int(sys.argv[1]), bytes(range(256)))", None),
        ("os.write(int(sys.argv[1]), b'[1, 2]')", None),
        ("answer({'a': 1}); os.write(int(sys.argv[1]), b'{\"b\": ')", {"a": 1}),
        ("answer({'a': 1}); os.write(int(sys.argv[1]), b'\\n\\xff\\xfe\\n'); answer({'b': 2})", {"a": 1, "b": 2}),
        ("os.write(int(sys.argv[1]), b'[' * 200000)", None),
        ("os.write(int(sys.argv[1]), b'9' * 10000)", None),
    ],
)
def test_a_bad_answer_is_said_to_be_one(program: str, result: dict[str, object] | None) -> None:
    done = run(program)
    assert (done.outcome, done.result) == (ChildOutcome.BAD_RESULT, result)
    assert done.reason == "gave no readable answer"


def test_a_huge_answer_is_not_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "RESULT_LIMIT_BYTES", 1 << 20)
    done = run(
        "answer({'a': 1})\nblock = b'x' * 65536\nfor _ in range(64):\n    rest = block\n    while rest:\n"
        "        rest = rest[os.write(int(sys.argv[1]), rest):]"
    )
    assert (done.outcome, done.result) == (ChildOutcome.BAD_RESULT, {"a": 1})


def test_an_answer_larger_than_a_pipe_arrives() -> None:
    done = run(
        "rest = (json.dumps({'text': 'x' * 3000000}) + '\\n').encode()\n"
        "while rest:\n    rest = rest[os.write(int(sys.argv[1]), rest):]"
    )
    assert done.outcome is ChildOutcome.OK
    assert done.result is not None and len(str(done.result["text"])) == 3_000_000


def test_a_hundred_megabytes_of_log_leave_their_tail() -> None:
    done = run(
        "line = b'y' * 1023 + b'\\n'\nfor _ in range(1024 * 100): os.write(1, line)\n"
        "os.write(2, b'the end\\n'); answer({'done': True})"
    )
    assert (done.outcome, done.log_bytes) == (ChildOutcome.OK, 100 * 1024 * 1024 + 8)
    assert len(done.log) == LOG_TAIL_BYTES
    assert done.log.endswith("yyy\nthe end\n")


def test_a_log_that_is_no_text() -> None:
    assert run("os.write(1, b'caf\\xe9 \\xff'); answer({})").log == "caf\ufffd \ufffd"


def test_a_grandchild_that_holds_the_pipes_does_not_hold_us_and_is_ended() -> None:
    done = run(
        "pid = os.fork()\nif pid == 0:\n    import time; time.sleep(1000)\nprint('parent is done', flush=True)\n"
        "answer({'grandchild': pid})"
    )
    assert (done.outcome, done.log) == (ChildOutcome.OK, "parent is done\n")
    assert done.result is not None and wait_until_gone(int(str(done.result["grandchild"])))


def test_a_grandchild_that_keeps_printing_does_not_hold_us() -> None:
    done = run(
        "pid = os.fork()\nif pid == 0:\n    while True: os.write(1, b'noise ' * 100)\nanswer({'grandchild': pid})"
    )
    assert done.outcome is ChildOutcome.OK
    assert done.result is not None and wait_until_gone(int(str(done.result["grandchild"])))


def test_the_whole_group_ends_at_the_limit() -> None:
    done = run(
        "import time\npids = []\nfor _ in range(3):\n    pid = os.fork()\n    if pid == 0: time.sleep(1000)\n"
        "    pids.append(pid)\nanswer({'pids': pids + [os.getpid()]}); time.sleep(1000)",
        4.0,
    )
    assert done.outcome is ChildOutcome.TIMED_OUT and done.result is not None
    pids = done.result["pids"]
    assert isinstance(pids, list) and all(map(wait_until_gone, pids))


def test_a_child_that_closes_its_input_before_it_has_read_it() -> None:
    program = ANSWER + "os.close(0); answer({'a': 1}); os._exit(0)\n" + "# padding\n" * 200_000
    done = Host().run_child(program, {}, timeout=LONG)
    # The interpreter reads its program as a whole first on some versions: then the answer is as complete.
    assert done.outcome in (ChildOutcome.OK, ChildOutcome.EXITED)
    assert done.reason in ("", "ended with exit status 1")


def test_a_program_that_is_no_python_reads_nothing(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexec 0<&-\nsleep 0.2\necho not python\nexit 4\n")
    fake.chmod(0o755)
    done = Host().run_child("x" * 1_000_000, {}, timeout=LONG, python=str(fake))
    assert (done.outcome, done.exit_code, done.log) == (ChildOutcome.EXITED, 4, "not python\n")


def test_a_child_that_closes_all_and_lives_on_meets_the_limit() -> None:
    done = run("answer({'a': 1}); os.closerange(0, 3); os.close(int(sys.argv[1]))\nimport time; time.sleep(1000)", 3.0)
    assert (done.outcome, done.result) == (ChildOutcome.TIMED_OUT, {"a": 1})


@pytest.mark.parametrize(
    ("python", "reason"),
    [("/no/such/python", "No such file or directory"), ("/etc/passwd", "Permission denied"), ("a\0b", "null byte")],
)
def test_what_cannot_be_started(python: str, reason: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    done = Host().run_child("", {}, timeout=LONG, python=python)
    assert done.outcome is ChildOutcome.NOT_STARTED
    assert reason in done.reason and done.result is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_request_that_is_too_long_for_a_command_line() -> None:
    assert run("", text="x" * 4_000_000).outcome is ChildOutcome.NOT_STARTED


def test_no_descriptor_is_left_open() -> None:
    run("")
    before = sorted(os.listdir("/proc/self/fd"))
    for program, timeout in (("answer({})", LONG), ("import time; time.sleep(1000)", 0.5), ("os._exit(1)", LONG)):
        run(program, timeout)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_child_inherits_no_descriptor_of_ours() -> None:
    ours, theirs = socket.socketpair()
    os.set_inheritable(theirs.fileno(), True)
    done = run("answer({'open': sorted(os.listdir('/proc/self/fd'))})")
    assert done.result is not None
    opened = done.result["open"]
    assert isinstance(opened, list) and str(theirs.fileno()) not in opened
    ours.close()
    theirs.close()


def test_stop_from_another_thread_ends_a_running_child(tmp_path: Path) -> None:
    host, mark = Host(), tmp_path / "started"
    runs: list[ChildRun] = []
    program = ANSWER + "open(request['mark'], 'w').close(); import time; time.sleep(1000)"
    thread = threading.Thread(target=lambda: runs.append(host.run_child(program, {"mark": str(mark)}, timeout=LONG)))
    thread.start()
    deadline = time.monotonic() + 20
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    host.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert (runs[0].outcome, runs[0].signal_name) == (ChildOutcome.SIGNALLED, "SIGKILL")
    assert runs[0].seconds < LONG


def test_after_stop_nothing_is_begun(tmp_path: Path) -> None:
    host, mark = Host(), tmp_path / "started"
    host.stop()
    program = ANSWER + "import time; time.sleep(5); open(request['mark'], 'w').close()"
    host.run_child(program, {"mark": str(mark)}, timeout=LONG)
    assert not mark.exists()


def test_read_text(tmp_path: Path) -> None:
    host = Host(root=tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/text").write_bytes("gr\u00fc\u00df\xff".encode("latin-1") + b"\0end")
    assert host.read_text("/etc/text") == "gr\ufffd\ufffd\ufffd\0end"
    assert host.read_text("/etc/text", 2) == "gr"
    assert host.read_text("/etc/text", 0) == ""
    assert host.read_text("etc/text") == host.read_text("/etc/text")


def test_read_text_of_files_of_the_kernel() -> None:
    """They have no size, and come in pieces."""
    assert Host().read_text("/proc/self/status").startswith("Name:")


def test_what_cannot_be_read_raises_and_does_not_block(tmp_path: Path) -> None:
    host = Host(root=tmp_path)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    for name in ("fifo", "folder", "missing", "loop", "socket", "text/below"):
        with pytest.raises(OSError):
            host.read_text(f"/{name}")
    server.close()
    with pytest.raises(OSError, match="not a regular file"):
        host.read_text("/fifo")
    with pytest.raises(OSError) as caught:
        Host().read_text("/dev/zero")
    assert caught.value.errno is None or caught.value.errno == errno.EACCES


def test_folders_and_access(tmp_path: Path) -> None:
    host = Host(root=tmp_path)
    (tmp_path / "b").write_text("")
    (tmp_path / "a").mkdir()
    assert host.list_dir("/") == ["a", "b"]
    assert host.exists("/a") and not host.exists("/c")
    assert host.access("/b", os.R_OK) and not host.access("/c", os.R_OK)
    assert host.resolve("/a/x") == tmp_path / "a/x"
    assert not host.is_real and Host().is_real
    with pytest.raises(OSError):
        host.list_dir("/c")


def test_the_environment_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", "x")
    assert Host().environ["MARK"] == "x"
    assert Host(environ={}).environ == {}


def test_our_own_interpreter_is_the_default() -> None:
    assert run("answer({'python': sys.executable})").result == {"python": sys.executable}
