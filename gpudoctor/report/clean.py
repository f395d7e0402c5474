"""Makes text from outside (process names, log lines, file names) fit to be shown."""

from __future__ import annotations

import re

# C0 and C1 controls (escape sequences begin with them), and the marks that reorder or hide text.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+"


def clean(text: str) -> str:
    """Return one line without control characters; line breaks and tabs become a space."""
    if text.isascii() and text.isprintable():  # as nearly all is: then the pattern need not be compiled
        return text.strip()
    return re.sub(_CONTROL, " ", text).strip()
