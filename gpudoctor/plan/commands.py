"""A stack as commands to paste."""

from __future__ import annotations

import re
import shlex
from enum import Enum

from gpudoctor.compat import Os, version
from gpudoctor.plan.model import Stack

ENVIRONMENT = "tf-env"
WINDOWS_SAFE = re.compile(r"[\w.:=\\/+-]+\Z")
# What cmd or PowerShell takes for more than text also between double quotes; PowerShell ends them at curly ones.
WINDOWS_ACTIVE = re.compile(r"[\"`$%!\u201c-\u201f\x00-\x1f]")
# Stands for a word that cmd and PowerShell have no common way to write.
TO_FILL_IN = "PATH-OR-NAME"
_ACTIVE = re.compile(r"[\\\"$`]")


class Installer(str, Enum):
    """Programs that install packages into a virtual environment."""

    PIP = "pip"
    UV = "uv"


def quote(word: str, os: Os) -> str:
    """A word for a POSIX shell or, on Windows, for cmd and PowerShell alike: text, whatever stands in it.

    It is no option: a file whose name begins as one has ./ before it.
    """
    word = f"./{word}" if word.startswith("-") else word
    if os is Os.WINDOWS:
        if WINDOWS_ACTIVE.search(word):
            return TO_FILL_IN
        return word if WINDOWS_SAFE.match(word) else f'"{word}"'
    if word.startswith("~/"):  # a home folder, as redacted facts write it: the shell expands it only unquoted
        return "~/" + shlex.quote(word[2:])
    return shlex.quote(word)


def in_quotes(text: str) -> str:
    """A text as it stands between the double quotes of a POSIX shell, which expands a home folder only as $HOME."""
    home, rest = ("$HOME/", text[2:]) if text.startswith("~/") else ("./" if text.startswith("-") else "", text)
    # An exclamation mark recalls an older command, except between single quotes.
    return home + _ACTIVE.sub(r"\\\g<0>", rest).replace("!", "\"'!'\"")


def python_for(stack: Stack) -> str:
    """The Python to make an environment with: the newest at hand, else the newest that has a wheel."""
    return max(stack.pythons_at_hand or stack.pythons, key=version)


def loader_commands(stack: Stack, interpreter: str) -> tuple[str, ...]:
    """Commands that lead the loader to wheels which the release itself does not look into; mostly none.

    They hold for one shell. An empty entry in the variable would mean the current folder.
    """
    if not stack.unsearched:
        return ()
    site = f"$({quote(interpreter, stack.route)} -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')"
    folders = ":".join(f"{site}/{folder}" for folder in stack.unsearched)
    return (f'export LD_LIBRARY_PATH="{folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',)


def install_commands(stack: Stack, interpreter: str, installer: Installer = Installer.PIP) -> tuple[str, ...]:
    """Commands that install the stack into the environment of `interpreter`, whose Python must fit.

    Where none fits, see new_environment_commands.
    """
    words = [quote(word, stack.route) for word in stack.requirements]
    python = quote(interpreter, stack.route)
    if installer is Installer.UV:
        return (" ".join(["uv pip install --python", python, *words]), *loader_commands(stack, interpreter))
    call = "& " if stack.route is Os.WINDOWS and python.startswith('"') else ""
    return (" ".join([f"{call}{python} -m pip install", *words]), *loader_commands(stack, interpreter))


def new_environment_commands(stack: Stack, installer: Installer = Installer.PIP) -> tuple[str, ...]:
    """Commands that make the environment tf-env here with a Python that fits, and install the stack into it.

    Assumes that this Python is installed (uv fetches it): `python3.11`, on Windows `py -3.11`.
    """
    python = python_for(stack)
    windows = stack.route is Os.WINDOWS
    inside = f"{ENVIRONMENT}\\Scripts\\python.exe" if windows else f"{ENVIRONMENT}/bin/python"
    if installer is Installer.UV:
        make = f"uv venv --python {python} {ENVIRONMENT}"
    else:
        make = f"py -{python} -m venv {ENVIRONMENT}" if windows else f"python{python} -m venv {ENVIRONMENT}"
    return (make, *install_commands(stack, inside, installer))
