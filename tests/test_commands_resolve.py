"""The pip commands that the rules print, against the package index: outside the default run, since it downloads."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gpudoctor import compat, engine
from gpudoctor.findings import Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.environments import interpreters
from tests.rule_case import facts_of
from tests.test_plan_resolves import make_environment
from tests.test_rule_cases import CASES

INSTALL = re.compile(r"(?:-m|uv) pip install (?:--python \S+ )?(?P<words>.*)")
# What no index serves for Linux, or only as source: a release of the future in a case, macOS, and Horovod's build.
NOT_SERVED = ("==2.99.0", "tensorflow-metal", "horovod")
# For what names no TensorFlow: a Python that most of its releases have.
USUAL = 10


def printed() -> list[str]:
    """Return the requirements of each `pip install` that a rule case makes the report print, each set once."""
    found = set()
    rules = load_rules()
    for _, case in CASES:
        if case["expect"] not in ("fail", "note") or "policy" in case:
            continue
        facts = facts_of(
            case["base"], **{key: case[key] for key in ("set", "also", "unknown", "absent") if key in case}
        )
        report = engine.judge(facts, rules, source=Source(kind=SourceKind.FACTS))
        for command in (command for remedy in report.remedies for command in remedy.commands):
            match = INSTALL.search(command)
            if match is not None and not any(name in command for name in NOT_SERVED):
                found.add(shlex.join(sorted(shlex.split(match["words"]))))
    return sorted(found)


def fitting(words: list[str]) -> int | None:
    """Return the minor number of the newest Python here that the TensorFlow among the words has wheels for."""
    for word in words:
        match = re.match(r"(?P<package>tensorflow(?:-gpu|-cpu)?)(?:\[and-cuda\])?==(?P<version>[\w.]+)\Z", word)
        if match is not None:
            row = compat.wheel(match["version"], match["package"], "linux-x86_64")
            here = [minor for minor in interpreters() if f"3.{minor}" in compat.pythons_of(row)]
            return max(here, default=None)
    return USUAL


@functools.cache
def environment(minor: int, folder: Path) -> str:
    """Make an environment, once for each Python; return its interpreter."""
    return make_environment(folder / f"env{minor}", minor)


def dry_run(requirements: str, folder: Path) -> str:
    """Return what pip says against a set of requirements, nothing where it would install it or cannot be asked."""
    words = shlex.split(requirements)
    minor = fitting(words)
    if minor is None:
        return ""
    dry = [environment(minor, folder), "-m", "pip", "install", *words, "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run(dry, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{requirements}\n{done.stderr[-1000:]}"


@pytest.mark.slow
def test_each_printed_command_resolves(tmp_path: Path) -> None:
    """One test for all: to name them when tests are collected would cost seconds in every run."""
    assert [said for requirements in printed() if (said := dry_run(requirements, tmp_path))] == []
