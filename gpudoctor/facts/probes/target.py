"""Choose the interpreter to be judged: the one that runs the user's scripts, which need not be our own.

Interpreters are real programs even where a folder stands for the machine, so paths are looked up as they are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from gpudoctor.facts.host import Host

PLACES = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")


class Target(Struct, frozen=True, kw_only=True):
    """The interpreter to be asked.

    path: of the interpreter, not resolved: a virtual environment's python is a link, and the link makes it one.
    chosen_by: "--python", "VIRTUAL_ENV", "CONDA_PREFIX" or "own". reason: one sentence for the user.
    problem: why this interpreter cannot be asked; empty if it can.
    """

    path: str
    chosen_by: str
    reason: str
    problem: str = ""


def choose_target(host: Host, python: str | None = None) -> Target:
    """Choose the interpreter. python: what the user named, a path, a folder of an environment, or a command."""
    if python is not None:
        return _named(host, python)
    notes: list[str] = []
    for variable in VARIABLES:
        folder = host.environ.get(variable, "")
        if not folder:
            continue
        path = _interpreter_in(folder)
        if path:
            return Target(path=path, chosen_by=variable, reason=" ".join([*notes, f"{variable} names {folder}."]))
        notes.append(f"{variable} names {folder}, which holds no Python that can be started.")
    notes.append("No environment is active, so this is the Python that runs gpudoctor.")
    return Target(path=sys.executable, chosen_by="own", reason=" ".join(notes))


def _named(host: Host, python: str) -> Target:
    import shutil  # here: seldom needed, and slow to load

    place = Path(python).expanduser()
    reason = f"--python names {python}."
    if os.path.isdir(place):  # Path.is_dir raises where a folder on the way may not be entered
        path = _interpreter_in(str(place))
        problem = "" if path else f"{python} is a folder without a Python that can be started (looked for bin/python)"
        return Target(path=path or str(place), chosen_by="--python", reason=reason, problem=problem)
    found = None if os.path.exists(place) or os.sep in python else shutil.which(python, path=host.environ.get("PATH"))
    path = found or _absolute(str(place))
    if not os.path.isfile(path):
        problem = f"{python} cannot be reached by this user" if _is_closed(path) else f"there is no {python}"
    elif not os.access(path, os.X_OK):
        problem = f"{python} may not be executed by this user"
    else:
        problem = ""
    return Target(path=path, chosen_by="--python", reason=reason, problem=problem)


def _is_closed(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _interpreter_in(folder: str) -> str | None:
    for place in PLACES:
        path = os.path.join(_absolute(folder), place)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _absolute(path: str) -> str:
    try:
        return str(Path(path).absolute())
    except OSError:  # the current folder was removed: nothing lies in it
        return path
