"""What the kernel's log of this start tells of the GPU: Xids, a lost GPU, a module that is refused."""

from __future__ import annotations

import contextlib
import os
import stat

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Fact, Known, LogEvent, Unknown

KERNEL_LOG = "/dev/kmsg"
SOURCE = "the kernel's log"
# One read gives one record of at most 8 KiB; a ring of 16 MiB has no more of them than this.
RECORD_BYTES, MOST_RECORDS = 8192, 65536
TEXT_BYTES = 16 << 20
# Without one of these a line has nothing for the log reader, which is not even loaded then.
MARKS = (b"NVRM: Xid", b"fallen off the bus", b"NVRM: GPU", b"NVRM: RmInit", b"Required key not available")
SHOWN_LINES = 1000


def probe(host: Host) -> Fact[tuple[LogEvent, ...]]:
    """Return the events in the kernel's log; most systems let only administrators read it. Never raises."""
    try:
        lines = [line for line in _records(host) if any(mark in line for mark in MARKS)]
    except OSError as exc:
        return Unknown(f"{SOURCE} cannot be read by this user: {KERNEL_LOG}: {exc.strerror or exc}")
    if not lines:
        return Known((), SOURCE)
    from gpudoctor.logs.reader import read_text

    text = b"\n".join(lines[-SHOWN_LINES:]).decode("utf-8", "replace")
    return Known(tuple(read_text(text, SOURCE)), SOURCE)


def _records(host: Host) -> list[bytes]:
    """Return the lines without the kernel's prefix "6,1201,5140900,-;". Raises OSError; never waits for a next one."""
    descriptor = os.open(host.resolve(KERNEL_LOG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    pieces: list[bytes] = []
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISCHR(kind) and not stat.S_ISREG(kind):
            raise OSError(f"{KERNEL_LOG} is no log")
        left = TEXT_BYTES
        with contextlib.suppress(BlockingIOError):  # all is read
            for _ in range(MOST_RECORDS):
                try:
                    piece = os.read(descriptor, RECORD_BYTES)
                except BrokenPipeError:  # the ring has overtaken us
                    continue
                if not piece or left < 0:
                    break
                left -= len(piece)
                pieces.append(piece)
    finally:
        os.close(descriptor)
    joined = b"".join(pieces)
    return [line.partition(b";")[2] or line for line in joined.split(b"\n")]
