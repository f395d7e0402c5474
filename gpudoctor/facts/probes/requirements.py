"""What TensorFlow's family declares to require, and what of it the environment does not fulfil."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpudoctor.facts.model import Conflict, Fact, Known, Unknown
from gpudoctor.facts.probes.tensorflow_files import KERAS, providers

if TYPE_CHECKING:
    from gpudoctor.facts.probes.answers import Answer

REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[[^\]]*\]\s*)?\(?(?P<specifier>[^()@]*?)\)?\s*\Z")


def conflicts(answer: Answer) -> Fact[tuple[Conflict, ...]]:
    """Return the requirements that do not hold, in the order of the metadata. answer: of inspect_python.

    Asked are the packages that provide TensorFlow, and Keras. Extras are left out: nobody has to want them.
    """
    error = answer.at("packages").text("error")
    if error:
        return Unknown(f"the package metadata could not be read ({error})")
    installed: dict[str, str] = {}
    for item in answer.items("packages"):
        installed.setdefault(item.text("name"), item.text("version"))  # the first on the search path is the one loaded
    environment = _marker_environment(answer)
    found: list[Conflict] = []
    for item in _askers(answer):
        for text in item.texts("requires"):
            wanted = _wanted(text, environment)
            if wanted is None or _holds(wanted[1], installed.get(wanted[0])):
                continue
            found.append(
                Conflict(
                    package=item.text("name"),
                    version=item.text("version"),
                    name=wanted[0],
                    specifier=wanted[1],
                    installed=installed.get(wanted[0]),
                )
            )
    return Known(tuple(dict.fromkeys(found)), "package metadata")


def _askers(answer: Answer) -> list[Answer]:
    """Return the packages whose requirements count: what provides TensorFlow, and the Keras that is loaded."""
    keras: dict[str, Answer] = {}
    for item in answer.items("packages"):
        if item.text("name") in KERAS:
            keras.setdefault(item.text("name"), item)
    return [*providers(answer), *keras.values()]


def _wanted(text: str, environment: dict[str, str]) -> tuple[str, str] | None:
    """Return name and specifier of a requirement that holds here; None for an extra's, or a text that is none."""
    what, _, marker = text.partition(";")
    match = REQUIREMENT.match(what)
    if match is None or "extra" in marker or (marker.strip() and not _applies(marker, environment)):
        return None
    return re.sub(r"[-_.]+", "-", match["name"]).lower(), match["specifier"].replace(" ", "")


def _applies(marker: str, environment: dict[str, str]) -> bool:
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName  # most requirements have none

    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedEnvironmentName, InvalidVersion):
        return False


def _holds(specifier: str, version: str | None) -> bool:
    """Whether a version fulfils a requirement; what cannot be compared is no conflict."""
    if version is None:
        return False
    try:
        return not version or SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _marker_environment(answer: Answer) -> dict[str, str]:
    """Return the variables of markers as they are in the target interpreter."""
    version, platform = answer.text("version"), answer.text("platform")
    return {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "sys_platform": platform,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(platform, platform),
        "platform_machine": answer.text("machine"),
        "implementation_name": answer.text("implementation"),
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(
            answer.text("implementation"), answer.text("implementation")
        ),
        "os_name": "nt" if platform == "win32" else "posix",
        "extra": "",
    }
