"""Installed packages: what pip, conda and tf_env_collect.sh list, and what pip installs."""

from __future__ import annotations

from gpudoctor.facts.model import CondaPackage, Package
from gpudoctor.logs.seen import MOST_PACKAGES, Seen, compiled

OPENERS = (
    b"Package    ",
    b"== check pips",
    b"# packages in environment at",
    b"tensorflow==",
    b"Successfully installed ",
    b"tensorflow   ",
    b"Name: tensorflow",
    b"== tensorflow import",
    b"tensorflow-gpu",
)

ROW = 300

_ROW = r"(?P<name>[A-Za-z0-9][\w.-]{0,60})\s{1,60}(?P<version>\d[\w.+!-]{0,40})(?:\s{1,40}(?P<rest>[^\r\n]{0,200}))?\Z"
_FREEZE = r"(?P<name>[A-Za-z0-9][\w.-]{0,60})==(?P<version>\d[\w.+!-]{0,40})\Z"
_CONDA = (
    r"(?P<name>[A-Za-z0-9_][\w.-]{0,60})\s{1,60}(?P<version>\d[\w.+!-]{0,40})\s{1,40}(?P<build>[\w.]{"
    r"1,60})(?:\s{1,40}(?P<channel>[\w./:-]{1,80}))?\Z"
)
# A row below no heading, as grep leaves it: no other list has a third column like mkl_py39ha510bab_0.
_CONDA_ALONE = (
    r"(?P<name>[a-z][\w-]{0,60})\s{1,60}(?P<version>\d[\w.]{0,40})\s{1,40}"
    r"(?P<build>(?:(?:mkl|eigen|cpu|gpu|cuda\d{0,4})_?)?(?:py\d{2,3})?(?:h[0-9a-f]{6,8})?_\d{1,3})"
    r"(?:\s{1,40}[\w./:-]{1,80})?\Z"
)
_JSON = r"\"name\": \"(?P<name>[\w.-]{1,60})\", \"version\": \"(?P<version>\d[\w.+!-]{0,40})\""
_DIST_NAME = r"\"dist_name\": \"(?P<name>[\w.-]{1,60}?)-(?P<version>\d[\w.+!]{0,40})-(?P<build>[\w.]{1,60})\",?\Z"
_EXPORT = r"- (?P<name>[a-z0-9_][\w.-]{0,60})=(?P<version>\d[\w.+!]{0,40})=(?P<build>[\w.]{1,60})\Z"
# Names that need no heading to be known for a row of such a list.
_FAMILY = (
    r"(?:tensorflow(?:[-_](?:gpu|cpu|intel|macos|metal|estimator|base|io[\w-]{0,20}|hub|probability|a"
    r"ddons))?|tf[-_](?:nightly(?:[-_](?:gpu|cpu))?|keras)"
    r"|keras(?:-nightly)?|tensorboard|nvidia-[a-z]{3,20}-cu1[12]|numpy|protobuf|horovod|h5py|ml-dtype"
    r"s|cudatoolkit|cudnn|tensorrt)\Z"
)


def plain(name: str) -> str:
    """Return a distribution's name as the facts write it."""
    return name.lower().replace("_", "-").replace(".", "-") if "." in name else name.lower().replace("_", "-")


class Reader:
    """Reads lists below their heading, and single rows that can be nothing else."""

    def __init__(self) -> None:
        self._list = ""
        self._shown = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        row = text.strip()
        if row[:1] in '"{[-' and self._written_as_data(row, at, seen):
            return
        if row.startswith(("Package ", "== check pips")):
            self._list = "pip"
        elif row.startswith("# packages in environment"):
            self._list = "conda"
        elif row.startswith("== ") or not row:
            self._list = "" if row else self._list
        elif row.startswith("Name: "):
            self._shown = row[6:].strip()
        elif row.startswith("Version: ") and self._shown:
            self._add(self._shown, row[9:].strip(), at, seen)
            self._shown = ""
        elif row.startswith("Successfully installed "):
            for word in row.split()[2:200]:
                name, _, version = word.rpartition("-")
                if name and version[:1].isdigit():
                    self._add(name, version, at, seen)
        else:
            self._row(row, at, seen)

    def _written_as_data(self, row: str, at: str, seen: Seen) -> bool:
        """Take a row of pip list --format json, conda list --json or conda env export; return whether it was one."""
        if '"name": "' in row and '"version": "' in row and (match := compiled(_JSON).search(row)):
            self._add(match["name"], match["version"], at, seen)
            return True
        for start, pattern in (('"dist_name": ', _DIST_NAME), ("- ", _EXPORT)):
            match = compiled(pattern).match(row) if row.startswith(start) else None
            if match is not None:
                self._conda(match["name"], match["version"], match["build"], at, seen)
                return True
        return False

    def _conda(self, name: str, version: str, build: str, at: str, seen: Seen) -> None:
        name = plain(name)
        if len(seen.conda) < MOST_PACKAGES:
            seen.conda[name] = (CondaPackage(name=name, version=version, build=build), at)
            seen.recognised += 1
        self._add(name, version, at, seen, installer="conda")

    def _row(self, row: str, at: str, seen: Seen) -> None:
        if len(row) > ROW or row.startswith(("-", "#")):
            return
        if self._list == "conda" and (match := compiled(_CONDA).match(row)):
            name = plain(match["name"])
            if len(seen.conda) < MOST_PACKAGES and match["channel"] != "pypi":
                seen.conda[name] = (CondaPackage(name=name, version=match["version"], build=match["build"]), at)
                seen.recognised += 1
            self._add(name, match["version"], at, seen, installer=None if match["channel"] == "pypi" else "conda")
            return
        words = row.split(maxsplit=2) or [""]
        if "_" in words[-1] and (match := compiled(_CONDA_ALONE).match(row)) and compiled(_FAMILY).match(words[0]):
            self._conda(match["name"], match["version"], match["build"], at, seen)
            return
        match = None
        if row[:1].isalnum() and "==" in words[0]:
            match = compiled(_FREEZE).match(row)
        elif row[:1].isalnum() and len(words) > 1 and words[1][:1].isdigit():
            match = compiled(_ROW).match(row)
        if match is None:
            self._list = "" if self._list and not compiled(r"[\w.-]{1,60}\s{1,60}\S{1,60}").match(row) else self._list
            return
        if compiled(r"\S{1,60} \S{1,40} (?:requires|has requirement|depends on) ").match(row):
            return  # a sentence about a package
        if self._list or "==" in row or compiled(_FAMILY).match(plain(match["name"])):
            self._add(match["name"], match["version"], at, seen)

    def _add(self, name: str, version: str, at: str, seen: Seen, installer: str | None = None) -> None:
        name = plain(name)
        if len(seen.packages) < MOST_PACKAGES and compiled(r"\d{1,6}(?:\.[\w+!]{1,30}){1,6}\Z").match(version):
            seen.packages[name] = (Package(name=name, version=version, installer=installer), at)
            seen.recognised += 1
