"""Which packages are installed in the target environment."""

from __future__ import annotations

from gpudoctor.facts.model import Facts


def is_installed(facts: Facts, name: str) -> bool:
    """Whether a distribution is known to be installed; False also where the packages could not be read."""
    return any(package.name == name for package in facts.python.packages.get() or ())
