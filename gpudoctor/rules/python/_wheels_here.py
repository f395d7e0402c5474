"""Remedies for who got no TensorFlow from pip: what there is for this processor, system and Python."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.rules.python._state import minor
from gpudoctor.rules.python._wheels import ARM, newest_by_python, oldest_and_newest_python, platform_of
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

JETSON = Remedy(
    summary="A Jetson needs NVIDIA's own TensorFlow: the wheel for your JetPack release and its Python, as NVIDIA's "
    "page on TensorFlow for the Jetson platform tells, or NVIDIA's container for it.",
    commands=("cat /etc/nv_tegra_release; python3 --version",),
    applicability=Applicability.MANUAL,
)
SMALL_ARM = Remedy(
    summary="No TensorFlow wheel is published for 32-bit ARM. Install the 64-bit edition of the system (uname -m then "
    "prints aarch64); or run a converted model with tflite-runtime.",
    applicability=Applicability.MANUAL,
)


def that_fits(facts: Facts) -> tuple[Remedy, ...]:
    """Return what to install: for the GPU where this system and processor have such wheels, else what there is."""
    machine = facts.host.machine.get() or ""
    if isinstance(facts.host.tegra, Known):
        return (JETSON,)
    if machine.startswith("armv"):
        return (SMALL_ARM,)
    if machine not in ARM and facts.host.os.get() != "macos" and (found := tensorflow_that_fits(facts)):
        return found
    return _for_this_python(facts)


def _for_this_python(facts: Facts) -> tuple[Remedy, ...]:
    """Return the newest TensorFlow for this Python, or the Pythons of the newest one; nothing outside the tables."""
    if facts.host.os.get() == "macos" and facts.host.machine.get() is None:
        return (_for_any_mac(),)
    platform, own = platform_of(facts), minor(facts.python.version.get())
    by_python = newest_by_python(platform)
    if not by_python:
        return ()
    newest = max(by_python.values(), key=compat.version)
    first, last = oldest_and_newest_python(platform)
    here = by_python.get(own or "")
    windows = facts.host.os.get() == "windows"
    python = f"py -{last}" if windows else f"python{last}"
    inside = "tf-env\\Scripts\\python.exe" if windows else "tf-env/bin/python"
    more = f" TensorFlow {here} is the newest for Python {own} here." if here and here != newest else ""
    return (
        Remedy(
            summary=f"For {platform} TensorFlow {newest} has wheels for Python {first} to {last}: make an environment "
            f"with one of these.{more}",
            commands=(f"{python} -m venv tf-env", f"{inside} -m pip install tensorflow=={newest}"),
            applicability=Applicability.SAFE,
        ),
    )


def _for_any_mac() -> Remedy:
    """Return the remedy where the text does not tell whether the Mac has an Apple chip."""
    first, last = oldest_and_newest_python("macos-arm64")
    newest = max(newest_by_python("macos-arm64").values(), key=compat.version)
    intel = max(newest_by_python("macos-x86_64").values(), key=compat.version)
    _, last_intel = oldest_and_newest_python("macos-x86_64")
    python = min(last, last_intel, key=compat.version)
    return Remedy(
        summary=f"TensorFlow {newest} has wheels for Macs with an Apple chip and Python {first} to {last}; {intel} is "
        f"the last for Intel Macs (Python up to {last_intel}). Make an environment with a Python that serves yours.",
        commands=(f"python{python} -m venv tf-env", "tf-env/bin/python -m pip install tensorflow"),
        applicability=Applicability.SAFE,
    )
