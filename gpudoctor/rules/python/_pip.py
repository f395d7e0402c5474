"""Commands that change the packages of the target environment: for what installed them, with the interpreter's path."""

from __future__ import annotations

import re

from gpudoctor import compat
from gpudoctor.facts.model import Absent, Facts, Known
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import quote
from gpudoctor.rules.python._state import minor, package

# Where the interpreter is not known (a pasted log): the user's own word for it.
PYTHON = "python"
# Distributions that keep what `venv` needs in a package of its own.
BY_APT = ("debian", "ubuntu", "linuxmint", "pop", "neon", "zorin", "elementary")
APT = "sudo apt-get install"
VARIANTS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-rocm")


def shell(facts: Facts) -> compat.Os:
    """Return the system whose shells the commands are for."""
    return compat.Os.WINDOWS if facts.host.os.get() == "windows" else compat.Os.LINUX


def interpreter(facts: Facts) -> str:
    """Return the interpreter as a shell word, for PowerShell with its sign for a call where it needs one."""
    word = quote(facts.python.executable.get() or PYTHON, shell(facts))
    return f"& {word}" if word.startswith('"') else word


def _uses_conda(facts: Facts, *names: str) -> bool:
    """Whether conda installed one of these packages: then pip should not touch them."""
    found = [package(facts, name) for name in names]
    return isinstance(facts.python.prefix, Known) and any(item and item.installer == "conda" for item in found)


def conda_install(facts: Facts, *packages: str, channel: str = "") -> str:
    """Return the command by which the environment's own program (conda, mamba, micromamba) installs packages."""
    prefix = facts.python.prefix.get()
    where = ["-p", quote(prefix, shell(facts))] if prefix is not None else []
    source = ["-c", channel] if channel else []
    words = [quote(word, shell(facts)) for word in packages]
    return " ".join([facts.python.conda_program.get() or "conda", "install", *where, *source, *words])


def pip_commands(facts: Facts, verb: str, *words: str) -> tuple[str, ...]:
    """Return the commands for `pip VERB WORDS`, verb `install` or `uninstall -y`: for what the environment is kept by.

    With uv where it made the environment, with Poetry where it installed TensorFlow, with pip fetched if missing.
    """
    quoted = " ".join(quote(word, shell(facts)) for word in words)
    if facts.python.installer.get() == "poetry":
        return (f"{_poetry(facts)} {'add' if verb == 'install' else 'remove'} {quoted}",)
    python = interpreter(facts)
    if facts.python.installer.get() == "uv":
        return (f"uv pip {verb.removesuffix(' -y')} --python {python.removeprefix('& ')} {quoted}",)
    fetch = _fetch_pip(facts, python) if isinstance(facts.python.installer, Absent) else ()
    return (*fetch, f"{python} -m pip {verb} {quoted}")


def _fetch_pip(facts: Facts, python: str) -> tuple[str, ...]:
    """Return the commands that bring pip. Debian switches ensurepip off for the system's own Python."""
    if facts.python.environment_kind.get() == "system" and facts.host.distribution_id.get() in BY_APT:
        return (f"{APT} python3-pip",)
    return (*apt_venv(facts), f"{python} -m ensurepip")


def apt_venv(facts: Facts) -> tuple[str, ...]:
    """Return the command without which this Python makes no environment with pip; nothing where it can."""
    there, version = facts.python.ensurepip, minor(facts.python.version.get())
    if there.get() is not False or facts.host.distribution_id.get() not in BY_APT or version is None:
        return ()
    return (f"{APT} python{version}-venv",)


def _poetry(facts: Facts) -> str:
    """Return poetry, with the project's folder where the environment lies in it; else it has to be called there."""
    folder, inside, _ = re.sub(r"\\", "/", facts.python.executable.get() or "").rpartition("/.venv/")
    return f"poetry -C {quote(folder, shell(facts))}" if inside and folder else "poetry"


def install(facts: Facts, requirement: str, summary: str, *, of: str) -> tuple[Remedy, ...]:
    """Return the remedy that brings a package to a version. of: the package that has to change."""
    if _uses_conda(facts, of):
        commands: tuple[str, ...] = (conda_install(facts, requirement),)
    elif facts.python.externally_managed.get():
        return (_new_environment(facts, requirement, summary),)
    else:
        commands = pip_commands(facts, "install", requirement)
    known = isinstance(facts.python.executable, Known)
    return (
        Remedy(
            summary=summary,
            commands=commands,
            applicability=Applicability.UNSAFE if known else Applicability.MANUAL,
        ),
    )


def _new_environment(facts: Facts, requirement: str, summary: str) -> Remedy:
    """Return the remedy where the system forbids pip to change its own Python (PEP 668)."""
    wanted = [tensorflow_again(facts) or "tensorflow", requirement]
    words = " ".join(quote(word, shell(facts)) for word in dict.fromkeys(wanted))
    return Remedy(
        summary=f"{summary} The system lets pip change nothing in its own Python: use a virtual environment.",
        commands=(
            *apt_venv(facts),
            f"{interpreter(facts)} -m venv tf-env",
            f"tf-env/bin/python -m pip install {words}",
        ),
        applicability=Applicability.SAFE,
    )


def tensorflow_again(facts: Facts, version: str | None = None) -> str | None:
    """Return the requirement that installs the TensorFlow which is there anew, with its CUDA libraries where it can."""
    version = version or facts.tensorflow.version.get()
    if version is None:
        return None
    name = facts.tensorflow.distribution.get() or "tensorflow"
    if name == "tf-nightly" or "dev" in version:
        return f"tf-nightly=={version}"
    linux = facts.host.os.get() in (None, "linux") and facts.host.machine.get() in (None, "x86_64")
    try:
        extra = "[and-cuda]" if linux and facts.gpus and compat.pip_route(version).extra_installs else ""
    except compat.NotCovered:
        extra = ""
    return f"tensorflow{extra}=={version}"
