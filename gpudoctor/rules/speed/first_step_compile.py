"""first-step-compile."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known, LogEvent
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.speed._told import said
from gpudoctor.rules.speed._training import measured

WARM_UP = Remedy(
    summary="Call the model once with a batch of the usual shape before you time or serve it; judge by what follows."
)
KEEP_CODE = Remedy(
    summary="Where the first call takes minutes at each start, the GPU's code is compiled anew each time. Keep it, and "
    "see whether a TensorFlow with code for this GPU is to be had (gpudoctor plan).",
    commands=("export CUDA_CACHE_MAXSIZE=4294967296",),
    applicability=Applicability.SAFE,
)
LET_IT_RUN = Remedy(
    summary="Let it run: judge the training by the steps after the first, or by its second epoch, not by the time that "
    "the bar foretells at the start."
)
# Shorter waits need no explanation.
LONG_SECONDS = 5.0
MANY_STEPS = 20


@rule(
    Severity.NOTE,
    message="the first step took {first} s, each later one {later} s: tracing, and on a GPU loading and choosing its "
    "kernels, happen once",
    variants={
        "shown": "the first step took {first} s, each later one {later} s: what the progress bar says after the first "
        "step is no measure of the training",
        "xla": "XLA took {first} s to compile a part of the program; it does so once, at the first step",
        "said": "the first run of the model takes much longer than later ones: tracing, loading and choosing "
        "kernels happen once",
        "epoch": "the first epoch took {first} s, each later one {later} s: compiling and filling caches happen once",
    },
)
def first_step_compile(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Only the first step is slow.

    Why it matters: it looks like a hang or a slow GPU, and is neither. Short trainings are judged by it wrongly.
    How to fix: nothing to fix; measure from the second epoch on. XLA and GPU code that is compiled at start make it
    longer.
    """
    told = tuple(_from_text(self, facts))
    if told:
        yield from told
        return
    training = measured(facts)
    first, later = training.first_step_seconds.require(), training.step_seconds.require()
    if first < LONG_SECONDS or first < MANY_STEPS * later:
        return
    yield self.finding(
        ("training.first_step_seconds", "training.step_seconds"), first=round(first, 1), later=round(later, 3)
    )


# An updated bar that shows a first step so much longer than the rest looks like a slow GPU.
SHOWN_FACTOR = 50
EPOCH_FACTOR = 5
LONG_EPOCH_SECONDS = 30


def _seconds(event: LogEvent) -> float:
    """Return the time that XLA's alarm tells."""
    told = event.parameters
    return float(told.get("hours", 0)) * 3600 + float(told.get("minutes", 0)) * 60 + float(told.get("seconds", 0))


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in what XLA or somebody says, in the updates of a progress bar, or in the epochs that a text shows."""
    if isinstance(facts.training.limit, Known):
        return
    draft = _told(self, facts) or _first_step(self, facts) or _first_epoch(self, facts)
    if draft:
        yield draft


def _told(self: Rule, facts: Facts) -> Draft | None:
    """Find XLA's alarm of a slow compilation, or words for a slow start, where no epochs are shown to compare."""
    if facts.training.later_epoch_seconds.get() is not None:
        return None
    alarms = events(facts, "slow-compile")
    compiled = max((_seconds(event) for event in alarms), default=0.0)
    if compiled >= LONG_EPOCH_SECONDS:
        return self.finding(
            seen(alarms),
            variant="xla",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=(LET_IT_RUN, KEEP_CODE),
            first=round(compiled),
        )
    words = said(facts, "said-first-slow", "first-call-slow")
    if not words:
        return None
    return self.finding(
        seen(words),
        variant="said",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        remedies=(WARM_UP, KEEP_CODE),
    )


def _first_step(self: Rule, facts: Facts) -> Draft | None:
    """Find a progress bar whose first step took so much longer than the next ones."""
    training = facts.training
    first, later = training.first_step_seconds.get(), training.step_seconds.get()
    if first is None or not later or first < 1 or first < SHOWN_FACTOR * later:
        return None
    # Someone who shows a bar that has just begun asks about it; once an epoch is over nobody is misled.
    unfinished = training.first_epoch_seconds.get() is None
    return self.finding(
        ("training.first_step_seconds", "training.step_seconds"),
        variant="shown",
        severity=Severity.WARNING if unfinished else Severity.NOTE,
        confidence=Confidence.LIKELY,
        remedies=(LET_IT_RUN,) if unfinished else (),
        first=round(first, 1),
        later=round(later, 3),
    )


def _first_epoch(self: Rule, facts: Facts) -> Draft | None:
    """Find a first epoch that took so much longer than the next ones."""
    first, later = facts.training.first_epoch_seconds.get(), facts.training.later_epoch_seconds.get()
    if first is None or not later or first < LONG_EPOCH_SECONDS or first < EPOCH_FACTOR * later:
        return None
    return self.finding(
        ("training.first_epoch_seconds", "training.later_epoch_seconds"),
        variant="epoch",
        confidence=Confidence.LIKELY,
        first=round(first),
        later=round(later, 1),
    )
