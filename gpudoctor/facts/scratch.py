"""A temporary folder that goes with this process, also where that is killed: a shell waits beside it to sweep up.

The shell reads from a pipe whose only writer is this process, so it wakes when this process is gone in whatever way.
Until then it takes no processor time. It removes the folder only if nobody else has.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

SHELL = "/bin/sh"
USUAL = "/tmp"  # noqa: S108 (a folder of our own is made in it)
# Killed children may still be writing when the sweeping begins: it is tried again until nothing is left.
SWEEP = (
    'read -r _; n=0; while [ -e "$1" ] && [ $n -lt 50 ]; do rm -rf -- "$1"; n=$((n+1)); [ -e "$1" ] && sleep 0.1; done'
)
LEAVE_SECONDS = 10.0


@contextlib.contextmanager
def scratch_folder(prefix: str = "gpudoctor-", parent: Path | None = None) -> Iterator[Path]:
    """Make a folder and remove it at the end. parent: the system's folder for such things if None. Raises OSError."""
    import shutil  # here, as below: a quick check makes no folder, and need not load them

    name = f"{prefix}{os.urandom(8).hex()}"  # known before the folder is there: no moment is without a sweeper
    folder = (Path(temporary_folder(os.environ)) if parent is None else parent).absolute() / name
    with _swept(folder):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def temporary_folder(environ: Mapping[str, str]) -> str:
    """Return the system's folder for what is temporary; tempfile would write into it to try it."""
    import tempfile

    named = next((environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)), "")
    return named or (USUAL if os.path.isdir(USUAL) else tempfile.gettempdir())


@contextlib.contextmanager
def _swept(folder: Path) -> Iterator[None]:
    try:
        sweeper = subprocess.Popen(
            [SHELL, "-c", SWEEP, "sh", os.fspath(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # what ends our group must not end it
        )
    except OSError:  # no shell: then only SIGKILL leaves a folder
        yield
        return
    try:
        yield
    finally:
        assert sweeper.stdin is not None  # noqa: S101 (a pipe, asked for above)
        sweeper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            sweeper.wait(LEAVE_SECONDS)
