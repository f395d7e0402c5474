"""What the two driver libraries streamed, turned into facts; common to nvml.py and libcuda.py."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec import Struct

from gpudoctor.facts.host import ChildOutcome, ChildRun
from gpudoctor.facts.model import Api, ApiAnswer, DriverFacts, Fact, Gpu, Known, Unknown

T = TypeVar("T")

TIMEOUT_SECONDS = 10.0
# Isolated and without site packages: these children need nothing of the user's Python, and start in 20 ms.
FLAGS = ("-I", "-S", "-B")
LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")
NOT_FOUND = "No such file or directory"


class DriverAnswers(Struct, frozen=True):
    """What one library tells of the driver and of the GPUs, in the order in which it counts them."""

    driver: DriverFacts
    gpus: tuple[Gpu, ...] = ()


FUTURE = "from __future__ import annotations\n"


def program(*names: str) -> str:
    """Return the text of a child program, of several parts if need be; from a zip file too."""
    texts = [(pkgutil.get_data("gpudoctor.child", f"{name}.py") or b"").decode("utf-8") for name in names]
    return "".join([texts[0], *(text.replace(FUTURE, "", 1) for text in texts[1:])])


def version_in_name(path: str) -> str | None:
    """Return the driver's version in a library's file name (libcuda.so.535.183.01); None for libcuda.so.1."""
    found = re.search(r"\.so\.(\d{3,}(?:\.\d+)+)$", path)
    return found[1] if found else None


def cuda_version_text(number: object) -> str | None:
    """Return 12.2 for 12020, as both libraries encode it."""
    return f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) and number > 0 else None


def as_int(value: object) -> int | None:
    """Return a number as it is, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# No machine has so many GPUs, and no GPU so much memory: what is beyond is nonsense of a broken driver.
MOST_DEVICES = 1024
MOST_BYTES = 1 << 48


def as_count(value: object) -> int | None:
    """Return how many devices there are, None for what cannot be."""
    return within(value, MOST_DEVICES)


def within(value: object, most: int) -> int | None:
    """Return a number from 0 to most, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def capability_text(major: int, minor: int) -> str | None:
    """Return 8.9 for 8 and 9; None for numbers that are no compute capability."""
    return f"{major:d}.{minor:d}" if 0 < major < 100 and 0 <= minor < 10 else None  # noqa: PLR2004 (one or two digits)


def as_text(value: object) -> str | None:
    """Return a text that is not empty, None for anything else."""
    return value if isinstance(value, str) and value else None


class Answers:
    """The answers of one child about one library.

    who: the library as a person calls it. meanings: what its error codes mean, as sentence parts. started: the name of
    the code for success.
    """

    def __init__(self, run: ChildRun, *, who: str, meanings: Mapping[int, str], started: str, limit: float) -> None:
        self.run = run
        self.who = who
        self.meanings = meanings
        self.started = started
        self.limit = limit
        self.values: Mapping[str, object] = run.result or {}

    @property
    def complete(self) -> bool:
        """Whether the child came to its end; how its process ended after that does not matter."""
        return self.values.get("done") is True

    @property
    def ok(self) -> bool:
        """Whether the library could be started."""
        return self.values.get("init") == self.started

    def meaning(self, error: Mapping[str, object]) -> str:
        """Return the reason, for a user, that an error gives."""
        code, name = error.get("code"), error.get("error")
        known = self.meanings.get(code) if isinstance(code, int) else None
        return known or f"{self.who} answered {name}"

    @property
    def begun(self) -> bool:
        """Whether the child came as far as the library; before that, nothing is the library's doing."""
        return "calling" in self.values

    def interruption(self) -> str:
        """Return how the child was cut short, with the call that it was in."""
        if self.run.outcome is ChildOutcome.NOT_STARTED:
            return self.run.reason
        if not self.begun:
            return f"the process that asks {self.who} {self.run.reason or 'stopped early'}"
        where = f"; the last call was {self.values['calling']}"
        if self.run.outcome is ChildOutcome.TIMED_OUT:
            return f"{self.who} did not answer in {self.limit:g} s{where}"
        if self.run.outcome is ChildOutcome.SIGNALLED:
            return f"{self.who} crashed with {self.run.signal_name}{where}"
        return f"the process that asks {self.who} {self.run.reason or 'stopped early'}{where}"

    @property
    def no_library(self) -> bool:
        """Whether the loader knows no library of that name."""
        return any(self.loader_reason() == f"{name} was not found" for name in LIBRARIES)

    def loader_reason(self) -> str | None:
        """Return why the loader did not take the library, None if it did."""
        message = as_text(self.values.get("loader"))
        if message is None:
            return None
        file, _, rest = message.partition(": ")
        # The folder may be somebody's home: it goes into a fact that is redacted, not into a sentence.
        # glibc says "libcuda.so.1: cannot open ...", musl "Error loading shared library libcuda.so.1: ...".
        name = file.rsplit("/", 1)[-1].rsplit(" ", 1)[-1]
        if name not in LIBRARIES:  # a library that it needs
            return f"the library cannot be loaded: {message.rsplit('/', 1)[-1]}"
        return f"{name} was not found" if NOT_FOUND in rest else f"{name} cannot be loaded: {rest}"

    def why_not(self) -> str:
        """Return why a question has no answer at all."""
        if (loader := self.loader_reason()) is not None:
            return loader
        if "binding" in self.values:
            return f"nvidia-ml-py cannot be used: {self.values['binding']}"
        if not self.complete:
            return self.interruption()
        init = self.values.get("init")
        return self.meaning(init) if isinstance(init, dict) else f"{self.who} was not asked"

    def api(self) -> Fact[ApiAnswer]:
        """Return how the library answered; not known where the child did not come as far as asking it."""
        if not self.begun or "binding" in self.values:
            return Unknown(self.why_not())
        init = self.values.get("init")
        error = init if isinstance(init, dict) else {}
        code = 0 if self.ok else as_int(error.get("code"))
        name = self.started if self.ok else str(error.get("error", ""))
        if (loader := self.loader_reason()) is not None:
            outcome, detail = (Api.NO_LIBRARY if self.no_library else Api.ERROR), loader
        elif not self.complete:
            timed_out = self.run.outcome is ChildOutcome.TIMED_OUT
            outcome, detail = (Api.NO_ANSWER if timed_out else Api.CRASHED), self.interruption()
        elif self.ok:
            outcome, detail = Api.OK, ""
        else:
            outcome, detail = Api.ERROR, self.why_not()
        return Known(ApiAnswer(outcome=outcome, code=code, name=name, detail=detail), self.who)

    def fact(self, key: str, read: Callable[[object], T | None], source: str = "") -> Fact[T]:
        """Return the answer under a key as a fact; read gives None for what it does not understand."""
        if key not in self.values:
            return Unknown(self.why_not())
        value = self.values[key]
        if isinstance(value, dict) and "error" in value:
            return Unknown(self.meaning(value))
        try:
            known = read(value)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            known = None
        return (
            Unknown(f"{self.who} gave an answer without sense") if known is None else Known(known, source or self.who)
        )

    def gpu_numbers(self) -> list[int]:
        """Return the numbers of the GPUs that were looked at."""
        found = (re.fullmatch(r"gpu\.(\d+)\.handle", key) for key in self.values)
        return sorted(int(match[1]) for match in found if match)
