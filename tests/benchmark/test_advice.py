"""From a mode's result to the rules that speak of it."""

from __future__ import annotations

import msgspec

from gpudoctor.benchmark.advice import training_facts, with_advice
from gpudoctor.benchmark.results import Ceilings, Gain, ModeResult, Raw, Verdict
from gpudoctor.facts.model import Facts, Unknown
from tests.benchmark.test_bench_report import BASE, SKIPPED
from tests.rule_case import facts_of

WAITING = msgspec.structs.replace(
    BASE,
    mode="gpu-baseline",
    verdict=Verdict.INPUT_BOUND,
    ceilings=Ceilings(input_only=480.0, compute_only=2900.0),
    gain=Gain(without_input=6.0, without_compute=1.0),
    settings={**BASE.settings, "augment": "flip"},
    raw=Raw(step_seconds=(0.07, 0.06, 0.08)),
)


def rules_of(*modes: ModeResult, facts: Facts | None = None) -> dict[str, list[str]]:
    judged = with_advice(modes, facts or facts_of("server-h200"))
    return {one.mode: [advice.rule for advice in one.advice] for one in judged}


def test_every_number_becomes_a_fact_and_what_was_not_measured_is_unknown() -> None:
    facts = training_facts(WAITING, 390.0)
    assert facts.step_seconds.get() == 0.07
    assert (facts.images_per_second.get(), facts.batch_size.get()) == (152.0, 32)
    assert (facts.limit.get(), facts.device.get(), facts.precision.get()) == ("input-bound", "gpu", "float32")
    assert facts.cpu_images_per_second.get() == 390.0
    unknown = training_facts(SKIPPED)
    assert isinstance(unknown.images_per_second, Unknown) and isinstance(unknown.limit, Unknown)
    assert isinstance(training_facts(msgspec.structs.replace(BASE, data_wait=None)).data_wait_share, Unknown)
    assert training_facts(msgspec.structs.replace(BASE, data_wait=0.0)).data_wait_share.get() == 0.0


def test_each_mode_gets_the_advice_that_is_about_it() -> None:
    found = rules_of(BASE, WAITING, SKIPPED)
    assert found == {"cpu": [], "gpu-baseline": ["python-generator-bound"], "gpu-optimized": []}


def test_a_slow_gpu_is_compared_with_the_best_cpu_mode() -> None:
    slow = msgspec.structs.replace(BASE, mode="gpu-optimized", verdict=Verdict.COMPUTE_BOUND)
    assert rules_of(BASE, slow)["gpu-optimized"] == ["slow-gpu-hardware", "no-mixed-precision"]
    old = facts_of("laptop-940m")
    assert rules_of(BASE, slow, facts=old)["gpu-optimized"] == ["slow-gpu-hardware"]


def test_advice_stands_alone_with_what_to_do() -> None:
    (advice,) = with_advice((WAITING,), facts_of("server-h200"))[0].advice
    assert advice.message.startswith("the training waits for a Python generator") and "480" in advice.message
    assert advice.severity == "warning" and any("tf.data" in text for text in advice.remedies)
