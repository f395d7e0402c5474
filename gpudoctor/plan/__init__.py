"""Which TensorFlow, CUDA, cuDNN and Python fit a GPU, a driver and an operating system. Pure: a search over tables."""

from __future__ import annotations

from gpudoctor.plan.commands import Installer, install_commands, new_environment_commands, python_for, quote
from gpudoctor.plan.model import Evidence, Excluded, Machine, Plan, Provider, Stack
from gpudoctor.plan.search import newest_tensorflow

__all__ = [
    "Evidence",
    "Excluded",
    "Installer",
    "Machine",
    "Plan",
    "Provider",
    "Stack",
    "install_commands",
    "new_environment_commands",
    "newest_tensorflow",
    "python_for",
    "quote",
]
