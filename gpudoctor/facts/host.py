"""The only door to the machine: files, folders and child processes, all bounded.

Probes take a Host and nothing else, so that a folder and a canned environment can stand in for a machine.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpudoctor.facts.children import LOG_TAIL_BYTES, ChildOutcome, Children, ChildRun

__all__ = ("LOG_TAIL_BYTES", "ChildOutcome", "ChildRun", "Host")


class Host:
    """This machine, or a folder that looks like one.

    root: folder that stands for `/`. environ: environment variables of the user's shell.
    """

    def __init__(self, root: Path = Path("/"), environ: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self._children = Children()

    @property
    def is_real(self) -> bool:
        """Whether this is the machine itself, not a folder that stands for it."""
        return self.root == Path("/")

    def resolve(self, path: str) -> Path:
        """Return the path below the root folder."""
        return self.root / path.lstrip("/")

    def read_text(self, path: str, limit_bytes: int = 1 << 20) -> str:
        """Return the first limit_bytes of a file as text. Raises OSError; a FIFO or device does not block."""
        return self.read_bytes(path, limit_bytes).decode("utf-8", "replace")

    def read_bytes(self, path: str, limit_bytes: int = 1 << 20, offset: int = 0) -> bytes:
        """Return limit_bytes of a file from an offset on. Raises OSError; a FIFO or device does not block."""
        descriptor = os.open(self.resolve(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a regular file")
            os.lseek(descriptor, offset, os.SEEK_SET)
            chunks: list[bytes] = []
            while limit_bytes > 0 and (chunk := os.read(descriptor, limit_bytes)):
                chunks.append(chunk)
                limit_bytes -= len(chunk)
        finally:
            os.close(descriptor)
        return b"".join(chunks)

    def list_dir(self, path: str) -> list[str]:
        """Return the sorted names in a folder. Raises OSError."""
        return sorted(os.listdir(self.resolve(path)))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return os.path.exists(self.resolve(path))  # Path.exists raises where a name is too long

    def access(self, path: str, mode: int) -> bool:
        """Whether this user has access in this mode (os.R_OK and its like)."""
        return os.access(self.resolve(path), mode)

    def stop(self) -> None:
        """End all children now, from any thread: the user has interrupted us."""
        self._children.stop()

    def run_child(
        self,
        program: str,
        request: Mapping[str, object],
        *,
        timeout: float,
        python: str | None = None,
        flags: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> ChildRun:
        """Run a program text in an interpreter of its own and return what it wrote to its result descriptor.

        timeout: seconds for the child's whole life. environ: its environment; the host's if None.
        Never raises for anything that the child does.
        """
        return self._children.run(
            (python or sys.executable, *flags),
            program,
            request,
            self.environ if environ is None else environ,
            timeout,
        )
