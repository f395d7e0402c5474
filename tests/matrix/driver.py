"""A driver that goes wrong in one way at a time, asked by the real child programs in forks of one interpreter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from gpudoctor.facts.host import ChildOutcome, ChildRun, Host
from gpudoctor.facts.probes.nvml import binding_folder
from tests.fakes.build import Profile, compile_library

SERVER = Path(__file__).with_name("fork_server.py")
LIBRARIES = {"nvml": "libnvidia-ml.so.1", "cu": "libcuda.so.1"}
SOURCES = {"nvml": "nvml.c", "cu": "libcuda.c"}
# Far above what a fork needs on a busy machine; a fork that is meant to hang is given up sooner.
SECONDS, HANG_SECONDS = 60.0, 0.3


class FaultyDriver(Host):
    """A host whose children run in a fork server over stand-in libraries that can be exchanged between two runs."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.profile = folder / "profile.txt"
        self.cache = cache
        cache.mkdir(parents=True, exist_ok=True)
        self.compiled: dict[tuple[str, tuple[str, ...]], bytes] = {}
        self.seconds = SECONDS
        environ = {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(folder),
            "GPUDOCTOR_FAKE_PROFILE": str(self.profile),
        }
        super().__init__(environ=environ)
        self.server = subprocess.Popen(
            [sys.executable, "-I", "-B", str(SERVER), binding_folder()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
        )

    def __enter__(self) -> FaultyDriver:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.server.communicate()

    def set(self, profile: Profile, missing: str | None = None) -> None:
        """Let the libraries answer from a profile, without one function more if that is named."""
        self.profile.write_text(profile.text())
        for kind in SOURCES:
            library = self.library(kind, profile.missing)
            path = self.folder / LIBRARIES[kind]
            path.unlink(missing_ok=True)  # never written in place: the old one may be mapped
            path.write_bytes(without(library, missing) if missing and missing.startswith(kind) else library)

    def library(self, kind: str, missing: tuple[str, ...]) -> bytes:
        """Return a stand-in (nvml or cu) without the functions that this driver lacks."""
        key = kind, tuple(symbol for symbol in missing if symbol.startswith(kind))
        if key not in self.compiled:
            self.compiled[key] = compile_library(SOURCES[kind], key[1], self.cache).read_bytes()
        return self.compiled[key]

    def run_child(
        self,
        program: str,
        request: Mapping[str, object],
        *,
        timeout: float,  # noqa: ARG002 (of the fork server)
        python: str | None = None,  # noqa: ARG002
        flags: Sequence[str] = (),  # noqa: ARG002
        environ: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> ChildRun:
        """Run a child program in a fork."""
        assert self.server.stdin is not None and self.server.stdout is not None
        line = {"program": program, "request": dict(request), "seconds": self.seconds}
        self.server.stdin.write(json.dumps(line).encode() + b"\n")
        self.server.stdin.flush()
        return _run(json.loads(self.server.stdout.readline()))


def _run(answer: Mapping[str, object]) -> ChildRun:
    """Return what Host would have made of it."""
    lines = tuple(json.loads(text) for text in str(answer["out"]).splitlines())
    merged: dict[str, object] = {}
    for line in lines:
        merged.update(line)
    status = int(str(answer["status"]))
    signalled, code = os.WIFSIGNALED(status), os.waitstatus_to_exitcode(status)
    if answer["late"]:
        outcome, reason = ChildOutcome.TIMED_OUT, f"did not answer within {SECONDS:g} s"
    elif signalled:
        outcome, reason = ChildOutcome.SIGNALLED, f"was ended by signal {-code}"
    elif code:
        outcome, reason = ChildOutcome.EXITED, f"ended with exit status {code}"
    else:
        outcome, reason = (ChildOutcome.OK, "") if lines else (ChildOutcome.BAD_RESULT, "gave no readable answer")
    return ChildRun(
        outcome=outcome,
        lines=lines,
        result=merged if lines else None,
        signal_name="SIGABRT" if signalled else None,
        reason=reason,
    )


def without(library: bytes, symbol: str) -> bytes:
    """Return a library that does not export a function: its name in the table of symbols is another one."""
    name = b"\0" + symbol.encode() + b"\0"
    assert name in library, f"the stand-in has no {symbol}"
    return library.replace(name, b"\0X" + name[2:])


def symbols(kind: str) -> list[str]:
    """Return the functions of a stand-in (nvml or cu), as its source has them."""
    source = (Path(__file__).parent.parent / "fakes" / SOURCES[kind]).read_text()
    found = re.findall(rf"\b({kind}[A-Z]\w+)(?=\()", source) + re.findall(rf"_CALL\(({kind}\w+)", source)
    return sorted(set(found) - {"nvmlErrorString", "cuGetErrorName", "cuGetErrorString"})
