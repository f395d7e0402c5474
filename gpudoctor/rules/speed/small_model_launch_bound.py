"""small-model-launch-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known, LogEvent
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import MEASURE, REASONS_SAID, complains, said
from gpudoctor.rules.speed._training import LAUNCH_BOUND, limit
from gpudoctor.rules.speed.small_batch import LARGE


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="the model is too small for this GPU: even with a batch of {batch}, starting a step takes longer than "
    "computing it",
    variants={
        "compared": "a step takes {gpu} s on the GPU and {cpu} s on the CPU: the model is too small for a GPU",
        "profile": "the profiler says that {share} % of each step is spent on launching kernels: the steps are too "
        "small",
        "recurrent": "a recurrent layer runs its steps in time one after the other, and each is too small for this GPU",
        "single": "a model of {parameters} parameters is run for one step at a time: starting it takes longer than "
        "computing",
        "predict": "a model is run for one example at a time, in a loop: starting each call takes longer than "
        "computing",
        "said": "the training is said to be no faster on the GPU than on the CPU, which is so where steps are too "
        "small for a GPU",
    },
)
def small_model_launch_bound(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Steps are so short that the GPU waits for orders most of the time.

    Why it matters: Python and TensorFlow need some tenths of a millisecond to start a step, whatever the GPU.
    How to fix: several steps in one execution (steps_per_execution in compile()), XLA (jit_compile=True), or train
    such a model on the CPU.
    """
    told = tuple(_in_text(self, facts))
    if told:
        yield from told
        return
    if limit(facts) != LAUNCH_BOUND:
        return
    batch = facts.training.batch_size.require()
    if batch < LARGE:
        return
    remedy = Remedy(summary="Pass steps_per_execution=8 and jit_compile=True to compile(), or train on the CPU.")
    yield self.finding(("training.limit", "training.batch_size"), remedies=(remedy,), batch=batch)


SMALL_PARAMETERS = 1_000_000
LAUNCH_PERCENT = 20.0
SHORT_STEP_SECONDS = 0.1
WORTH = 1.1
USE_CPU = Remedy(
    summary="Run this model on the CPU (CUDA_VISIBLE_DEVICES=-1), or give it more work at once: larger batches, one "
    "model(x) on a whole batch in place of predict() in a loop, steps_per_execution in compile()."
)

LARGER_BATCH = Remedy(summary="Try a batch four times as large first: where a step takes hardly longer, that is it.")

IDLE_PERCENT = 50
LARGER = Remedy(
    summary="Take a larger batch, and keep to the arguments of LSTM and GRU that cuDNN's kernel serves (activation "
    "tanh, recurrent_activation sigmoid, no recurrent_dropout, no unroll)."
)


def _idle(facts: Facts) -> bool:
    load = facts.training.gpu_utilization_percent.get()
    return load is not None and load < IDLE_PERCENT


def _recurrent(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what shows a recurrent layer that leaves a GPU idle, or is slow without cuDNN's kernel."""
    plain = events(facts, "recurrent-without-cudnn")
    return (events(facts, "recurrent-layer") if _idle(facts) else ()) or (plain if complains(facts) else ())


def _in_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in runs that a text compares, in a profile, or in a tiny model that is run step by step."""
    training = facts.training
    if isinstance(training.limit, Known):
        return
    parameters = training.parameters.get()
    launching = [event for event in events(facts, "profile-launch-bound")
                 if float(event.parameters.get("share", "0")) >= LAUNCH_PERCENT]  # fmt: skip
    small = parameters is not None and parameters < SMALL_PARAMETERS
    if draft := _compared(self, facts, small=small):
        yield draft
    elif recurrent := _recurrent(facts):
        yield self.finding(
            (*seen(recurrent[:1]), "training.gpu_utilization_percent", "training.batch_size"),
            variant="recurrent",
            confidence=Confidence.POSSIBLE,
            remedies=(LARGER, USE_CPU),
        )
    elif launching:
        yield self.finding(
            seen(tuple(launching)),
            variant="profile",
            confidence=Confidence.LIKELY,
            remedies=(USE_CPU,),
            share=launching[0].parameters["share"],
        )
    elif small and training.steps_per_epoch.get() == 1 and training.gpu_utilization_percent.get() is None:
        yield self.finding(
            ("training.parameters", "training.steps_per_epoch", "training.step_seconds"),
            variant="single",
            confidence=Confidence.POSSIBLE,
            remedies=(USE_CPU,),
            parameters=parameters or 0,
        )
    else:
        yield from _said(self, facts)


def _compared(self: Rule, facts: Facts, *, small: bool) -> Draft | None:
    """Find a step that takes no less time on one GPU than on the CPU. small: whether the model is known to be so."""
    runs = facts.training.runs.get() or ()
    gpu = next((run.step_seconds for run in reversed(runs) if run.device == "gpu" and run.gpus in (None, 1)), None)
    cpu = next((run.step_seconds for run in reversed(runs) if run.device == "cpu"), None)
    if gpu is None or cpu is None or gpu < WORTH * cpu or not (small or gpu < SHORT_STEP_SECONDS):
        return None
    return self.finding(
        ("training.runs", "training.parameters"),
        variant="compared",
        confidence=Confidence.LIKELY,
        remedies=(USE_CPU,),
        gpu=round(gpu, 4),
        cpu=round(cpu, 4),
    )


# What explains a slow training better, where the text shows it.
OTHER_CAUSES = ("python-generator", "augmentation-arguments", "random-layers-slow", "slow-storage", "eager-on",
                "retracing", "callback-slow", "gradient-tape", "strategy-devices", "said-more-gpus-slower",
                "profile-input-bound", "said-weak-gpu", "said-larger-batch", "said-reading-slow",
                "said-augmentation-slow", *REASONS_SAID)  # fmt: skip


def _said(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in what somebody says: the weakest evidence, which a measurement has to confirm."""
    slower, loop = said(facts, "said-gpu-slower"), said(facts, "predict-in-loop")
    slow = _idle(facts) or slower or events(facts, "said-slow", "said-gpu-idle")
    if (loop or facts.training.steps_per_epoch.get() == 1) and slow:
        yield self.finding(
            (*seen(loop), *seen(slower), "training.gpu_utilization_percent"),
            variant="predict",
            confidence=Confidence.LIKELY,
            remedies=(USE_CPU,),
        )
    elif slower and not events(facts, *OTHER_CAUSES):
        yield self.finding(
            (*seen(slower), "training.gpu_utilization_percent"),
            variant="said",
            confidence=Confidence.POSSIBLE,
            remedies=(LARGER_BATCH, USE_CPU, MEASURE),
        )
