"""Which versions a specifier admits, by PEP 440.

The usual forms are judged here: the parts of `packaging` that can do it take as long to load as a small text takes to
judge. Other forms go to `packaging`; a test compares the two.
"""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

CLAUSE = re.compile(r"\s*(?P<operator>==|!=|<=|>=|<|>|~=)\s*(?P<version>[\w.]+)(?P<wildcard>\.\*)?\s*\Z")


def satisfies(version: Version, specifier: str) -> bool:
    """Whether a version, also a pre-release, fulfils all clauses of a specifier; true for one that is none."""
    for text in filter(None, specifier.split(",")):
        result = holds(version, text)
        if not (_by_packaging(version, text) if result is None else result):
            return False
    return True


def holds(version: Version, clause: str) -> bool | None:
    """Whether one clause (">=1.2") holds; None for a form that is not judged here."""
    match = CLAUSE.match(clause)
    if match is None:
        return None
    try:
        return _compared(match["operator"], Version(match["version"]), version, wildcard=bool(match["wildcard"]))
    except InvalidVersion:
        return None


def _compared(operator: str, bound: Version, version: Version, *, wildcard: bool) -> bool | None:
    if operator == "~=" or wildcard or version.local or bound.local or version.epoch != bound.epoch:
        return None
    match operator:
        case "==":
            return version == bound
        case "!=":
            return version != bound
        case "<=":
            return version <= bound
        case ">=":
            return version >= bound
        case "<" if bound.is_postrelease:
            return None  # whether <2.post1 admits 2.0rc1 depends on the release of packaging
        case "<":  # <2 leaves out 2.0rc1 too
            same = Version(version.base_version) == Version(bound.base_version)
            return version < bound and (bound.is_prerelease or not version.is_prerelease or not same)
    return None if version.is_postrelease else version > bound


def _by_packaging(version: Version, clause: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(clause).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True
