"""For which Python versions and platforms TensorFlow wheels are published."""

from __future__ import annotations

from functools import cache

from gpudoctor import compat
from gpudoctor.compat.bundle import load
from gpudoctor.compat.rows import Wheel
from gpudoctor.facts.model import Facts

# Also the packages behind the stubs that tensorflow is on some platforms.
PACKAGES = ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tensorflow-cpu-aws", "tensorflow-intel")
ARM = ("aarch64", "arm64")


def platform_of(facts: Facts) -> str:
    """Return the platform as the tables name it: linux-x86_64, win-amd64, macos-arm64."""
    system, arm = facts.host.os.get() or "linux", (facts.host.machine.get() or "x86_64") in ARM
    if system == "windows":
        return "win-amd64"
    if system == "macos":
        return "macos-arm64" if arm else "macos-x86_64"
    return "linux-aarch64" if arm else "linux-x86_64"


@cache
def newest_by_python(platform: str) -> dict[str, str]:
    """Return for each Python version ("3.12") the newest stable TensorFlow that has a wheel for it."""
    found: dict[str, str] = {}
    for row in load(Wheel).rows:
        if row.platform != platform or row.package not in PACKAGES or compat.version(row.tensorflow).is_prerelease:
            continue
        if row.confidence is compat.Trust.LOW:
            continue
        for python in compat.pythons_of(row):
            if python not in found or compat.version(row.tensorflow) > compat.version(found[python]):
                found[python] = row.tensorflow
    return found


def oldest_and_newest_python(platform: str) -> tuple[str, str]:
    """Return the oldest and the newest Python of the newest release on a platform. Raises NotCovered."""
    by_python = newest_by_python(platform)
    if not by_python:
        raise compat.NotCovered(f"no wheel for {platform} is in the tables")
    newest = max(by_python.values(), key=compat.version)
    pythons = sorted((python for python, release in by_python.items() if release == newest), key=compat.version)
    return pythons[0], pythons[-1]
