"""The rich console of the reports that hold tables: it takes nothing that it is given for markup."""

from __future__ import annotations

import io

from rich.console import Console


def plain_console(out: io.StringIO, width: int, color: bool) -> Console:
    """Return a console that writes to `out`. width: in columns; color: with ANSI colours."""
    return Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
