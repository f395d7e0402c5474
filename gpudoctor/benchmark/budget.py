"""Time that the user gave: what does not fit is left out, and said to be left out.

What is left out first is the learning check, then the profiler window, rounds after the first, images of an epoch, and
trying settings: so far as it can be foreseen, since what comes early cannot know how long the later parts will take.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Seconds from now on."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self.dropped: list[str] = []

    def left(self) -> float:
        """Seconds left; negative when they are spent."""
        return self._end - self._clock()

    def allows(self, what: str, seconds: float, *, reserve: float = 0.0) -> bool:
        """Whether something of this length fits. What does not is noted. reserve: seconds kept for what is to come."""
        left = self.left() - reserve
        if seconds <= left:
            return True
        self.drop(f"{what} (takes about {seconds:.0f} s, {max(0.0, left):.0f} s were left)")
        return False

    def drop(self, text: str) -> None:
        """Note something that is left out."""
        if text not in self.dropped:
            self.dropped.append(text)

    def share(self, part: float) -> Budget:
        """Return a budget of a part (0 to 1) of what is left."""
        return Budget(max(0.0, self.left()) * part, self._clock)
