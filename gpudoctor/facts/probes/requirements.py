"""What TensorFlow's family declares to require, and what of it the environment does not fulfil.

Markers of the usual forms are judged here: the part of `packaging` that can do it loads half the standard library, and
`check --quick` has little time. Other forms go to `packaging`; a test compares the two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from gpudoctor.compat.specifiers import holds, satisfies
from gpudoctor.facts.model import Conflict, Fact, Known, Unknown
from gpudoctor.facts.probes.tensorflow_files import KERAS, providers

if TYPE_CHECKING:
    from gpudoctor.facts.probes.answers import Answer

REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[[^\]]*\]\s*)?\(?(?P<specifier>[^()@]*?)\)?\s*\Z")
CONDITION = re.compile(r"""\s*(?P<name>\w+)\s*(?P<operator>==|!=|<=|>=|<|>)\s*["'](?P<value>[^"']*)["']\s*\Z""")
VERSIONS = ("python_version", "python_full_version")


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
    if match is None or "extra" in marker or (marker.strip() and not applies(marker, environment)):
        return None
    return re.sub(r"[-_.]+", "-", match["name"]).lower(), match["specifier"].replace(" ", "")


def applies(marker: str, environment: dict[str, str]) -> bool:
    """Whether a marker is true in an environment; one that cannot be understood is not."""
    groups = [[CONDITION.match(part) for part in group.split(" and ")] for group in marker.split(" or ")]
    results: list[bool] = []
    for group in groups:
        truths = [match is not None and _condition(match, environment) for match in group]
        if any(match is None for match in group) or None in truths:
            return _applies_by_packaging(marker, environment)
        results.append(all(truths))
    return any(results)


def _condition(match: re.Match[str], environment: dict[str, str]) -> bool | None:
    """Return whether one comparison is true; None for one that only `packaging` can judge."""
    name, operator, value = match["name"], match["operator"], match["value"]
    own = environment.get(name)
    if own is None:
        return None
    if name in VERSIONS:
        try:
            return holds(Version(own), operator + value)
        except InvalidVersion:
            return None
    return {"==": own == value, "!=": own != value}.get(operator)


def _applies_by_packaging(marker: str, environment: dict[str, str]) -> bool:
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
        return False


def _holds(specifier: str, version: str | None) -> bool:
    """Whether a version fulfils a requirement; what cannot be compared is no conflict."""
    if version is None:
        return False
    try:
        return not version or satisfies(Version(version), specifier)
    except InvalidVersion:
        return True


def _marker_environment(answer: Answer) -> dict[str, str]:
    """Return the variables of markers as they are in the target interpreter."""
    version, platform = answer.text("version"), answer.text("platform")
    implementation = answer.text("implementation")
    return {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "sys_platform": platform,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(platform, platform),
        "platform_machine": answer.text("machine"),
        "implementation_name": implementation,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(implementation, implementation),
        "os_name": "nt" if platform == "win32" else "posix",
        "extra": "",
    }
