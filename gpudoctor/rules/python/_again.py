"""Remedies that remove what provides TensorFlow, and install one package instead."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, PackageProblem
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import quote
from gpudoctor.rules.python._pip import pip_commands, tensorflow_again


def newest(versions: tuple[str, ...]) -> str | None:
    """Return the newest release, pre-releases only where there is nothing else; None where nothing is a version."""
    parsed = []
    for text in versions:
        try:
            parsed.append((not compat.version(text).is_prerelease, compat.version(text), text))
        except compat.NotCovered:
            continue
    return max(parsed)[2] if parsed else None


def once(facts: Facts, packages: tuple[str, ...], version: str | None) -> tuple[Remedy, ...]:
    """Return the remedy that uninstalls all packages that provide TensorFlow and installs one."""
    wanted = tensorflow_again(facts, version) or "tensorflow"
    names = tuple(dict.fromkeys(packages))
    summary = f"Uninstall {' and '.join(names)}: each takes files of the other along. Then install one ({wanted})."
    commands = (*pip_commands(facts, "uninstall -y", *names), pip_commands(facts, "install", wanted)[-1])
    return (Remedy(summary=summary, commands=commands, applicability=Applicability.UNSAFE),)


def after_removal(facts: Facts, problem: PackageProblem) -> tuple[Remedy, ...]:
    """Return the remedy for a TensorFlow of which a part is gone: what is left stands in the way of a new one."""
    version = _recorded_version(facts, problem.name)
    wanted = tensorflow_again(facts, version) or "tensorflow"
    clear: tuple[str, ...] = ()
    if problem.kind == "hollow":
        clear = (f"rm -rf {quote(problem.detail, compat.Os.LINUX)}",)
    recorded = any(item.name == problem.name for item in facts.python.packages.get() or ())
    removal = pip_commands(facts, "uninstall -y", problem.name) if recorded else ()
    return (
        Remedy(
            summary=f"Remove what is left of it, and install it anew ({wanted}).",
            commands=(*removal, *clear, pip_commands(facts, "install", wanted)[-1]),
            applicability=Applicability.UNSAFE,
        ),
    )


def delete(paths: tuple[str, ...]) -> tuple[Remedy, ...]:
    """Return the remedy that deletes remains which pip ignores."""
    return (
        Remedy(
            summary="Delete the remains; pip only warns of them and ignores them.",
            commands=("rm -r " + " ".join(quote(path, compat.Os.LINUX) for path in paths),),
            applicability=Applicability.UNSAFE,
        ),
    )


def _recorded_version(facts: Facts, name: str) -> str | None:
    return next((item.version for item in facts.python.packages.get() or () if item.name == name), None)
