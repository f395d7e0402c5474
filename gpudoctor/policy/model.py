"""A policy as the engine takes it. It holds no clock: what has expired is settled when it is made current."""

from __future__ import annotations

import datetime as dt

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.findings import Expect, Severity

Asked = int | float | bool | str | tuple[str, ...]


class Ignore(Struct, frozen=True, kw_only=True):
    """A rule whose findings do not count. until: the last day on which they do not; None for ever."""

    rule: str
    until: dt.date | None = None
    reason: str = ""


class Policy(Struct, frozen=True, kw_only=True):
    """What is asked of a machine; None asks for nothing. Sizes are bytes, versions PEP 440 specifiers."""

    source: str = ""
    """File, as it is shown."""
    given: tuple[str, ...] = ()
    """Keys that came from the command line or the caller, not from the file."""

    expect: Expect | None = None
    fail_on: str | None = None
    """note, warning, error or never."""

    min_gpus: int | None = None
    gpu_name: tuple[str, ...] | None = None
    """Parts of names, without regard to case; one has to be in the name of each GPU."""
    min_compute_capability: str | None = None
    min_memory: int | None = None
    min_free_memory: int | None = None
    max_used_memory: int | None = None
    """Of each GPU."""
    max_gpu_processes: int | None = None
    max_gpu_temperature: int | None = None
    """Degrees Celsius."""
    require_native_code: bool | None = None
    driver: str | None = None
    tensorflow: str | None = None
    keras: str | None = None
    python: str | None = None
    min_shm: int | None = None
    min_images_per_second: float | None = None
    benchmark: str | None = None
    """File with the result of `gpudoctor bench`, beside the policy's file unless absolute."""
    benchmark_mode: str | None = None

    select: tuple[str, ...] | None = None
    """Rules or areas; all others are left out, but for what the policy itself asks."""
    ignore: tuple[Ignore, ...] = ()
    expired: tuple[Ignore, ...] | None = None
    """Filled by `on`."""
    severity: dict[str, Severity] = {}

    def on(self, today: dt.date) -> Policy:
        """Return the policy as it stands on a day: what was ignored until an earlier one counts again."""
        over = tuple(item for item in self.ignore if item.until is not None and item.until < today)
        kept = tuple(item for item in self.ignore if item not in over)
        return replace(self, ignore=kept, expired=over or None)

    def asked(self, key: str) -> object:
        """Return what is asked under a key; None where nothing is. A switch that is off asks for nothing."""
        value = getattr(self, key)
        return None if value is False else value

    def source_of(self, key: str) -> str:
        """Return where a key was set."""
        return "given directly" if key in self.given else self.source

    def ignored(self, rule: str) -> Ignore | None:
        """Return why findings of a rule do not count, or None."""
        return next((item for item in self.ignore if item.rule == rule), None)

    def selects(self, rule: str, area: str) -> bool:
        """Whether a rule is to be run."""
        return self.select is None or rule in self.select or area in self.select

    def weighed(self, rule: str, severity: Severity, default: Severity) -> Severity:
        """Return the severity of a finding.

        What the rule, or something seen to work, has put below the rule's own severity is not raised: it is not the
        fault that the override was written for.
        """
        wanted = self.severity.get(rule, severity)
        return wanted if wanted < severity or severity >= default else severity


NOTHING_ASKED = Policy()
