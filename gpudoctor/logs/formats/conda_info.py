"""`conda info`, and that of mamba and micromamba: the virtual packages, which conda makes of the machine."""

from __future__ import annotations

from gpudoctor.facts.model import CondaPackage
from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"virtual packages : ", b'"virtual_pkgs"', b'"virtual packages"')

FACT = "python.conda_virtual_packages"
_HEADING = "virtual packages :"
# conda before 4.9 leaves the build out.
_PACKAGE = r"(?P<name>__[a-z0-9_]{2,20})=(?P<version>[\w.+-]{0,60})(?:=(?P<build>[\w.+-]{0,40}))?\Z"
_JSON_NAME = r"\"(?P<name>__[a-z0-9_]{2,20})\",\Z"
_JSON_TEXT = r"\"(?P<text>__[a-z0-9_]{2,20}=[^\"\s]{0,100})\",?\Z"
MOST = 64


class Reader:
    """Keeps the list that is being read."""

    def __init__(self) -> None:
        self._listed = False
        self._found: tuple[CondaPackage, ...] = ()
        self._parts: list[str] = []

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if not self._listed and "virtual" not in text:
            return
        row = text.strip()
        if row.startswith((_HEADING, '"virtual_pkgs"', '"virtual packages"')):
            self._listed, self._found, self._parts = True, (), []
            row = row.removeprefix(_HEADING).strip()
            if row.endswith(("[]", "[],")):
                self._note(at, seen)
        if not self._listed:
            return
        if row.startswith(('"', "[", "]")):
            self._json(row, at, seen)
        elif (match := compiled(_PACKAGE).match(row)) is not None:
            self._add(match["name"], match["version"], match["build"] or "0", at, seen)
        else:
            self._listed = False

    def _json(self, row: str, at: str, seen: Seen) -> None:
        """Take a line of `--json`: conda writes name, version and build on a line each, mamba one text."""
        match = compiled(_JSON_TEXT).match(row)
        named = compiled(_JSON_NAME).match(row)
        if match is not None and (package := compiled(_PACKAGE).match(match["text"])) is not None:
            self._add(package["name"], package["version"], package["build"] or "0", at, seen)
        elif named is not None:
            self._parts = [named["name"]]
        elif self._parts and (value := compiled(r"\"(?P<value>[^\"\s]{0,60})\",?\Z").match(row)) is not None:
            self._parts.append(value["value"])
            if len(self._parts) == 3:  # noqa: PLR2004 (name, version, build)
                name, version, build = self._parts
                self._parts = []
                self._add(name, version, build, at, seen)
        elif not row.startswith(("[", "]")) and not row.endswith(("[", "[],", "[]")):
            self._listed = False

    def _add(self, name: str, version: str, build: str, at: str, seen: Seen) -> None:
        self._found = (*self._found, CondaPackage(name=name, version=version, build=build))[:MOST]
        self._note(at, seen)

    def _note(self, at: str, seen: Seen) -> None:
        """Put the list, as far as it is read, in the place of the one before."""
        seen.facts.pop(FACT, None)
        seen.note(FACT, self._found, at)
