"""Notebooks that a service runs: Kaggle's, by its folders and in words. Colab's stand in forms."""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"/kaggle/working", b"/kaggle/input")

KAGGLE_SAID = "kaggle-said"
LONGEST = 1200
# Kaggle alone may be where data or an idea come from.
_KAGGLE = r"/kaggle/(?:working|input|lib|usr)\b|\bkaggle (?:notebook|kernel)s?\b"
_ELSEWHERE = r"\b(?:works?|worked|working fine|fine|local\w{0,3}|instead|unlike|should|could|try)\b|https?:"


class Reader:
    """Reads lines."""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if ("aggle" in text) and len(text) <= LONGEST and KAGGLE_SAID not in seen.hints:
            low = text.casefold()
            if compiled(_KAGGLE).search(low) and not compiled(_ELSEWHERE).search(low.replace("/kaggle/working", "")):
                seen.hint(KAGGLE_SAID, at)
