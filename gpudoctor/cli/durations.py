"""Times on the command line: 10m, 90s, 1h30m, 45."""

from __future__ import annotations

import re

import typer

_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?\Z")


class Seconds(float):
    """A time as an option's value, in seconds."""

    @classmethod
    def parse(cls, text: str) -> Seconds:
        """Return the option's value. Raises typer.BadParameter."""
        match = _PARTS.match(text.strip())
        if match is None or not any(match.groups()):
            raise typer.BadParameter(f"{text!r} is no time such as 90s, 10m or 1h30m")
        hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return cls(hours * 3600 + minutes * 60 + seconds)


def duration_text(seconds: float) -> str:
    """Return a time as people say it: 45 s, 3 min, 2 h, 5 days."""
    for size, unit in ((172800, "days"), (7200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'days': 86400, 'h': 3600, 'min': 60}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"


def left_text(seconds: float) -> str:
    """Return a time that is left: 9:05."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02}"
