"""What a text tells of a training whose parts nobody measured apart: likely, never certain."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Applicability, Confidence, Evidence, Remedy
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule

# Below this the GPU waits for something most of the time ...
IDLE_PERCENT = 50
# ... and with steps longer than this it is not the starting of steps that it waits for.
LONG_STEP_SECONDS = 0.03
# Share of a step that the profiler says to be spent on waiting for data.
WAITING_PERCENT = 20.0
# The first epoch against later ones: files that have to be fetched once.
FIRST_EPOCH_FACTOR = 3.0
LONG_EPOCH_SECONDS = 60.0
MEASURE = Remedy(
    summary="Let gpudoctor measure the input and the model apart, on this machine: that decides.",
    commands=("gpudoctor bench",),
    applicability=Applicability.SAFE,
)
CAUSES = ("cpu-augmentation-bound", "python-generator-bound", "disk-io-bound", "input-pipeline-bound")


def waits_in_text(found: Rule, facts: Facts, *remedies: Remedy) -> Iterator[Draft]:
    """Yield the finding of the rule that is to blame where a text shows that the GPU waits for data."""
    if isinstance(facts.training.limit, Known):
        return  # it was measured
    evidence = () if events(facts, "recurrent-layer") and not events(facts, "profile-input-bound") else _waiting(facts)
    named = {
        "cpu-augmentation-bound": events(facts, "random-layers-slow", "augmentation-arguments"),
        "python-generator-bound": events(facts, "python-generator", "generator-processes"),
        "disk-io-bound": events(facts, "slow-storage"),
    }
    alone = events(facts, "random-layers-slow")
    if not evidence and named["disk-io-bound"] and _fetched_once(facts):
        evidence, named = FIRST_EPOCH, {"disk-io-bound": named["disk-io-bound"]}
    if not evidence and not alone:
        return
    blamed = next((cause for cause in CAUSES if named.get(cause)), "input-pipeline-bound")
    if blamed == "disk-io-bound" and not _first_epoch_longer(facts):
        blamed = "input-pipeline-bound"
    if found.id != blamed:
        return
    yield found.finding(
        (*evidence, *seen(named.get(blamed, ()))),
        variant="text",
        confidence=Confidence.LIKELY,
        remedies=(*remedies, MEASURE),
    )


def _waiting(facts: Facts) -> tuple[str | Evidence, ...]:
    """Return what shows that the model waits for data; nothing where it does not."""
    training = facts.training
    for event in events(facts, "profile-input-bound"):
        share = event.parameters.get("share") or event.parameters.get("waiting") or ""
        degree = event.parameters.get("degree", "").lower()
        if degree in ("highly", "moderately") or (share and degree != "not" and float(share) >= WAITING_PERCENT):
            return seen((event,))
    load, step = training.gpu_utilization_percent.get(), training.step_seconds.get()
    if load is None or load >= IDLE_PERCENT or (step is not None and step < LONG_STEP_SECONDS):
        return ()
    return ("training.gpu_utilization_percent", "training.step_seconds", "training.process_cpu_percent")


FIRST_EPOCH = ("training.first_epoch_seconds", "training.later_epoch_seconds")


def _fetched_once(facts: Facts) -> bool:
    """Whether a first epoch took so much longer than later ones that compiling cannot be why."""
    return facts.training.later_epoch_seconds.get() is not None and _first_epoch_longer(facts)


def _first_epoch_longer(facts: Facts) -> bool:
    first, later = facts.training.first_epoch_seconds.get(), facts.training.later_epoch_seconds.get()
    if first is None or later is None:
        return True  # one epoch, on storage that is known to be slow
    return first >= LONG_EPOCH_SECONDS and first >= FIRST_EPOCH_FACTOR * later
