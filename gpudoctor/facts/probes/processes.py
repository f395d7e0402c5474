"""Looks at the processes that NVML lists: who they are, as far as this user may see it."""

from __future__ import annotations

import os
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import GpuProcess, ProcessSight

if TYPE_CHECKING:
    import psutil

# Inode of the kernel's first PID namespace (include/linux/proc_ns.h): only there are NVML's pids ours.
FIRST_PID_NAMESPACE = "pid:[4026531836]"
OURS = "gpudoctor"
COMMAND_LINE_CHARACTERS = 2000
MAPS_BYTES = 4 << 20
# What Jupyter tells a kernel of the notebook that it was started for.
NOTEBOOK_VARIABLE = "JPY_SESSION_NAME"
FRAMEWORKS = {
    "libtensorflow_": "tensorflow",
    "_pywrap_tensorflow": "tensorflow",
    "libtorch_cuda": "torch",
    "xla_cuda_plugin": "jax",
    "jaxlib/": "jax",
}
# Path of a control group, and who makes such ones; the first that fits counts.
CONTAINERS = (
    (re.compile(r"kubepods"), "kubernetes"),
    (re.compile(r"libpod"), "podman"),
    (re.compile(r"docker[-/][0-9a-f]{12}"), "docker"),
    (re.compile(r"containerd"), "containerd"),
    (re.compile(r"/lxc|lxc\.payload"), "lxc"),
    (re.compile(r"/slurm|slurmstepd"), "slurm"),
)


class Viewer:
    """Sees processes by the numbers that NVML tells, where those are numbers of this PID namespace."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.whole_machine = host.root == Path("/")
        try:
            self.same_pids = os.readlink(host.resolve("/proc/self/ns/pid")) == FIRST_PID_NAMESPACE
        except OSError:
            self.same_pids = False

    def look(self, found: GpuProcess) -> GpuProcess:
        """Return what NVML tells with what can be seen. One that gpudoctor itself has started is called gpudoctor."""
        from msgspec.structs import replace

        if not self.same_pids or found.pid <= 0:
            return replace(found, sight=ProcessSight.UNSEEN)
        if not self.whole_machine:
            name = self._name(found.pid)
            return replace(found, name=name, sight=ProcessSight.SEEN if name else ProcessSight.GONE)
        import psutil

        try:
            process = psutil.Process(found.pid)
            with process.oneshot():
                if _is_ours(process):
                    return replace(found, name=OURS, sight=ProcessSight.SEEN, own=True)
                return replace(found, **self._details(process))
        except psutil.ZombieProcess:
            return replace(found, sight=ProcessSight.DEFUNCT)
        except psutil.NoSuchProcess:
            # A mount option (hidepid) can hide other users' processes; their numbers are taken all the same.
            return replace(found, sight=ProcessSight.UNSEEN if _is_taken(found.pid) else ProcessSight.GONE)
        except psutil.Error:
            return replace(found, sight=ProcessSight.UNSEEN)

    def _name(self, pid: int) -> str | None:
        try:
            return self.host.read_text(f"/proc/{pid}/comm", 256).strip() or None
        except OSError:
            return None

    def _details(self, process: psutil.Process) -> dict[str, Any]:
        import psutil

        values: dict[str, Any] = {"name": process.name() or None, "sight": ProcessSight.SEEN}
        values["own"] = process.uids().real == os.getuid()
        values["age_seconds"] = max(0, int(time.time() - process.create_time()))
        values |= self._parent(process)
        if process.status() == psutil.STATUS_ZOMBIE:
            return values | {"sight": ProcessSight.DEFUNCT}
        words = _asked(process, "cmdline")
        if isinstance(words, list) and words:
            values["command_line"] = shlex.join(words)[:COMMAND_LINE_CHARACTERS]
        user = _asked(process, "username")
        values["user"] = user if isinstance(user, str) else None
        values |= self._control_group(process.pid)
        if values["own"]:
            variables = _asked(process, "environ")
            values["notebook"] = variables.get(NOTEBOOK_VARIABLE) if isinstance(variables, dict) else None
            values["framework"] = self._framework(process.pid)
        return values

    def _parent(self, process: psutil.Process) -> dict[str, Any]:
        import psutil

        parent = _asked(process, "parent")
        if not isinstance(parent, psutil.Process):
            return {}
        name = _asked(parent, "name")
        return {"parent_pid": parent.pid, "parent_name": name if isinstance(name, str) else None}

    def _control_group(self, pid: int) -> dict[str, Any]:
        try:
            lines = self.host.read_text(f"/proc/{pid}/cgroup", 1 << 16).splitlines()
        except OSError:
            return {}
        paths = [line.split(":", 2)[2] for line in lines if line.count(":") > 1]
        kind = next((kind for sign, kind in CONTAINERS if any(sign.search(path) for path in paths)), None)
        group = max(paths, key=len, default="")
        return {"container": kind, "control_group": group or None}

    def _framework(self, pid: int) -> str | None:
        try:
            text = self.host.read_text(f"/proc/{pid}/maps", MAPS_BYTES)
        except OSError:
            return None
        return next((name for sign, name in FRAMEWORKS.items() if sign in text), None)


def _asked(process: psutil.Process, question: str) -> object:
    """Return what a process tells; None where this user may not know it."""
    import psutil

    try:
        return getattr(process, question)()
    except psutil.NoSuchProcess:
        raise
    except (psutil.Error, OSError, KeyError):  # KeyError: a user without a name
        return None


def _is_ours(process: psutil.Process) -> bool:
    """Whether this very gpudoctor has started it: its small computation is no competitor."""
    own = os.getpid()
    return process.pid == own or any(parent.pid == own for parent in process.parents())


def _is_taken(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 is sent to nobody: it only asks whether there is such a process
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
