"""What TensorFlow Profiler's page shows of a step, pasted as text: names of parts, each with its time."""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"Average Step Time", b"Kernel Launch Time")

_PART = r"\W{0,40}(?P<part>Average Step Time|Input Time|Kernel Launch Time)\b(?P<rest>[^\r\n]{0,160})\Z"
_TIME = r"(?<![\w.])(?P<time>\d{1,7}(?:\.\d{1,4})?) ?ms(?!\w)"
# How far below its name a part's time may stand.
NEAR = 4


class Reader:
    """Joins each part with the time behind or below it."""

    def __init__(self) -> None:
        self._part = ""
        self._lines = 0
        self._whole = 0.0

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if " Time" in text and (match := compiled(_PART).match(text)):
            self._part, self._lines = match["part"], 0
            text = match["rest"]
        elif not self._part:
            return
        self._lines += 1
        # The spread stands in brackets before the time: (sigma = 1.2 ms).
        time = compiled(_TIME).search(compiled(r"\([^)\r\n]{0,40}\)").sub("", text)) if "ms" in text else None
        if time is not None:
            self._take(float(time["time"]), at, seen)
            self._part = ""
        elif self._lines > NEAR:
            self._part = ""

    def _take(self, milliseconds: float, at: str, seen: Seen) -> None:
        if self._part == "Average Step Time":
            self._whole = milliseconds
            seen.note("training.step_seconds", round(milliseconds / 1000, 6), at)
        elif 0 < self._whole >= milliseconds:
            share = f"{100 * milliseconds / self._whole:.1f}"
            if self._part == "Input Time":
                seen.tell("profile-input-bound", at, waiting=share)
            else:
                seen.tell("profile-launch-bound", at, share=share)
