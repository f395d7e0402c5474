"""What limits a training, and what it would gain without that limit: from the whole, and its two parts alone.

With a device of its own, input and computation run side by side: the slower one decides. On a CPU they share the
cores: their CPU times add up.
"""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.benchmark.results import Gain, Verdict

# Below this the larger part is not clearly larger: at 14.4 ms against 14.3 ms a whole took 19.4 ms.
CLEARLY = 1.25
# A step of twice the images that takes less than this factor longer costs little but its start.
LAUNCH = 1.3


class Parts(Struct, frozen=True, kw_only=True):
    """Seconds for one image; None where it was not measured.

    On a device of its own these are wall times, on a CPU CPU times. doubling: time of a step with twice the images over
    that of a step.
    """

    input: float | None
    compute: float | None
    doubling: float | None = None
    separate_device: bool


def verdict(parts: Parts) -> Verdict:
    """Return what limits the training."""
    if not parts.input or not parts.compute:
        return Verdict.UNKNOWN
    if parts.input > CLEARLY * parts.compute:
        return Verdict.INPUT_BOUND
    if parts.compute > CLEARLY * parts.input:
        if parts.separate_device and parts.doubling is not None and parts.doubling < LAUNCH:
            return Verdict.LAUNCH_BOUND
        return Verdict.COMPUTE_BOUND
    return Verdict.BALANCED


def gain(parts: Parts) -> Gain:
    """Return how many times faster the training would be if one part cost nothing."""
    if not parts.input or not parts.compute:
        return Gain()
    whole = max(parts.input, parts.compute) if parts.separate_device else parts.input + parts.compute
    return Gain(without_input=whole / parts.compute, without_compute=whole / parts.input)
