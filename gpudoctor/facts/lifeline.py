"""Ends a child's process group when this process dies in whatever way, by SIGKILL too; on Linux.

The child inherits the reading end of a pipe, and the kernel is told to signal the child's group when the last writer
is gone, which is this process. It costs the child nothing, and works for one that hangs before its first statement.
"""

from __future__ import annotations

import contextlib
import os
import signal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lifeline:
    """One pipe for one child."""

    def __init__(self) -> None:
        self._ends: tuple[int, ...] = ()
        if hasattr(fcntl, "F_SETSIG"):  # only Linux lets the signal be chosen; elsewhere SIGIO would be ignored
            self._ends = os.pipe()
            fcntl.fcntl(self._ends[0], fcntl.F_SETSIG, signal.SIGKILL)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return what the child has to inherit."""
        return self._ends[:1]

    def tie(self, group: int) -> None:
        """Let the process group end with this process."""
        for end in self._ends[:1]:
            with contextlib.suppress(OSError):  # the child is gone already
                fcntl.fcntl(end, fcntl.F_SETOWN, -group)
                fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_ASYNC)

    def close(self) -> None:
        """Let go. The reading end goes first: then nothing is signalled unless a grandchild still holds it."""
        for end in self._ends:
            os.close(end)
        self._ends = ()
