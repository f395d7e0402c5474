"""What people say of their machine in a form or a sentence: it fills in what nothing else in the text tells."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer
from gpudoctor.logs.formats.forms import COLAB_SAID, KEY
from gpudoctor.logs.formats.hosted import KAGGLE_SAID
from gpudoctor.logs.formats.spoken import CARD, CARDS, RELEASE, RELEASES
from gpudoctor.logs.seen import Seen

SIGNS = ("windows", "linux", "macos", "windows-prompt")
# Packages whose version in a list outweighs a form.
PROVIDERS = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly")
# What Colab's own check for a GPU comes to.
COLAB = "colab-no-gpu"
HOSTED = {COLAB_SAID: "Colab", KAGGLE_SAID: "Kaggle"}
# What tells of the list of devices better than a sentence.
LISTS = ("created-device", "creating-device", "listed-device", "device-properties", "device-properties-old")
# A training that runs is slow for other reasons than a release and a card.
OF_SPEED = frozenset(
    (
        *("said-gpu-idle", "said-gpu-slower", "said-more-gpus-slower", "said-reading-slow", "said-augmentation-slow"),
        *("said-larger-batch", "said-memory-taken", "said-memory-kept", "said-slow", "said-out-of-memory"),
        "said-eager-slower",
    )
)


def apply_form(seen: Seen) -> None:
    """Note the facts that only a form or a sentence tells."""
    if not any(name in seen.packages for name in PROVIDERS):
        _fill(seen, "tensorflow.version")
        _fill(seen, "tensorflow.distribution")
        if "tensorflow.version" not in seen.facts and (release := _spoken(seen, RELEASE, RELEASES)):
            seen.note("tensorflow.version", *release)
    if seen.value("python.version") is None and "python-folder" not in seen.hints:
        _fill(seen, "python.version")
    _system(seen)
    if not seen.gpus and (card := _said(seen, "gpu") or _spoken(seen, CARD, CARDS)):
        seen.gpu(name=card[0], at=card[1])
    if "tensorflow.cuda_build" not in seen.facts and (answer := _said(seen, "tensorflow.cuda_build")):
        seen.note("tensorflow.cuda_build", answer[0] == "true", answer[1])
    _fill(seen, "host.machine")
    _fill(seen, "driver.version")
    board = seen.hints.get(f"{KEY}jetson")
    if board and "host.tegra" not in seen.facts and seen.value("host.os") in (None, "linux"):
        seen.note("host.tegra", "a Jetson is named", board)
    _without_gpu(seen)
    _hosted(seen)


def _said(seen: Seen, field: str) -> tuple[str, str] | None:
    """Return the value of a field and its line."""
    if f"{KEY}{field}" not in seen.hints:
        return None
    value, _, at = seen.hints[f"{KEY}{field}"].partition("\n")
    return value, at


def _spoken(seen: Seen, one: str, several: str) -> tuple[str, str] | None:
    """Return what sentences name, and the line: one only, in a text that is not about the speed of a training."""
    told = {event.message for event in seen.events}
    if several in seen.hints or one not in seen.hints or told & OF_SPEED or any(name in told for name in LISTS):
        return None
    value, _, at = seen.hints[one].partition("\n")
    return value, at


def _fill(seen: Seen, path: str) -> None:
    if path not in seen.facts and (told := _said(seen, path)):
        seen.note(path, *told)


def _system(seen: Seen) -> None:
    """Note the operating system, unless paths and prompts are those of another one."""
    told = _said(seen, "host.os")
    if told is None and f"{KEY}wsl" not in seen.hints and not any(sign in seen.hints for sign in SIGNS):
        told = _said(seen, "said host.os")
    signs = [name for name in SIGNS[:3] if name in seen.hints]
    if told and "host.os" not in seen.facts and "host.wsl" not in seen.facts and signs in ([], [told[0]]):
        seen.note("host.os", *told)


def _without_gpu(seen: Seen) -> None:
    """Take a sentence for an empty list of GPUs where no list and no log is there."""
    at = seen.hints.get(f"{KEY}without gpu")
    if at is None or seen.no_devices_at or seen.devices or any(event.message in LISTS for event in seen.events):
        return
    seen.no_devices_at = at


def _hosted(seen: Seen) -> None:
    """Take a notebook of a service that lists no GPU, or finds no driver, for one whose session has none."""
    place, at = next(((place, seen.hints[hint]) for hint, place in HOSTED.items() if hint in seen.hints), ("", ""))
    told = {event.message for event in seen.events}
    if not place or seen.gpus or "windows" in seen.hints or COLAB in told:
        return
    answer = seen.value("driver.cuda_init")
    without = isinstance(answer, ApiAnswer) and answer.outcome is Api.NO_LIBRARY
    if seen.no_devices_at or without or told & {"smi-not-found", "cudart-not-loaded"}:
        seen.tell(COLAB, at, place=place)
