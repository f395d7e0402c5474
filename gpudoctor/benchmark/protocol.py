"""What a worker answers, typed. Times in seconds; see bench/workloads/train.py for the other side."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from gpudoctor.benchmark.process import Failure, Worker, WorkerError

PROTOCOL = 1


class Answer(Struct, frozen=True, kw_only=True):
    """What every answer holds."""

    memory_peak_bytes: int
    gpu_memory_peak_bytes: int | None = None
    load: float = 0.0


class Hello(Answer, frozen=True, kw_only=True):
    """A worker with TensorFlow imported."""

    protocol: int
    python: str
    tensorflow: str
    keras: str
    numpy: str
    gpus: tuple[str, ...]
    compute_capabilities: tuple[str, ...] = ()
    import_seconds: float = 0.0


class Opened(Answer, frozen=True, kw_only=True):
    """A training is ready."""

    steps: int
    """In an epoch."""
    weights: int


class Fitted(Answer, frozen=True, kw_only=True):
    """Whole epochs of fit()."""

    images: int
    seconds: float
    cpu_seconds: float
    epoch_seconds: tuple[float, ...]
    step_seconds: tuple[float, ...]
    loss: tuple[float, ...]
    updates: int


class Validated(Answer, frozen=True, kw_only=True):
    """The model on the validation images."""

    val_accuracy: float | None
    val_loss: float
    updates: int


class Pass(Struct, frozen=True, kw_only=True):
    """Once over the data, without the model."""

    images: int
    seconds: float
    cpu_seconds: float


class InputOnly(Answer, frozen=True, kw_only=True):
    """The input alone."""

    passes: tuple[Pass, ...]


class ComputeOnly(Answer, frozen=True, kw_only=True):
    """The model alone, on one batch and on one of twice the size."""

    images: int
    step_seconds: tuple[float, ...]
    double_step_seconds: tuple[float, ...]
    cpu_seconds: float


class Windowed(Answer, frozen=True, kw_only=True):
    """A profiled window. shares: "wait" is None where no event told it."""

    shares: dict[str, float | None]
    seconds: float
    steps: int
    problem: str
    updates: int


class Floor(Answer, frozen=True, kw_only=True):
    """Decoding alone, on one core."""

    images: int
    cpu_seconds: float
    cpu_seconds_with_resize: float


class Side(Struct, frozen=True, kw_only=True):
    """One of two settings that were compared."""

    step_seconds: tuple[float, ...]
    cpu_seconds: float
    batch_size: int


class Compared(Answer, frozen=True, kw_only=True):
    """Steps of two settings in turn."""

    current: Side
    candidate: Side


T = TypeVar("T", bound=Answer)


def ask(worker: Worker, kind: type[T], do: str, *, seconds: float, **arguments: object) -> T:
    """Send a command and return the typed answer. seconds: until it is given up. Raises WorkerError."""
    raw = worker.ask(do, seconds=seconds, **arguments)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as exc:
        raise WorkerError(Failure.BAD_RESULT, f"the worker's answer to {do!r} is not understood: {exc}") from exc
