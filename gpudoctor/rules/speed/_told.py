"""What a text tells of a training whose parts nobody measured apart: likely, never certain."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known, LogEvent
from gpudoctor.findings import Applicability, Confidence, Evidence, Remedy
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule

# Below this the GPU waits for something most of the time ...
IDLE_PERCENT = 50
# From here on it has enough to do, whatever somebody says.
BUSY_PERCENT = 80
# ... and with steps longer than this it is not the starting of steps that it waits for.
LONG_STEP_SECONDS = 0.03
# Without a word about the GPU's load: steps that read slowly, and steps of which somebody says that they are slow.
READ_STEP_SECONDS, SLOW_STEP_SECONDS = 2.0, 0.3
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
AUGMENTING = ("random-layers-slow", "augmentation-arguments", "said-augmentation-slow")
GENERATING = ("python-generator", "generator-processes", "said-one-core")
# What somebody says to be the reason explains an idle GPU, and slow steps, by itself.
REASONS_SAID = (
    "said-eager-slower",
    "said-retracing",
    "said-new-models",
    "said-logging-slow",
    "said-throttled",
    "said-first-slow",
    "said-more-gpus-slower",
)


def said(facts: Facts, *messages: str) -> tuple[LogEvent, ...]:
    """Return what a person says in words; nothing where the text shows that the GPU is not used at all."""
    told = events(facts, *messages)
    if not told:
        return ()
    from gpudoctor.logs.message import EventKind
    from gpudoctor.logs.messages import MESSAGES

    devices = facts.tensorflow.devices.get()
    if devices is not None and not any(device.kind == "GPU" for device in devices):
        return ()
    unusable = (EventKind.GPU_UNUSABLE, EventKind.IMPORT_FAILED)
    fatal = [row.id for row in MESSAGES if row.kind in unusable]
    return () if events(facts, *fatal) and not devices else told


def complains(facts: Facts) -> bool:
    """Whether somebody says that a training is slow, or that the GPU does little."""
    load = facts.training.gpu_utilization_percent.get()
    slow = events(facts, "said-slow", "said-gpu-slower", "said-gpu-idle")
    return bool(slow) or (load is not None and load < IDLE_PERCENT)


def runs_eagerly(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what shows a training loop of one's own that is no graph, and is slow."""
    told = said(facts, "gradient-tape")
    return told if told and complains(facts) and not events(facts, "tf-function", "said-retracing") else ()


def waits_in_text(found: Rule, facts: Facts, *remedies: Remedy) -> Iterator[Draft]:
    """Yield the finding of the rule that is to blame where a text shows that the GPU waits for data."""
    if isinstance(facts.training.limit, Known):
        return  # it was measured
    evidence = () if _explained(facts) else _waiting(facts)
    named = {
        "cpu-augmentation-bound": events(facts, *AUGMENTING),
        "python-generator-bound": events(facts, *GENERATING),
        "disk-io-bound": events(facts, "slow-storage"),
    }
    alone = events(facts, "random-layers-slow")
    reading = () if _explained(facts) else said(facts, "said-reading-slow")
    if not evidence and named["disk-io-bound"] and _fetched_once(facts):
        evidence, named = FIRST_EPOCH, {"disk-io-bound": named["disk-io-bound"]}
    elif not evidence and named["disk-io-bound"] and _reads_slowly(facts):
        evidence, named = ("training.step_seconds",), {"disk-io-bound": named["disk-io-bound"]}
    elif reading and named["disk-io-bound"]:
        evidence, named = (*evidence, *seen(reading)), {"disk-io-bound": named["disk-io-bound"]}
    elif not evidence:
        evidence = _said_to_wait(facts, any(named.values())) or seen(reading) or _one_core(facts)
    if not evidence and not alone:
        return
    blamed = next((cause for cause in CAUSES if named.get(cause)), "input-pipeline-bound")
    if blamed == "disk-io-bound" and not _first_epoch_longer(facts):
        blamed = "input-pipeline-bound"
    if found.id != blamed:
        return
    yield found.finding(
        (*evidence, *seen(named.get(blamed, ()))),
        variant=_wording(found, facts),
        confidence=Confidence.LIKELY,
        remedies=(*remedies, MEASURE),
    )


def _one_core(facts: Facts) -> tuple[Evidence, ...]:
    """Return the word that one core works while a training is slow: Python's, as a rule."""
    one = () if _explained(facts) else said(facts, "said-one-core")
    return seen(one) if one and complains(facts) else ()


def _wording(found: Rule, facts: Facts) -> str:
    """Return the wording: without the time of a step nothing tells that steps are long."""
    if "said" not in found.variants or facts.training.step_seconds.get() is not None or _profiled(facts):
        return "text"
    idle = _waiting(facts) or said(facts, "said-gpu-idle")
    return "said" if idle else "reading"


def _explained(facts: Facts) -> bool:
    """Whether what keeps a GPU idle is something else than data, which other rules tell."""
    if events(facts, "profile-input-bound"):
        return False
    if said(facts, *REASONS_SAID):
        return True
    lonely = events(facts, "predict-in-loop", "said-gpu-slower", "said-larger-batch")
    data = events(facts, *AUGMENTING, *GENERATING, "slow-storage", "said-reading-slow")
    return bool(events(facts, "recurrent-layer") or runs_eagerly(facts) or (lonely and not data))


def _said_to_wait(facts: Facts, named: bool) -> tuple[Evidence, ...]:
    """Return the words in which somebody says that the GPU is idle in training, or that training is slow."""
    load = facts.training.gpu_utilization_percent.get()
    if _explained(facts) or (load is not None and load >= BUSY_PERCENT):
        return ()
    idle = said(facts, "said-gpu-idle")
    if idle:
        return seen(idle)
    step = facts.training.step_seconds.get()
    slow = said(facts, "said-slow", "said-gpu-slower")
    return seen(slow) if slow and named and step is not None and step >= SLOW_STEP_SECONDS else ()


def _reads_slowly(facts: Facts) -> bool:
    """Whether steps of a first epoch are too long for anything but reading, with data that lie on slow storage."""
    training = facts.training
    step = training.step_seconds.get()
    if step is None or training.later_epoch_seconds.get() is not None:
        return False
    return step >= (SLOW_STEP_SECONDS if said(facts, "said-slow") else READ_STEP_SECONDS)


def _profiled(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the word of the profiler that the model waits for data."""
    for event in events(facts, "profile-input-bound"):
        share = event.parameters.get("share") or event.parameters.get("waiting") or ""
        degree = event.parameters.get("degree", "").lower()
        if degree in ("highly", "moderately") or (share and degree != "not" and float(share) >= WAITING_PERCENT):
            return (event,)
    return ()


def _waiting(facts: Facts) -> tuple[str | Evidence, ...]:
    """Return what shows that the model waits for data; nothing where it does not."""
    training = facts.training
    if profiled := _profiled(facts):
        return seen(profiled)
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
