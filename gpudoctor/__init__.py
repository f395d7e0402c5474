"""Tells why TensorFlow or Keras does not use the NVIDIA GPU of a machine, and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.api import EnvironmentNotReady, Report, check, require

__version__ = "0.1.0"
__all__ = ["EnvironmentNotReady", "Report", "__version__", "check", "require"]


def __getattr__(name: str) -> object:
    """Import what is asked for: importing gpudoctor itself costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("gpudoctor.api"), name)
