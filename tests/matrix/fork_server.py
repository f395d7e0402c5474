"""Runs a child program again and again in forks of one interpreter that has loaded what it needs: 3 ms, not 60.

Started as `python -I -B fork_server.py <folder of nvidia-ml-py>`. One JSON request a line on standard input:
{"program": text, "request": {...}, "seconds": limit}; one JSON answer a line: {"out": text, "status": of waitpid,
"late": bool}. The driver's libraries are loaded in the fork, from wherever LD_LIBRARY_PATH led at the server's start.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from types import CodeType

MIB = 1024 * 1024


def child(line: dict[str, object], write_end: int, code: CodeType) -> None:
    """Be the program; does not return."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB, 2048 * MIB))  # an absurd count must not take the machine down
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.argv = ["-", str(write_end), json.dumps(line["request"])]
    try:
        exec(code, {"__name__": "__main__"})  # noqa: S102 (our own program)
    except BaseException:  # noqa: BLE001 (as an interpreter ends with status 1)
        os._exit(1)
    os._exit(0)


def answer(line: dict[str, object], code: CodeType) -> dict[str, object]:
    """Run one request in a fork."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read_end)
        child(line, write_end, code)
    os.close(write_end)
    chunks, late = [], False
    deadline = time.monotonic() + float(str(line["seconds"]))
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            late = True
            os.kill(pid, signal.SIGKILL)
            break
        chunk = os.read(read_end, 65536)
        if not chunk:
            break
        chunks.append(chunk)
    os.close(read_end)
    return {"out": b"".join(chunks).decode("utf-8", "replace"), "status": os.waitpid(pid, 0)[1], "late": late}


def main() -> None:
    """Answer until the input ends."""
    sys.path.append(sys.argv[1])
    import ctypes  # noqa: F401

    import pynvml  # type: ignore[import-untyped]  # noqa: F401

    compiled: dict[str, CodeType] = {}
    for text in sys.stdin:
        line = json.loads(text)
        program = line["program"]
        if program not in compiled:
            compiled[str(program)] = compile(str(program), "<stdin>", "exec")
        sys.stdout.write(json.dumps(answer(line, compiled[program])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
