"""One benchmark on a device at a time: two would measure each other."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class DeviceBusyError(Exception):
    """Another benchmark runs on the device."""


class DeviceLock:
    """Holds a device while the block runs; the system frees it when the process ends in any way."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"bench-{re.sub(r'[^A-Za-z0-9-]', '_', name)}.lock"
        self._descriptor = -1

    def __enter__(self) -> DeviceLock:
        """Take it. Raises DeviceBusyError; where no lock can be made, there is none."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._descriptor >= 0 and fcntl is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._descriptor)
                self._descriptor = -1
                raise DeviceBusyError("another `gpudoctor bench` is running on this device") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
