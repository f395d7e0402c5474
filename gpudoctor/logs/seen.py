"""What a text told so far: values by fact, in the order in which they were read, each with its line."""

from __future__ import annotations

import functools
import re

from msgspec import Struct, field

from gpudoctor.facts.model import Absent, Fact, Known, LogEvent, SystemPackage, Unknown

NOT_IN_TEXT = "not in the text"
MISSING = Unknown(NOT_IN_TEXT)
# Different values that are kept for one fact; of more, the first and the latest.
VALUES = 8
MOST_GPUS = 256
MOST_PACKAGES = 5000
MOST_SAMPLES = 4000
MOST_FILES = 500


class Told(Struct):
    """The values that were told for one fact; None stands for known not to exist."""

    values: list[tuple[object, str]] = field(default_factory=list)

    def add(self, value: object, at: str) -> None:
        """Take a value; one that was told before moves to the end: the latest wins."""
        self.values = [item for item in self.values if item[0] != value]
        self.values.append((value, at))
        if len(self.values) > VALUES:
            del self.values[1]

    def sort(self) -> None:
        """Put values of one text in the order of its lines; they came by reader, not by line."""
        places = [at.rpartition(":") for _, at in self.values]
        if len({source for source, _, _ in places}) == 1 and all(line.isdecimal() for _, _, line in places):
            self.values.sort(key=lambda item: int(item[1].rpartition(":")[2]))

    def fact(self) -> Fact[object]:
        """Return the latest value, with the others beside it."""
        if not self.values:
            return MISSING
        value, at = self.values[-1]
        if value is None:
            return Absent(at)
        return Known(value, at, tuple(item for item in self.values[:-1] if item[0] is not None))


class Gpu(Struct):
    """What was told of one GPU."""

    facts: dict[str, Told] = field(default_factory=dict)
    ordinal: int | None = None
    processes: list[object] | None = None
    reasons: dict[str, bool] = field(default_factory=dict)

    def note(self, name: str, value: object, at: str) -> None:
        """Take a value of a fact of this GPU."""
        self.facts.setdefault(name, Told()).add(value, at)

    def value(self, name: str) -> object:
        """Return the latest value of a fact, None where none was told."""
        told = self.facts.get(name)
        return told.values[-1][0] if told and told.values else None


class FileSeen(Struct, frozen=True):
    """One library file: libNAME.so.NUMBER in a folder, and what leads the loader there, where the text tells it."""

    name: str
    number: str
    folder: str
    found_by: str


class Seen:
    """All that a text told."""

    def __init__(self) -> None:
        self.events: list[LogEvent] = []
        self.facts: dict[str, Told] = {}
        self.gpus: list[Gpu] = []
        self.packages: dict[str, tuple[object, str]] = {}
        self.conda: dict[str, tuple[object, str]] = {}
        self.system: dict[str, tuple[SystemPackage, str]] = {}
        self.files: dict[FileSeen, str] = {}
        """Library files, each with the line on which it was first seen."""
        self.variables: dict[str, tuple[str, str]] = {}
        self.devices: dict[str, tuple[dict[str, str], str]] = {}
        self.no_devices_at = ""
        self.samples: dict[str, list[float]] = {}
        self.hints: dict[str, str] = {}
        """Signs of the operating system and the like, each with the line on which it was first seen."""
        self.command = ""
        """The last command line or statement that a prompt showed."""
        self.recognised = 0

    def note(self, path: str, value: object, at: str) -> None:
        """Take a value of a fact: driver.version. None: known not to exist."""
        self.facts.setdefault(path, Told()).add(value, at)
        self.recognised += 1

    def value(self, path: str) -> object:
        """Return the latest value of a fact, None where none was told."""
        told = self.facts.get(path)
        return told.values[-1][0] if told and told.values else None

    def hint(self, name: str, at: str) -> None:
        """Take a sign of something."""
        self.hints.setdefault(name, at)

    def system_package(self, package: SystemPackage, at: str) -> None:
        """Take a package of the distribution; of one name the latest counts."""
        if len(self.system) < MOST_PACKAGES:
            self.system[package.name] = (package, at)
            self.recognised += 1

    def file(self, found: FileSeen, at: str) -> None:
        """Take a library file."""
        if len(self.files) < MOST_FILES:
            self.files.setdefault(found, at)
            self.recognised += 1

    def tell(self, message: str, at: str, **parameters: str) -> None:
        """Take a message that no row of the table recognises by a line alone."""
        source, _, number = at.rpartition(":")
        line = int(number) if number.isdecimal() else 0
        self.events.append(LogEvent(message=message, line=line, source=source, parameters=parameters))
        self.recognised += 1

    def sample(self, name: str, value: float) -> None:
        """Take one of many readings of the same thing."""
        samples = self.samples.setdefault(name, [])
        if len(samples) < MOST_SAMPLES:
            samples.append(value)

    def gpu(
        self, *, address: str | None = None, uuid: str | None = None, name: str | None = None,
        ordinal: int | None = None, at: str = "",
    ) -> Gpu:  # fmt: skip
        """Return the GPU that is meant: by PCI address, then UUID, then name and ordinal; a new one if none fits."""
        address = plain_address(address) if address else None
        found = self._find("pci_address", address) or self._find("uuid", uuid)
        if found is None:
            found = next((gpu for gpu in self.gpus if _fits(gpu, address, uuid, name, ordinal)), None)
        if found is None:
            found = Gpu(ordinal=ordinal)
            if len(self.gpus) < MOST_GPUS:
                self.gpus.append(found)
        if ordinal is not None and found.ordinal is None:
            found.ordinal = ordinal
        for key, value in (("pci_address", address), ("uuid", uuid), ("name", name)):
            if value and not (key == "name" and _is_fuller(found.value("name"), value)):
                found.note(key, value, at)
        self.recognised += 1
        return found

    def _find(self, key: str, value: str | None) -> Gpu | None:
        return next((gpu for gpu in self.gpus if value and gpu.value(key) == value), None)


def _fits(gpu: Gpu, address: str | None, uuid: str | None, name: str | None, ordinal: int | None) -> bool:
    for key, value in (("pci_address", address), ("uuid", uuid)):
        if value and gpu.value(key) not in (None, value):
            return False
    known = gpu.value("name")
    if name and known and not _same_name(str(known), name):
        return False
    if ordinal is not None and gpu.ordinal is not None:
        return gpu.ordinal == ordinal
    return bool(name and known)


def _plain_name(name: str) -> str:
    return name.removeprefix("NVIDIA ").rstrip(". ").casefold()


def _same_name(one: str, other: str) -> bool:
    """Whether two names are of one GPU; nvidia-smi cuts long ones: "GeForce GTX 106..."."""
    one, other = _plain_name(one), _plain_name(other)
    return one == other or (
        min(len(one), len(other)) > len("GeForce") and (one.startswith(other) or other.startswith(one))
    )


def _is_fuller(known: object, name: str) -> bool:
    return isinstance(known, str) and name.endswith("...") and not known.endswith("...")


def plain_address(address: str) -> str:
    """Return a PCI address as the kernel writes it: 0000:01:00.0."""
    domain, _, rest = address.lower().partition(":")
    if rest.count(":") == 0:
        return f"0000:{address.lower()}"
    return f"{domain[-4:].zfill(4)}:{rest}" if "." in rest else f"{domain[-4:].zfill(4)}:{rest}.0"


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when it is first needed: most texts need few."""
    return re.compile(pattern, re.ASCII)


def median(values: list[float]) -> float:
    """Return the median. The module statistics would cost as much time to import as a small text takes to read."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
