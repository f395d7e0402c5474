"""Packages of the distribution: what dpkg, apt, rpm, dnf, zypper and pacman list of the driver, CUDA and containers."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import SystemPackage
from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"ii  ", b"rc  ", b"nvidia-driver", b"libcudnn", b"libnvidia-", b"kmod-nvidia", b"cuda-", b"nvidia-utils ")

MOST = 400
_WANTED = (
    r"(?:lib)?nvidia[\w.+-]{0,80}|cuda(?:-[\w.+-]{1,60})?|libcuda1|libcudart\d[\w.]{0,6}|(?:lib)?cudnn[\w.+-]{0,40}"
    r"|libnccl\d?[\w.-]{0,10}|nccl|(?:kmod|akmod)-nvidia[\w.+-]{0,80}|(?:xorg-x11-drv|xserver-xorg-video)-nvidia"
    r"[\w.+-]{0,40}"
)
_VERSION = r"(?:\d{1,3}:)?\d[\w.+~:-]{1,60}"
_MACHINES = (".x86_64", ".noarch", ".aarch64", ".i686")
_MACHINE = rf"(?:{'|'.join(_MACHINES)})".replace(".", r"\.")
_DPKG = (
    rf"(?P<state>[uihrp][ncHUFWti])R?\s{{1,4}}(?P<name>{_WANTED})(?::\w{{2,8}})?\s{{1,60}}"
    rf"(?P<version>{_VERSION})(?:\s|\Z)"
)
_APT = rf"(?P<name>{_WANTED})/\S{{1,80}} (?P<version>{_VERSION}) \w{{2,8}} \[(?P<state>[^\]\r\n]{{1,80}})\]"
_RPM = rf"(?P<name>{_WANTED})-(?P<version>(?:\d{{1,3}}:)?\d[\w.~+^]{{0,30}}-\d[\w.~+^]{{0,40}}){_MACHINE}\s{{0,4}}\Z"
_DNF = rf"(?P<name>{_WANTED}){_MACHINE}\s{{1,60}}(?P<version>{_VERSION})\s{{1,60}}@\S{{1,60}}\s{{0,4}}\Z"
_ZYPPER = (
    rf"i\+?\s{{1,4}}\|\s{{1,4}}(?P<name>{_WANTED})\s{{1,60}}\|\s{{1,4}}package\s{{1,10}}\|\s{{1,4}}"
    rf"(?P<version>{_VERSION})\s"
)
_PACMAN = rf"(?:local/)?(?P<name>{_WANTED})\s(?P<version>{_VERSION}-\d{{1,3}}(?:\.\d{{1,2}})?)\s{{0,4}}\Z"
_QUERY = rf"(?P<name>{_WANTED})(?::\w{{2,8}})?\t(?P<version>{_VERSION})\Z"
# Names that other lists hold as well: of pip and conda.
_NO_SYSTEM = r"nvidia-[a-z-]{2,30}-cu1\d|nvidia-(?:ml-py|pyindex)"
_WORDS = ("nvidia", "cuda", "cudnn", "nccl")
_REMOVED = ("residual-config",)


class Reader:
    """Reads rows that can be nothing else."""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if not any(word in text for word in _WORDS) or len(text) > MOST:
            return
        row = text.strip()
        if row[2:3] in (" ", "R") and (match := compiled(_DPKG).match(row)):
            if match["state"][0] in "ih" or match["state"] == "rc":
                self._add(match["name"], match["version"], at, seen, removed=match["state"][1] not in "iUFWt")
        elif "/" in row and "[" in row and (match := compiled(_APT).match(row)):
            self._apt(match["name"], match["version"], match["state"], at, seen)
        elif row[:1] == "i" and "| package" in row and (match := compiled(_ZYPPER).match(row)):
            self._add(match["name"], match["version"], at, seen)
        else:
            for pattern in _patterns(text, row):
                match = compiled(pattern).match(text if pattern is _QUERY else row)
                if match is not None:
                    self._add(match["name"], match["version"], at, seen)
                    return

    def _apt(self, name: str, version: str, state: str, at: str, seen: Seen) -> None:
        upgradable = compiled(r"upgradable from: (\S{1,60})").search(state)
        if upgradable is not None:
            self._add(name, upgradable[1], at, seen)
        elif state.startswith("installed") or state in _REMOVED:
            self._add(name, version, at, seen, removed=state in _REMOVED)

    def _add(self, name: str, version: str, at: str, seen: Seen, *, removed: bool = False) -> None:
        if compiled(_NO_SYSTEM).fullmatch(name):
            return
        seen.hint("linux", at)
        seen.system_package(SystemPackage(name=name, version=version, removed=removed), at)


def _patterns(text: str, row: str) -> Iterator[str]:
    """Yield the patterns that a row may fit by its look: to compile one takes longer than to read a small text."""
    if row.endswith(_MACHINES):
        yield _RPM
    if "@" in row:
        yield _DNF
    words = row.split()
    if len(words) == 2 and words[1][:1].isdigit():  # noqa: PLR2004 (name and version)
        yield _PACMAN
    if "\t" in text:
        yield _QUERY
