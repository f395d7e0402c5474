"""Names the packages; all else is in pyproject.toml.

A list in pyproject.toml would have to grow with each folder of rules, and its `find` cannot see packages outside the
folder `gpudoctor`.
"""

from setuptools import find_packages, setup

MAPPED = ["gpudoctor.compat_tables", "gpudoctor.workloads"]  # their folders: pyproject.toml, package-dir

setup(packages=[*find_packages(include=["gpudoctor", "gpudoctor.*"]), *MAPPED])
