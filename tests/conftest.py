"""Fixtures for all tests."""

from tests.fakes.build import stand_ins

__all__ = ["stand_ins"]
