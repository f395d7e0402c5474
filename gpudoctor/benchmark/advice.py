"""What the rules of the area `speed` say about each mode: the same rules that judge any training."""

from __future__ import annotations

import statistics
from typing import TypeVar

from msgspec.structs import replace

from gpudoctor.benchmark.assemble import is_usable
from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.results import Advice, ModeResult, Status, Verdict
from gpudoctor.engine import run_rule
from gpudoctor.facts.model import Fact, Facts, Known, TrainingFacts, Unknown
from gpudoctor.rules.registry import area_of, load_rules

AREA = "speed"
SOURCE = "gpudoctor bench"
NOT_MEASURED = Unknown("the benchmark did not measure it")

T = TypeVar("T")


def with_advice(modes: tuple[ModeResult, ...], facts: Facts) -> tuple[ModeResult, ...]:
    """Return the same results with what the rules say of each mode that ran."""
    on_cpu = [one.images_per_second.median for one in modes if is_usable(one) and not Mode(one.mode).on_gpu
              and one.images_per_second]  # fmt: skip
    best = max(on_cpu, default=None)
    return tuple(
        replace(one, advice=_advice(replace(facts, training=training_facts(one, best))))
        if one.status is Status.OK
        else one
        for one in modes
    )


def training_facts(one: ModeResult, cpu_rate: float | None = None) -> TrainingFacts:
    """Return a mode's result as facts of a training. cpu_rate: the best rate of the CPU modes, images a second."""
    batch = one.settings.get("batch_size")
    limit = one.verdict.value if one.verdict is not Verdict.UNKNOWN else None
    gpu = one.gpu
    return TrainingFacts(
        step_seconds=_fact(statistics.median(one.raw.step_seconds) if one.raw.step_seconds else None),
        first_step_seconds=_fact(one.first_step_seconds),
        first_epoch_seconds=_fact(one.first_epoch_seconds),
        batch_size=_fact(batch if isinstance(batch, int) else None),
        images_per_second=_fact(one.images_per_second.median if one.images_per_second else None),
        compute_only_images_per_second=_fact(one.ceilings.compute_only),
        input_only_images_per_second=_fact(one.ceilings.input_only),
        data_wait_share=_fact(one.data_wait),
        gpu_utilization_percent=_fact(gpu.utilization if gpu else None),
        memory_peak_bytes=_fact(one.memory_peak_bytes),
        device=_fact("gpu" if Mode(one.mode).on_gpu else "cpu"),
        input_pipeline=_text(one, "input"),
        augmentation=_text(one, "augment"),
        precision=_text(one, "precision"),
        limit=_fact(limit),
        gain_without_input=_fact(one.gain.without_input),
        profile_shares=_fact(one.time_shares or None),
        cpu_images_per_second=_fact(cpu_rate),
    )


def _fact(value: T | None) -> Fact[T]:
    return NOT_MEASURED if value is None else Known(value, SOURCE)


def _text(one: ModeResult, name: str) -> Fact[str]:
    value = one.settings.get(name)
    return _fact(value if isinstance(value, str) else None)


def _advice(facts: Facts) -> tuple[Advice, ...]:
    found = []
    for rule in load_rules().values():
        if area_of(rule) != AREA:
            continue
        for finding in run_rule(rule, facts).findings:
            remedies = tuple(remedy.summary for remedy in finding.remedies)
            advice = Advice(rule=rule.id, severity=finding.severity.label, message=finding.message, remedies=remedies)
            found.append((-finding.severity, rule.id, advice))
    return tuple(advice for _, _, advice in sorted(found, key=lambda item: item[:2]))
