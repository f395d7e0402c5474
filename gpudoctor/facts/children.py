"""Children: programs in interpreters of their own, bounded in time and in what is kept of them."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from msgspec import Struct

from gpudoctor.facts.lifeline import Lifeline

LOG_TAIL_BYTES = 64 * 1024
RESULT_LIMIT_BYTES = 8 * 1024 * 1024
REAP_SECONDS = 0.5
# How often to look whether the child is gone while a grandchild may still hold its pipes.
POLL_SECONDS = 0.05


class ChildOutcome(enum.Enum):
    """How a child process ended."""

    OK = "ok"
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    NOT_STARTED = "not-started"
    BAD_RESULT = "bad-result"


class ChildRun(Struct, frozen=True, kw_only=True):
    """What came of one child: `lines` are the JSON objects that arrived whole, `result` their shallow merge."""

    outcome: ChildOutcome
    lines: tuple[dict[str, object], ...] = ()
    result: dict[str, object] | None = None
    exit_code: int | None = None
    signal_name: str | None = None
    log: str = ""
    """The last 64 KB of standard output and error together."""
    log_bytes: int = 0
    """All that the child printed, kept or not."""
    seconds: float = 0.0
    reason: str = ""
    """One sentence part for the user; empty when the outcome is ok."""


class Children:
    """The children of one host that run now. Once they are stopped no further one is waited for."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    @property
    def running(self) -> int:
        """How many run now."""
        return len(self._running)

    def stop(self) -> None:
        """End all of them now, from any thread."""
        self._stopped = True
        for process in list(self._running):
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

    def run(
        self,
        python: Sequence[str],
        program: str,
        request: Mapping[str, object],
        environ: Mapping[str, str],
        timeout: float,
    ) -> ChildRun:
        """Run a program text and return what came of it. python: the interpreter and its flags.

        timeout: seconds for the child's whole life. Never raises for anything that the child does.
        """
        started = time.monotonic()
        read_end, write_end = os.pipe()
        lifeline = Lifeline()
        argv = [*python, "-", str(write_end), json.dumps(request)]
        try:
            process = _start(argv, environ, (write_end, *lifeline.descriptors))
        except (OSError, ValueError) as exc:
            os.close(read_end)
            lifeline.close()
            reason = f"{argv[0]} could not be started: {getattr(exc, 'strerror', None) or exc}"
            return ChildRun(outcome=ChildOutcome.NOT_STARTED, reason=reason)
        finally:
            os.close(write_end)
        lifeline.tie(process.pid)
        self._running.add(process)
        exchange = _Exchange(process, read_end, program.encode("utf-8"))
        try:
            in_time = not self._stopped and exchange.run(started + timeout)
        finally:
            _kill_group(process)
            exchange.close()
            lifeline.close()
            self._running.discard(process)
        return _judge(process.returncode, exchange, in_time, timeout, time.monotonic() - started)


