"""One worker process: commands go in on its standard input, answers come out on a descriptor of their own."""

from __future__ import annotations

import contextlib
import enum
import itertools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpudoctor.facts.lifeline import Lifeline
from gpudoctor.facts.model import LogEvent
from gpudoctor.logs.message import EventKind
from gpudoctor.logs.messages import MESSAGES
from gpudoctor.logs.reader import read_log

ANSWER_LIMIT_BYTES = 8 << 20
LOG_TAIL_BYTES = 4096
REAP_SECONDS = 2.0
LEAVE_SECONDS = 2.0


class Failure(enum.Enum):
    """Why a worker gave no answer."""

    TIMEOUT = "timeout"
    SIGNAL = "signal"
    EXIT = "exit"
    BAD_RESULT = "bad-result"
    OUT_OF_MEMORY = "out-of-memory"
    KILLED = "killed"
    """By SIGKILL, and not by us: most likely the kernel was out of memory."""
    FAILED = "failed"
    """It told an exception, and lives."""
    NOT_STARTED = "not-started"


class WorkerError(Exception):
    """A worker could not do what it was told; the text is a sentence part for the user."""

    def __init__(self, failure: Failure, text: str, *, log: str = "", events: Sequence[LogEvent] = ()) -> None:
        super().__init__(text)
        self.failure = failure
        self.log = log
        """The end of its log."""
        self.events = tuple(events)
        """Known messages of the whole log."""


class Worker:
    """A running worker. Close it in any case: it kills what is left of it and its children."""

    def __init__(self, argv: Sequence[str], *, folder: Path, log: Path, environ: Mapping[str, str]) -> None:
        """Start it in a folder. The descriptor's number is appended to argv. Raises WorkerError."""
        self.log = log
        self._numbers = itertools.count(1)
        self._buffer = bytearray()
        self._read_end, write_end = os.pipe()
        self._lifeline = Lifeline()
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    [*argv, str(write_end)],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(write_end, *self._lifeline.descriptors),
                    cwd=folder,
                    env=dict(environ),
                    start_new_session=True,
                )
        except (OSError, ValueError) as exc:
            os.close(self._read_end)
            self._lifeline.close()
            reason = f"{argv[0]} could not be started: {getattr(exc, 'strerror', None) or exc}"
            raise WorkerError(Failure.NOT_STARTED, reason) from exc
        finally:
            os.close(write_end)
        self._lifeline.tie(self._process.pid)

    def ask(self, do: str, *, seconds: float, **arguments: object) -> dict[str, object]:
        """Send one command and return its answer. seconds: until it is given up. Raises WorkerError."""
        number = next(self._numbers)
        deadline = time.monotonic() + seconds
        line = (json.dumps({"id": number, "do": do, **arguments}) + "\n").encode("ascii")
        assert self._process.stdin is not None  # noqa: S101 (a pipe, asked for above)
        with contextlib.suppress(OSError):  # it is gone: how it ended says more
            self._process.stdin.write(line)
            self._process.stdin.flush()
        answer = self._read(deadline, seconds)
        if answer.get("id") != number:
            raise self.error(Failure.BAD_RESULT, "the worker answered what was not asked")
        if answer.get("ok") is not True:
            kind = Failure.OUT_OF_MEMORY if answer.get("error") == Failure.OUT_OF_MEMORY.value else Failure.FAILED
            raise self.error(kind, str(answer.get("detail") or "the worker told no reason"))
        return answer

    def _read(self, deadline: float, seconds: float) -> dict[str, object]:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._read_end], [], [], left)[0]
            if not ready:
                raise self.error(Failure.TIMEOUT, f"no answer within {seconds:.0f} s")
            chunk = os.read(self._read_end, 65536)
            if not chunk:
                raise self._ended()
            self._buffer += chunk
            if len(self._buffer) > ANSWER_LIMIT_BYTES:
                raise self.error(Failure.BAD_RESULT, "the worker's answer has no end")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self.error(Failure.BAD_RESULT, "the worker's answer cannot be read")
        return answer

    def _ended(self) -> WorkerError:
        """Return what its end tells."""
        try:
            code = self._process.wait(REAP_SECONDS)
        except subprocess.TimeoutExpired:
            return self.error(Failure.BAD_RESULT, "the worker closed its channel and runs on")
        if code == -signal.SIGKILL:
            return self.error(Failure.KILLED, "the worker was killed, most likely because memory ran out")
        if code < 0:
            return self.error(Failure.SIGNAL, f"the worker was ended by {_signal_name(-code)}")
        return self.error(Failure.EXIT, f"the worker ended with exit status {code}")

    def error(self, failure: Failure, text: str) -> WorkerError:
        """Return an error with the end of the log and what is known of its messages."""
        tail = ""
        events: tuple[LogEvent, ...] = ()
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            events = tuple(read_log(file, "the worker's log"))
            file.seek(max(0, file.tell() - LOG_TAIL_BYTES))
            tail = file.read().decode("utf-8", "replace")
        return WorkerError(failure, text, log=tail, events=events)

    @property
    def pid(self) -> int:
        """Process number, also of its group."""
        return self._process.pid

    def close(self, *, at_once: bool = False) -> None:
        """End it and all that it started, and reap it. at_once: do not let it leave by itself."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not at_once:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVE_SECONDS)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_SECONDS)
        with contextlib.suppress(OSError):
            os.close(self._read_end)
        self._read_end = -1
        self._lifeline.close()


# What the log says of a failure; all else is printed by healthy programs, too.
_TELLING = (EventKind.OPERATION_FAILED, EventKind.OUT_OF_MEMORY, EventKind.IMPORT_FAILED, EventKind.HARDWARE)


def log_says(error: WorkerError, *, on_gpu: bool) -> str:
    """Return what the known messages of a failed worker's log mean, each once. on_gpu: it should have used a GPU."""
    kinds = (*_TELLING, EventKind.GPU_UNUSABLE) if on_gpu else _TELLING
    meanings = {message.id: message.meaning for message in MESSAGES if message.kind in kinds}
    found = dict.fromkeys(meanings[event.message] for event in error.events if event.message in meanings)
    return " ".join(found)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
