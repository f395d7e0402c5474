"""Numbers about numbers: medians, spreads, and whether a measurement deserves trust."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gpudoctor.benchmark.results import Rate

NOISY_SPREAD = 0.15
FEWEST_FOR_SPREAD = 3


def rate(values: Sequence[float]) -> Rate:
    """Return median and range of images a second; values must not be empty."""
    return Rate(
        median=statistics.median(values), min=min(values), max=max(values), rounds=tuple(float(item) for item in values)
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share (0 to 1) of the values lies, interpolated; values must not be empty."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: Sequence[float]) -> float | None:
    """Return (p90 - p10) / median; None for fewer than three values."""
    if len(values) < FEWEST_FOR_SPREAD:
        return None
    return (percentile(values, 0.9) - percentile(values, 0.1)) / statistics.median(values)


def noise(epochs: Sequence[float], steps: Sequence[float], load: float | None, cores: int) -> str:
    """Return why a measurement is noisy, as a sentence; empty if it is not.

    epochs, steps: times; epochs tell what the headline rests on, steps only where there are too few of them: with a
    GPU single steps are issued ahead and say little. load: of the machine before anything was measured.
    """
    reasons = []
    found = spread(epochs)
    what = "epochs"
    if found is None:
        found, what = spread(steps), "steps"
    if found is not None and found > NOISY_SPREAD:
        reasons.append(f"times of {what} spread by {found:.0%} of their median")
    if load is not None and load > cores:
        reasons.append(f"the load was {load:.1f} on {cores} cores before anything was measured")
    return " and ".join(reasons)
