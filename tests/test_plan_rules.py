"""No plan that check would refuse: each stack that plan prints, as a machine, passes gpudoctor's own rules."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor import engine
from gpudoctor.compat import GpuCode, Os
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Outcome, Severity, Source, SourceKind
from gpudoctor.plan.answer import plan
from gpudoctor.plan.from_facts import machine_of
from gpudoctor.plan.model import Machine, Provider, Stack
from gpudoctor.rules.registry import load_rules
from tests.machine import CHOICES, admits, cuda_of_driver, machine, pins, rows, wheel

CARDS = {
    "3.7": "Tesla K80",
    "5.0": "NVIDIA GeForce 940MX",
    "6.1": "NVIDIA GeForce GTX 1080 Ti",
    "7.0": "Tesla V100 PCIe 16GB",
    "7.5": "NVIDIA GeForce RTX 2080 Ti",
    "8.0": "NVIDIA A100-SXM4-40GB",
    "8.6": "NVIDIA GeForce RTX 3090",
    "8.9": "NVIDIA GeForce RTX 4090",
    "9.0": "NVIDIA H100 PCIe",
}
DRIVERS = ("418.87.00", "450.80.02", "470.256.02", "525.60.13", "535.183.01", "555.42.06", "580.95.05", "620.10.01")
# Older ones are linked to their libraries, which the rules about libraries do not judge.
FIRST = Version("1.15")
CHILD = Version("3.6")


def asked(stack: Stack) -> dict[str, SpecifierSet]:
    """Return what the plan asks pip for, by package."""
    return {found.name: found.specifier for found in map(Requirement, stack.requirements)}


def newest_packages(stack: Stack, python: str) -> dict[str, str]:
    """Return the newest numpy and protobuf that the wheel and the plan admit: pip takes the newest."""
    row, wanted = wheel(stack.tensorflow, stack.package), asked(stack)
    found = {}
    for name in ("numpy", "protobuf"):
        also = wanted.get(name, SpecifierSet())
        fits = [v for v in CHOICES[name] if admits(row.get(name, ""), v, python) and also.contains(v)]
        found[name] = fits[0]
    return found


def newest_cudnn(stack: Stack) -> str:
    """Return the newest cuDNN that the plan's command may bring."""
    if stack.provided_by is Provider.CONDA:
        words = " ".join((*stack.conda, *stack.conda_pip))
        found = re.search(r"cudnn(?:-cu11)?==?([\d.]+)", words)
        assert found, words
        return found[1]
    name, specifier = next((n, s) for n, s in pins(stack.tensorflow).items() if n.startswith("nvidia-cudnn-"))
    allowed = SpecifierSet(specifier) & asked(stack).get(name, SpecifierSet())
    cuda = int(name[-2:])
    known = {
        v for row in rows("cudnn") if row["cuda_major"] == cuda for v in (f"{row['first']}.99", f"{row['last']}.99")
    }
    fits = [v for v in known if allowed.contains(v)]
    if fits:
        return max(fits, key=Version)
    return specifier.removeprefix("==")


def as_facts(stack: Stack, cc: str, driver: str, python: str) -> Facts:
    """Return a machine on which somebody followed the plan to the letter."""
    words: dict[str, str | None] = {"libraries": "system", "cudnn": stack.cudnn}
    if stack.provided_by in {Provider.AND_CUDA, Provider.PIP}:
        words = {"libraries": "wheels", "cudnn": newest_cudnn(stack)}
    elif stack.provided_by is Provider.CONDA:
        words = {"libraries": "conda", "cudnn": newest_cudnn(stack)}
    facts = machine(
        (CARDS[cc],),
        driver,
        stack.tensorflow,
        package=stack.package,
        python=python,
        libraries=str(words["libraries"]),
        cudnn=words["cudnn"],
        driver_cuda=cuda_of_driver(driver),
        packages=newest_packages(stack, python),
    )
    if not stack.conda_compiler:
        return facts
    compiler = Known(stack.conda_compiler.partition("=")[2], "a test")
    return replace(facts, libraries=replace(facts.libraries, ptxas_version=compiler))


def refused(facts: Facts, stack: Stack) -> list[str]:
    """Return what check reports from warning upward; the plan itself tells that PTX makes the first start slow."""
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.FACTS))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    slow = {"gpu-arch-too-new-for-wheel"} if stack.gpu_code is GpuCode.PTX else set()
    return [
        f"{item.rule}: {item.message}"
        for item in report.findings
        if item.severity >= Severity.WARNING and not (item.rule in slow and item.severity is Severity.WARNING)
    ]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("cc", CARDS)
def test_every_stack_passes_the_rules(cc: str, driver: str) -> None:
    answer = plan(Machine(os=Os.LINUX, compute_capabilities=(cc,), driver=driver, glibc="2.35"))
    seen = {}
    for number, stack in enumerate(stack for stack in answer.stacks if Version(stack.tensorflow) >= FIRST):
        pythons = [text for text in stack.pythons if Version(text) >= CHILD]
        facts = as_facts(stack, cc, driver, pythons[number % len(pythons)])
        seen[stack.tensorflow] = refused(facts, stack)
    assert {release: found for release, found in seen.items() if found} == {}
    if answer.stacks:
        assert seen, "no release was judged"


def test_the_oracle_here_does_see_a_bad_stack() -> None:
    """Without the plan's pin, pip brings a cuDNN that has no code for this GPU: the test above would tell."""
    (stack, *_) = plan(Machine(os=Os.LINUX, compute_capabilities=("6.1",), driver="580.95.05")).stacks
    assert stack.requirements == ("tensorflow[and-cuda]==2.21.0", "nvidia-cudnn-cu12<9.11")
    facts = machine((CARDS["6.1"],), "580.95.05", "2.21.0", python="3.11", cudnn="9.28.0.42")
    assert any(found.startswith("cudnn-without-code-for-gpu") for found in refused(facts, stack))


@pytest.mark.parametrize("cc", CARDS)
def test_facts_lead_to_the_same_plan_as_the_same_words(cc: str) -> None:
    facts = machine((CARDS[cc],), "470.256.02", "2.14.1", python="3.11", libraries="none")
    said = Machine(os=Os.LINUX, compute_capabilities=(cc,), driver="470.256.02", pythons=("3.11",), glibc="2.35")
    assert plan(machine_of(facts)).stacks == plan(said).stacks
