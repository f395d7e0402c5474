"""What a rule is, and how the rules are found: by file name, so that no list has to be edited."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from gpudoctor.findings import Capability, Confidence, Evidence, Remedy, Severity

Value = str | int | float


class Scope(enum.Enum):
    """What a rule looks at in one call."""

    MACHINE = "machine"
    GPU = "gpu"
    GPU_OR_WORDS = "gpu-or-words"
    """Each GPU; where none is known, None in its place: words may tell of a GPU that nothing names."""


class Draft(Struct, frozen=True, kw_only=True):
    """A finding as a rule writes it; the engine looks up the evidence and settles confidence and role."""

    severity: Severity
    template: str
    values: dict[str, Value]
    evidence: tuple[str | Evidence, ...]
    confidence: Confidence
    remedies: tuple[Remedy, ...]


Check = Callable[..., Iterator[Draft]]


class Rule(Struct, frozen=True, kw_only=True):
    """One thing that can be wrong with a machine, and the pure function that finds it."""

    id: str
    severity: Severity
    breaks: Capability | None
    """What does not work when this rule finds an error; None for rules that only tell."""
    needs: tuple[Capability, ...]
    """What must work for a finding of this rule to be a cause of its own."""
    message: str
    variants: dict[str, str]
    scope: Scope
    check: Check
    former_ids: tuple[str, ...]
    asks: str = ""
    """Key of the policy whose value the rule is given as its last argument; without such a value it is not run."""

    @property
    def doc(self) -> str:
        """What the rule finds, why it matters and how to fix it: the docstring of its function."""
        return inspect.cleandoc(self.check.__doc__ or "")

    def finding(
        self,
        evidence: tuple[str | Evidence, ...],
        *,
        variant: str | None = None,
        severity: Severity | None = None,
        confidence: Confidence = Confidence.CERTAIN,
        remedies: tuple[Remedy, ...] = (),
        **values: Value,
    ) -> Draft:
        """Return a finding; evidence holds paths in the fact tree (`gpu.` stands for the GPU at hand).

        confidence: an upper bound; contradicted facts lower it further.
        """
        return Draft(
            severity=self.severity if severity is None else severity,
            template=self.message if variant is None else self.variants[variant],
            values=dict(values),
            evidence=evidence,
            confidence=confidence,
            remedies=remedies,
        )


class RuleDefinitionError(Exception):
    """Two rules share an id, or a file does not define the rule that its name promises."""


def rule(
    severity: Severity,
    *,
    message: str,
    breaks: Capability | None = None,
    needs: tuple[Capability, ...] = (),
    scope: Scope = Scope.MACHINE,
    variants: Mapping[str, str] | None = None,
    former_ids: tuple[str, ...] = (),
    asks: str = "",
) -> Callable[[Check], Rule]:
    """Turn a function of (rule, facts), or (rule, facts, GPU) by scope, into a rule; its name with hyphens is the id.

    message and variants are templates with named values; variants hold further wordings of the same fault.
    asks: the function is given what the policy asks under this key as well.
    """

    def wrap(check: Check) -> Rule:
        return Rule(
            id=check.__name__.replace("_", "-"),
            severity=severity,
            breaks=breaks,
            # Without a GPU everything above is moot; a rule need not say so. What a policy asks need not be of a GPU.
            needs=needs if breaks is Capability.HARDWARE or asks else (Capability.HARDWARE, *needs),
            message=message,
            variants=dict(variants or {}),
            scope=scope,
            check=check,
            former_ids=former_ids,
            asks=asks,
        )

    return wrap


POLICY = "policy"


@functools.cache
def rule_areas() -> Mapping[str, str]:
    """Return the area of each rule by the rule's id, told by file names alone: no rule is imported."""
    package = importlib.import_module("gpudoctor.rules")
    areas = {}
    for place in package.__path__:
        for area in pkgutil.iter_modules([place]):
            if area.ispkg:
                for module in pkgutil.iter_modules([f"{place}/{area.name}"]):
                    if not module.name.startswith("_"):
                        areas[module.name.replace("_", "-")] = area.name
    return areas


def load_rules(*, policy: bool = False) -> Mapping[str, Rule]:
    """Return all rules by id, sorted by id. Raises RuleDefinitionError at the first contradiction.

    policy: with those that hold a machine against what a policy asks; without one they cannot find anything.
    """
    return _load_rules(policy)  # a cache here would take load_rules() and load_rules(policy=False) for two questions


@functools.cache
def _load_rules(policy: bool) -> Mapping[str, Rule]:
    rules: dict[str, Rule] = {}
    package = importlib.import_module("gpudoctor.rules")
    for area in pkgutil.iter_modules(package.__path__, "gpudoctor.rules."):
        if not area.ispkg or (area.name.endswith(f".{POLICY}") and not policy):
            continue
        folder = importlib.import_module(area.name)
        for module in pkgutil.iter_modules(folder.__path__, f"{area.name}."):
            name = module.name.rpartition(".")[2]
            if name.startswith("_"):
                continue
            found = getattr(importlib.import_module(module.name), name, None)
            if not isinstance(found, Rule):
                raise RuleDefinitionError(f"{module.name} defines no rule called {name}")
            if found.id in rules:
                raise RuleDefinitionError(f"two rules are called {found.id}")
            rules[found.id] = found
    return dict(sorted(rules.items()))


def area_of(found: Rule) -> str:
    """Return the area (folder) of a rule: driver."""
    return found.check.__module__.split(".")[-2]
