"""What conda makes of this machine when it resolves: its virtual packages. It takes seconds to ask."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpudoctor.facts.host import ChildOutcome, Host
from gpudoctor.facts.model import Absent, CondaPackage, Fact, Known, Unknown
from gpudoctor.facts.probes.answers import Answer
from gpudoctor.facts.probes.driver_answers import FLAGS, program
from gpudoctor.facts.probes.target import Target

TIMEOUT_SECONDS = 30.0
# Set by the shell's part of each program.
VARIABLES = ("CONDA_EXE", "MAMBA_EXE")
PROGRAMS = ("conda", "mamba", "micromamba")
FOLDERS = ("condabin", "bin", "Scripts")
PARTS = 3  # name=version=build
# Longer than any that is known; a text that is no list of them is not kept.
MOST = 64


def virtual_packages(host: Host, target: Target, timeout: float = TIMEOUT_SECONDS) -> Fact[tuple[CondaPackage, ...]]:
    """Return conda's virtual packages for the target's environment; timeout in seconds. Never raises."""
    prefix = conda_prefix(target)
    if prefix is None:
        return Absent("no conda environment")
    asked = next(_programs(host, prefix), None)
    if asked is None:
        return Unknown("no conda, mamba or micromamba was found to ask for its virtual packages")
    run = host.run_child(program("ask_conda"), {"conda": asked}, timeout=timeout, flags=FLAGS)
    answer = Answer(run.result or {})
    if run.outcome is not ChildOutcome.OK or not answer.texts("virtual"):
        return Unknown(f"{asked} info --json {run.reason or answer.text('error') or 'names no virtual packages'}")
    parts = [text.split("=") for text in answer.texts("virtual")[:MOST]]
    found = [CondaPackage(name=part[0], version=part[1], build=part[2]) for part in parts if len(part) == PARTS]
    return Known(tuple(found), f"{os.path.basename(asked)} info")


def program_name(host: Host, target: Target) -> Fact[str]:
    """Return which program there is to change a conda environment, by its name. Starts nothing, never raises."""
    prefix = conda_prefix(target)
    if prefix is None:
        return Absent("no conda environment")
    found = next(_programs(host, prefix), None)
    if found is None:
        return Absent("no conda, mamba or micromamba was found")
    return Known(os.path.basename(found).removesuffix(".exe"), found)


def conda_prefix(target: Target) -> str | None:
    """Return the root of the conda environment that the interpreter belongs to, None if it belongs to none."""
    folder = os.path.dirname(target.path)
    for prefix in (os.path.dirname(folder), folder):  # on Windows the interpreter lies at the root
        if os.path.isdir(os.path.join(prefix, "conda-meta")):
            return prefix
    return None


def _programs(host: Host, prefix: str) -> Iterator[str]:
    """Give the programs that can be asked: of this environment's installation first, then the user's."""
    parent, name = os.path.split(os.path.dirname(prefix))
    base = parent if name == "envs" else prefix
    places = [os.path.join(base, folder, name) for name in PROGRAMS for folder in FOLDERS]
    places += [host.environ.get(variable, "") for variable in VARIABLES]
    searched = [folder for folder in host.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    places += [os.path.join(folder, name) for name in PROGRAMS for folder in searched]
    for place in places:
        if os.path.isabs(place) and os.path.isfile(place) and os.access(place, os.X_OK):
            yield place
