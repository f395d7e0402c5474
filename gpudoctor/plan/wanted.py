"""The constraint of a user on TensorFlow."""

from __future__ import annotations

import re

from gpudoctor import compat
from gpudoctor.compat import NotCovered

PLAIN = re.compile(r"v?(\d+(?:\.\d+)*(?:(?:rc|a|b|\.post)\d+)?)\Z")
FULL = 3
"""Parts of a whole release number; "2.15" stands for each of its releases."""


def specifier_of(text: str) -> str:
    """A specifier out of ">=2.12", "2.15" (any of its releases) or "2.15.1". Raises ValueError."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # only who has a wish needs it

    plain = PLAIN.match(text.strip())
    if plain:
        whole = plain[1].count(".") + 1 >= FULL or not plain[1].replace(".", "").isdigit()
        text = f"=={plain[1]}" if whole else f"=={plain[1]}.*"
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier as exc:
        raise ValueError(f'{text!r} is no constraint such as ">=2.12" or "2.15"') from exc


def wanted_releases(specifier: str) -> frozenset[str]:
    """The releases in the tables that a specifier admits, candidates among them if it names one.

    Raises NotCovered where there is none.
    """
    from packaging.specifiers import SpecifierSet

    admits = SpecifierSet(specifier)
    found = frozenset(admits.filter(compat.releases(prereleases=True)))
    if not found:
        date, newest = compat.tables_date(), compat.newest_release()
        raise NotCovered(f"no TensorFlow {specifier} in my tables of {date}, whose newest is {newest}")
    return found
