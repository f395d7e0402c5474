"""What people say of their machine in a form or a sentence: it fills in what nothing else in the text tells."""

from __future__ import annotations

from gpudoctor.logs.formats.forms import COLAB_SAID, KEY
from gpudoctor.logs.seen import Seen

SIGNS = ("windows", "linux", "macos", "windows-prompt")
# Packages whose version in a list outweighs a form.
PROVIDERS = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly")
# What Colab's own check for a GPU comes to.
COLAB = "colab-no-gpu"
# What tells of the list of devices better than a sentence.
LISTS = ("created-device", "creating-device", "listed-device", "device-properties", "device-properties-old")


def apply_form(seen: Seen) -> None:
    """Note the facts that only a form or a sentence tells."""
    if not any(name in seen.packages for name in PROVIDERS):
        _fill(seen, "tensorflow.version")
    if seen.value("python.version") is None and "python-folder" not in seen.hints:
        _fill(seen, "python.version")
    _system(seen)
    if not seen.gpus and (card := _said(seen, "gpu")):
        seen.gpu(name=card[0], at=card[1])
    if "tensorflow.cuda_build" not in seen.facts and (answer := _said(seen, "tensorflow.cuda_build")):
        seen.note("tensorflow.cuda_build", answer[0] == "true", answer[1])
    _fill(seen, "host.machine")
    board = seen.hints.get(f"{KEY}jetson")
    if board and "host.tegra" not in seen.facts and seen.value("host.os") in (None, "linux"):
        seen.note("host.tegra", "a Jetson is named", board)
    _without_gpu(seen)
    _colab(seen)


def _said(seen: Seen, field: str) -> tuple[str, str] | None:
    """Return the value of a field and its line."""
    if f"{KEY}{field}" not in seen.hints:
        return None
    value, _, at = seen.hints[f"{KEY}{field}"].partition("\n")
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


def _colab(seen: Seen) -> None:
    """Take a Colab notebook that lists no GPU, or has no nvidia-smi, for one whose runtime has none."""
    at = seen.hints.get(COLAB_SAID)
    if at is None or seen.gpus or "windows" in seen.hints or any(event.message == COLAB for event in seen.events):
        return
    if seen.no_devices_at or any(event.message in ("smi-not-found", "cudart-not-loaded") for event in seen.events):
        seen.tell(COLAB, at)
