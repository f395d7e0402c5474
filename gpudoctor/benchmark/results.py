"""What a benchmark found: the JSON of `gpudoctor bench`, schema 1. Rates are images a second, sizes bytes.

Schema history: 1, the first.
"""

from __future__ import annotations

import enum
from typing import Literal

import msgspec
from msgspec import Struct

SCHEMA = 1


class Status(enum.Enum):
    """How a mode ended."""

    OK = "ok"
    SKIPPED = "skipped"
    """It cannot run here."""
    FAILED = "failed"


class Verdict(enum.Enum):
    """What limits a mode."""

    INPUT_BOUND = "input-bound"
    COMPUTE_BOUND = "compute-bound"
    BALANCED = "balanced"
    """Neither input nor computation exceeds the other by a quarter."""
    LAUNCH_BOUND = "launch-bound"
    """A step costs hardly less than one with twice the images: the GPU waits for orders."""
    UNKNOWN = "unknown"


class Rate(Struct, frozen=True, kw_only=True):
    """Images a second, one value for each round, in the order of measuring."""

    median: float
    min: float
    max: float
    rounds: tuple[float, ...]


class Ceilings(Struct, frozen=True, kw_only=True):
    """Images a second of a part alone; null where it was not measured.

    decode_floor: decoding the JPEG files with all cores and doing nothing else.
    """

    input_only: float | None = None
    input_first_pass: float | None = None
    compute_only: float | None = None
    decode_floor: float | None = None


class Gain(Struct, frozen=True, kw_only=True):
    """How much faster a mode would be without one of its limits: 1.2 is a fifth faster. null: not known."""

    without_input: float | None = None
    without_compute: float | None = None


class Speedup(Struct, frozen=True, kw_only=True, rename={"gpu_baseline": "gpu-baseline"}):
    """Median rate over that of another mode; null where the other did not run, or where this mode does not learn."""

    cpu: float | None = None
    gpu_baseline: float | None = None


class GpuUse(Struct, frozen=True, kw_only=True):
    """What NVML told while the rounds ran: means and peaks; null where the GPU does not tell."""

    samples: int
    utilization: float | None = None
    memory_peak_bytes: int | None = None
    power_watts: float | None = None
    temperature_start_celsius: int | None = None
    temperature_peak_celsius: int | None = None
    clock_sm_mhz: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    other_processes: int | None = None


class Tried(Struct, frozen=True, kw_only=True):
    """One setting that was tried. gain: rate with it over rate without; null where it was not measured."""

    setting: str
    kept: bool
    gain: float | None = None
    note: str = ""


class Learns(Struct, frozen=True, kw_only=True):
    """Whether the mode learned what it was shown."""

    val_accuracy: float | None
    updates: int
    ok: bool


class Raw(Struct, frozen=True, kw_only=True):
    """Values as they were measured, in seconds."""

    step_seconds: tuple[float, ...] = ()
    epoch_seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    """Of each round."""
    loss: tuple[float, ...] = ()


class Advice(Struct, frozen=True, kw_only=True):
    """What a rule says about a mode."""

    rule: str
    severity: str
    message: str
    remedies: tuple[str, ...] = ()


class ModeResult(Struct, frozen=True, kw_only=True):
    """One mode. `reason` is a rule's id or a sentence, `detail` the sentence to a rule's id."""

    mode: str
    status: Status
    reason: str = ""
    detail: str = ""
    failure: str | None = None
    """Kind of a failure: timeout, signal, exit, bad-result, out-of-memory, killed, failed, not-started."""
    images_per_second: Rate | None = None
    cpu_ms_per_image: float | None = None
    seconds_per_25000_images: float | None = None
    first_step_seconds: float | None = None
    first_epoch_seconds: float | None = None
    data_wait: float | None = None
    """Share of a profiled window in which the training waited for data; null: not known."""
    time_shares: dict[str, float] = {}
    """Of the same window, time on all threads: python, decode, augment, read."""
    ceilings: Ceilings = Ceilings()
    verdict: Verdict = Verdict.UNKNOWN
    gain: Gain = Gain()
    speedup: Speedup = Speedup()
    gpu: GpuUse | None = None
    memory_peak_bytes: int | None = None
    """Of the process, on the host."""
    gpu_memory_peak_bytes: int | None = None
    """What TensorFlow itself took of the GPU; gpu.memory_peak_bytes is that of all programs."""
    settings: dict[str, str | int | float | bool] = {}
    environment: dict[str, str] = {}
    versions: dict[str, str] = {}
    tried: tuple[Tried, ...] = ()
    learns: Learns | None = None
    noisy: bool = False
    noise: str = ""
    advice: tuple[Advice, ...] = ()
    raw: Raw = Raw()
    log_tail: str = ""


class Machine(Struct, frozen=True, kw_only=True):
    """Where it ran; null where it could not be read."""

    os: str | None = None
    kernel: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    gpu: str | None = None
    gpu_uuid: str | None = None
    driver: str | None = None
    python: str | None = None
    tensorflow: str | None = None
    keras: str | None = None
    load_at_start: float | None = None


class Data(Struct, frozen=True, kw_only=True):
    """What was trained on. hash: of pixels or of names and sizes."""

    origin: str
    hash: str
    classes: tuple[str, ...]
    train_images: int
    validation_images: int
    bytes: int
    how: str = ""
    skipped: tuple[str, ...] = ()
    """Files that do not decode, with the reason."""


class Recommendation(Struct, frozen=True, kw_only=True):
    """The answer to the user's question: which mode to train with, and why."""

    mode: str | None = None
    text: str = ""


class BenchResult(Struct, frozen=True, kw_only=True):
    """A whole run."""

    schema: Literal[1] = 1
    tool: dict[str, str]
    started: str
    """UTC, ISO 8601."""
    machine: Machine
    data: Data | None
    workload_hash: str
    """Of the training code: results with different ones are not to be compared."""
    options: dict[str, str | int | float | bool | None]
    modes: tuple[ModeResult, ...]
    recommendation: Recommendation = Recommendation()
    dropped: tuple[str, ...] = ()
    """What was left out to keep the budget."""
    seconds: float = 0.0
    interrupted: bool = False


def encode(result: BenchResult) -> str:
    """Return a result as JSON."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1).decode() + "\n"


def decode(raw: bytes) -> BenchResult:
    """Return the result in a JSON text. Raises msgspec.DecodeError."""
    return msgspec.json.decode(raw, type=BenchResult)


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a result."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(BenchResult)}
