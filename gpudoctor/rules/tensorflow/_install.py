"""Remedies that install a TensorFlow which fits this machine: the versions come from plan, never from here."""

from __future__ import annotations

import functools

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known, Unknown
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import (
    Machine,
    Plan,
    Stack,
    loader_commands,
    machine_of,
    new_environment_commands,
    newest_tensorflow,
    python_for,
    quote,
)
from gpudoctor.rules.python._pip import apt_venv, pip_commands
from gpudoctor.rules.python._state import minor

# Environments of a user's own: pip may install there. Into a system's Python it may not (PEP 668).
OWN_ENVIRONMENTS = ("venv", "virtualenv", "conda", "pyenv")
PYTHON = "python3"


@functools.lru_cache(maxsize=8)
def _plan(machine: Machine) -> Plan | None:
    try:
        return newest_tensorflow(machine)
    except compat.NotCovered:  # a version that is none, a GPU that is in no table: then there is no plan, and no advice
        return None


def pip_install(interpreter: str, *requirements: str) -> str:
    """Return the command that installs requirements into the environment of an interpreter."""
    words = [quote(word, compat.Os.LINUX) for word in (interpreter, *requirements)]
    return " ".join([words[0], "-m pip install", *words[1:]])


def tensorflow_that_fits(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedy that installs the newest TensorFlow which this machine's GPU and driver can use, if any."""
    try:
        plan = _plan(machine_of(facts))
    except (ValueError, compat.NotCovered):  # an operating system that plan does not know
        return ()
    if plan is None:
        return ()
    if plan.stack is not None:
        return (_remedy(plan.stack, facts, into_target=_may_install(facts)),)
    if plan.with_other_python is not None:
        return (_remedy(plan.with_other_python, facts, into_target=False),)
    return ()


def _may_install(facts: Facts) -> bool:
    """Whether pip may install into the target: an environment of the user's own, and not that of gpudoctor itself."""
    named = facts.python.chosen_by.get() != "own"
    return (
        named
        and isinstance(facts.python.executable, Known)
        and (facts.python.environment_kind.get() in OWN_ENVIRONMENTS)
    )


def _remedy(stack: Stack, facts: Facts, *, into_target: bool) -> Remedy:
    cudnn = f" and cuDNN {stack.cudnn}" if stack.cudnn else ""
    why = f"Install TensorFlow {stack.tensorflow}, built with CUDA {stack.cuda}{cudnn}"
    named = any(isinstance(fact, Known) for gpu in facts.gpus for fact in (gpu.name, gpu.compute_capability))
    if named or isinstance(facts.driver.version, Known):  # of a text that names neither it is not known
        why += ", which this machine can use"
    if into_target:
        install = pip_commands(facts, "install", *stack.requirements)
        lead = loader_commands(stack, facts.python.executable.require())
        commands = tuple(dict.fromkeys((*_uninstall(stack, facts), *install, *lead)))
        summary = f"{why}."
    else:
        same = python_for(stack) == minor(facts.python.version.get())
        commands = (*(apt_venv(facts) if same else ()), *new_environment_commands(stack))
        summary = f"{why}, into a new environment (with Python {stack.pythons[0]} to {stack.pythons[-1]})."
    safe = Applicability.UNSAFE if into_target else Applicability.SAFE
    return Remedy(
        summary=" ".join([summary, *stack.manual]),
        commands=commands,
        applicability=Applicability.MANUAL if stack.manual else safe,
    )


def _uninstall(stack: Stack, facts: Facts) -> tuple[str, ...]:
    """Return the command that removes another package which provides TensorFlow: two would overwrite each other."""
    installed = facts.tensorflow.distribution.get()
    if installed is None or installed == stack.package:
        return ()
    return pip_commands(facts, "uninstall -y", installed)


def newer_than_any_wheel(facts: Facts, *, hard: bool) -> tuple[Remedy, ...]:
    """Return what to do with a GPU for which no published wheel has native code."""
    if isinstance(facts.tensorflow.version, Unknown):
        return ()
    try:
        newest = f"to {compat.newest_release()} (the newest in the tables of {compat.tables_date()})"
    except compat.NotCovered:
        return ()
    if hard:
        summary = (
            f"No published TensorFlow wheel {newest} has native code for this GPU. Use NVIDIA's TensorFlow container "
            "(25.02 or newer), or a build from source with CUDA 12.8 or newer."
        )
        return (Remedy(summary=summary, applicability=Applicability.MANUAL),)
    summary = (
        f"No published TensorFlow wheel {newest} has native code for this GPU. Let the driver keep what it compiles: "
        "the first start is slow, the next ones are not."
    )
    return (
        Remedy(summary=summary, commands=("export CUDA_CACHE_MAXSIZE=4294967296",), applicability=Applicability.SAFE),
    )
