"""What each report of the matrix has to be, whatever was broken."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from gpudoctor.engine import judge
from gpudoctor.facts import codec
from gpudoctor.facts.collect import NOT_STARTED
from gpudoctor.facts.merge import merge_drivers, merge_gpus
from gpudoctor.facts.model import DriverFacts, Facts, Unknown
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from gpudoctor.findings import Outcome, Report, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules


def joined(base: Facts, nvml: DriverAnswers, libcuda: DriverAnswers) -> Facts:
    """Return the facts of a machine whose driver answered so, as collect puts them together."""
    files = DriverFacts(
        **{name: getattr(base.driver, name) for name in DriverFacts.__struct_fields__ if name in _FROM_FILES}
    )
    driver = merge_drivers(files, nvml.driver, libcuda.driver)
    gpus = tuple(merge_gpus(nvml.gpus, libcuda.gpus, base.host.pci_gpus.get() or (), driver))
    return replace(base, driver=driver, gpus=gpus)


_FROM_FILES = (
    "kernel_module_version",
    "kernel_module_kind",
    "kernel_module_on_disk",
    "modules_loaded",
    "device_nodes",
    "library_files",
)


def not_started(facts: Facts) -> Facts:
    """Return the facts of `check --quick`: nothing that was seen to work covers a false alarm."""
    tensorflow = replace(
        facts.tensorflow, run=NOT_STARTED, devices=NOT_STARTED, computations=NOT_STARTED, events=NOT_STARTED
    )
    return replace(facts, tensorflow=tensorflow)


def assert_judged(facts: Facts, allowed: Iterable[str] = ()) -> Report:
    """Judge facts: every rule ends and none by a fault of ours, the facts survive the codec, no other rule warns.

    allowed: rules that may warn or err, since what is broken is what they are about.
    """
    rules = load_rules()
    report = judge(facts, rules, source=Source(kind=SourceKind.LIVE))
    assert [check.rule for check in report.checks] == list(rules)
    broken = [(check.rule, check.reason) for check in report.checks if check.outcome is Outcome.ERROR]
    assert broken == []
    alarms = {item.rule: item.message for item in report.findings if item.severity >= Severity.WARNING}
    assert {rule: text for rule, text in alarms.items() if rule not in set(allowed)} == {}
    saved = codec.decode(codec.encode(facts))  # with user names taken out
    same = codec.decode(codec.encode(saved)) == saved  # not inside the assertion: to show a difference takes minutes
    assert same, "the facts do not survive the codec"
    return report


def unknown_reasons(facts: Facts) -> list[str]:
    """Return the reasons of all facts that could not be read."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, Unknown):
            found.append(value.reason)
        elif isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                walk(getattr(value, name))
        elif isinstance(value, tuple):
            for item in value:
                walk(item)

    walk(facts)
    return found
