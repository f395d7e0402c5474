"""Numbers and sentences of the benchmark's report."""

from __future__ import annotations

from gpudoctor.benchmark.results import BenchResult, ModeResult, Rate, Tried, Verdict

MISSING = "-"
_MINUTE = 60.0
_TENTHS_BELOW = 10.0
_SENTENCES = {
    Verdict.INPUT_BOUND: "waits for images",
    Verdict.COMPUTE_BOUND: "computing is the limit",
    Verdict.BALANCED: "input and computing take about as long as each other",
    Verdict.LAUNCH_BOUND: "steps are so short that starting them is the limit",
}


def duration(seconds: float | None) -> str:
    """Return a time as a person says it: 0.85 s, 12 s, 3 min 05 s."""
    if seconds is None:
        return MISSING
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def gibibytes(size: int | None) -> str:
    """Return a size in GiB."""
    return MISSING if size is None else f"{size / 2**30:.2f} GiB"


def percent(share: float | None) -> str:
    """Return a share of 0 to 1 in percent; what is not known is not 0."""
    return MISSING if share is None else f"{share:.0%}"


def rate_range(rate: Rate) -> str:
    """Return the lowest and highest rate; nothing for a single round."""
    return f"{rate.min:,.0f}-{rate.max:,.0f}" if len(rate.rounds) > 1 else "1 round"


def machine_line(result: BenchResult) -> str:
    """Return the machine in one sentence."""
    machine = result.machine
    memory = machine.memory_bytes and f"{machine.memory_bytes / 2**30:.0f} GiB"
    parts = [
        machine.cpu,
        machine.cores and f"{machine.cores} cores",
        memory,
        machine.gpu or "no GPU measured",
        machine.driver and f"driver {machine.driver}",
        machine.tensorflow and f"TensorFlow {machine.tensorflow}",
        machine.keras and f"Keras {machine.keras}",
        machine.python and f"Python {machine.python}",
    ]
    return ", ".join(str(part) for part in parts if part)


def limits(one: ModeResult) -> str:
    """Return what limits a mode, and what it would gain."""
    text = _SENTENCES.get(one.verdict, "")
    gains = []
    if one.gain.without_input:
        gains.append(f"with free input {one.gain.without_input:.2f} x as fast")
    if one.gain.without_compute:
        gains.append(f"with free computing {one.gain.without_compute:.1f} x")
    return f"{text}; {', '.join(gains)}" if gains else text


def settings_line(one: ModeResult) -> str:
    """Return the settings of a mode in a few words."""
    settings, together = one.settings, one.settings.get("steps_per_execution")
    parts = [
        settings.get("input"),
        f"batch {settings.get('batch_size')}",
        settings.get("precision"),
        "XLA" if settings.get("jit_compile") else "no XLA",
        "no cache" if settings.get("cache") == "none" else f"cache in {settings.get('cache')}",
        f"{together} steps per execution" if together not in (None, 1) else "",
    ]
    return ", ".join(str(part) for part in parts if part)


def tried_line(tried: Tried) -> tuple[str, str, str, str]:
    """Return setting, what it brought, whether it was kept, and the note."""
    gain = f"{tried.gain:.2f} x" if tried.gain is not None else MISSING
    return tried.setting, gain, "kept" if tried.kept else "dropped", tried.note
