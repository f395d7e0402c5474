"""Which TensorFlow, CUDA, cuDNN and Python fit a GPU, a driver and an operating system. Pure: a search over tables."""

from __future__ import annotations

from gpudoctor.plan.commands import (
    Installer,
    in_quotes,
    install_commands,
    loader_commands,
    new_environment_commands,
    python_for,
    quote,
)
from gpudoctor.plan.driver import DRIVER_PAGE, driver_route
from gpudoctor.plan.from_facts import machine_of
from gpudoctor.plan.model import Evidence, Excluded, Machine, Plan, Provider, Stack
from gpudoctor.plan.search import newest_tensorflow

__all__ = [
    "DRIVER_PAGE",
    "Evidence",
    "Excluded",
    "Installer",
    "Machine",
    "Plan",
    "Provider",
    "Stack",
    "driver_route",
    "in_quotes",
    "install_commands",
    "loader_commands",
    "machine_of",
    "new_environment_commands",
    "newest_tensorflow",
    "python_for",
    "quote",
]