def _start(argv: Sequence[str], environ: Mapping[str, str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, with these descriptors open in it. Raises OSError, ValueError."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=descriptors,
        env=_environment(environ),
        start_new_session=True,
    )


class _Exchange:
    """Feeds the program, drains log and result side by side: a child that prints 100 MB must not block or fill us."""

    def __init__(self, process: subprocess.Popen[bytes], read_end: int, program: bytes) -> None:
        self.process = process
        self.result = bytearray()
        self.result_overflow = False
        self.log_bytes = 0
        self._log: deque[bytes] = deque()
        self._log_kept = 0
        self._program = memoryview(program)
        self._result_file = os.fdopen(read_end, "rb", buffering=0)
        self._selector = selectors.DefaultSelector()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 (both are pipes, asked for above)
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout
        for file, event in (
            (self._stdin, selectors.EVENT_WRITE),
            (self._stdout, selectors.EVENT_READ),
            (self._result_file, selectors.EVENT_READ),
        ):
            os.set_blocking(file.fileno(), False)
            self._selector.register(file, event)

    def run(self, deadline: float) -> bool:
        """Exchange until the child is gone; False when the deadline came first."""
        while (left := deadline - time.monotonic()) > 0:
            if self.process.poll() is not None:
                self._drain()  # a grandchild may hold the pipes open: what is there now is all that is waited for
                return True
            if not self._readers():
                return self._wait(left)
            for key, _ in self._selector.select(min(left, POLL_SECONDS)):
                self._serve(key.fileobj)
        return False

    def _readers(self) -> bool:
        return any(key.fileobj is not self._stdin for key in self._selector.get_map().values())

    def _wait(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _drain(self) -> None:
        while ready := self._selector.select(0):
            served = [self._serve(key.fileobj) for key, _ in ready if key.fileobj is not self._stdin]
            if not any(served):
                return

    def _serve(self, file: object) -> int:
        if file is self._stdin:
            return self._feed()
        source = self._stdout if file is self._stdout else self._result_file
        try:
            chunk = os.read(source.fileno(), 65536)
        except BlockingIOError:
            return 0
        if not chunk:
            self._selector.unregister(source)
        elif source is self._stdout:
            self._keep_log(chunk)
        elif len(self.result) + len(chunk) <= RESULT_LIMIT_BYTES:
            self.result += chunk
        else:
            self.result_overflow = True
        return len(chunk)

    def _feed(self) -> int:
        written = 0
        try:
            written = os.write(self._stdin.fileno(), self._program[:65536])
            self._program = self._program[written:]
        except BlockingIOError:
            return 0
        except OSError:  # the child closed its standard input: how it ends tells why
            self._program = self._program[len(self._program) :]
        if not self._program:
            self._selector.unregister(self._stdin)
            with contextlib.suppress(OSError):
                self._stdin.close()
        return written

    def _keep_log(self, chunk: bytes) -> None:
        self.log_bytes += len(chunk)
        self._log.append(chunk)
        self._log_kept += len(chunk)
        while self._log_kept - len(self._log[0]) >= LOG_TAIL_BYTES:
            self._log_kept -= len(self._log.popleft())

    def log_tail(self) -> str:
        """Return the last LOG_TAIL_BYTES as text."""
        return b"".join(self._log)[-LOG_TAIL_BYTES:].decode("utf-8", "replace")

    def close(self) -> None:
        """Close all descriptors."""
        self._selector.close()
        for file in (self._stdin, self._stdout, self._result_file):
            with contextlib.suppress(OSError):
                file.close()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment: with PYTHONUNBUFFERED it would read its program byte by byte."""
    return {name: value for name, value in environ.items() if name != "PYTHONUNBUFFERED"}


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the child and all that it started; then reap it. A process stuck in the driver (state D) cannot be reaped."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_SECONDS)


def _lines(raw: bytes) -> tuple[list[dict[str, object]], bool]:
    """Return the JSON objects that arrived whole, and whether all that arrived was such."""
    lines: list[dict[str, object]] = []
    clean = True
    for piece in raw.split(b"\n"):
        if not piece.strip():
            continue
        try:
            item = json.loads(piece)
        except (ValueError, RecursionError):
            clean = False
            continue
        if isinstance(item, dict):
            lines.append(item)
        else:
            clean = False
    return lines, clean


def _judge(code: int | None, exchange: _Exchange, in_time: bool, timeout: float, seconds: float) -> ChildRun:
    lines, clean = _lines(bytes(exchange.result))
    merged: dict[str, object] = {}
    for line in lines:
        merged.update(line)
    signal_name = _signal_name(-code) if code is not None and code < 0 else None
    if not in_time:
        outcome, reason = ChildOutcome.TIMED_OUT, f"did not answer within {timeout:g} s"
    elif signal_name:
        outcome, reason = ChildOutcome.SIGNALLED, f"was ended by {signal_name}"
    elif code:
        outcome, reason = ChildOutcome.EXITED, f"ended with exit status {code}"
    elif exchange.result_overflow or not clean or not lines:
        outcome, reason = ChildOutcome.BAD_RESULT, "gave no readable answer"
    else:
        outcome, reason = ChildOutcome.OK, ""
    return ChildRun(
        outcome=outcome,
        lines=tuple(lines),
        result=merged if lines else None,
        exit_code=code if code is not None and code >= 0 else None,
        signal_name=signal_name if outcome is ChildOutcome.SIGNALLED else None,
        log=exchange.log_tail(),
        log_bytes=exchange.log_bytes,
        seconds=seconds,
        reason=reason,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
