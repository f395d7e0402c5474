"""Workers by mode: two that live and wait for each other, or a fresh one each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.plan import Device, TrainingSettings
from gpudoctor.benchmark.process import Failure, Worker, WorkerError
from gpudoctor.benchmark.protocol import PROTOCOL, Fitted, Hello, Opened, ask

START_SECONDS = 180.0
# Far beyond what an epoch may take: a training that needs longer hangs.
STEP_SECONDS = 900.0
SMALLEST_BATCH = 4

StartWorker = Callable[[Path, str | None], Worker]
"""From a log file and a GPU's UUID (None: no GPU) to a worker. Raises WorkerError."""


class Seat(Struct, frozen=True, kw_only=True):
    """A worker with an open training that has run its first epoch."""

    worker: Worker
    hello: Hello
    settings: TrainingSettings
    opened: Opened
    first: Fitted


class Pool:
    """Starts, keeps and closes workers for the modes of one device."""

    def __init__(self, start: StartWorker, folder: Path, device: Device, live: int) -> None:
        self._start = start
        self._folder = folder
        self._device = device
        self._live = live
        self._seats: dict[Mode, Seat] = {}
        self._bare: list[Worker] = []
        self._count = 0

    def start(self) -> tuple[Worker, Hello]:
        """Start a worker and greet it. Raises WorkerError."""
        self._count += 1
        log = self._folder / f"worker-{self._device.gpu_uuid or 'cpu'}-{self._count}.log"
        worker = self._start(log, self._device.gpu_uuid)
        self._bare.append(worker)
        hello = ask(worker, Hello, "hello", seconds=START_SECONDS)
        if hello.protocol != PROTOCOL:
            raise WorkerError(Failure.BAD_RESULT, f"the worker speaks protocol {hello.protocol}, not {PROTOCOL}")
        if self._device.needs_gpu and not hello.gpus:
            raise worker.error(Failure.FAILED, "TensorFlow lists no GPU; `gpudoctor check` tells why")
        return worker, hello

    def close_bare(self) -> None:
        """Close workers that no mode owns."""
        for worker in self._bare:
            worker.close()
        self._bare = []

    def seat(self, mode: Mode, settings: TrainingSettings, *, fresh: bool = False) -> Seat:
        """Return a worker that is warm. fresh: a new process unless several may live. Raises WorkerError."""
        found = self._seats.get(mode)
        if found is not None and not (fresh and self._live == 1):
            return found
        if self._live == 1:
            self.close()
        worker, hello = self.start()
        opened = ask(worker, Opened, "open", seconds=STEP_SECONDS, settings=settings.request())
        first = ask(worker, Fitted, "fit", seconds=STEP_SECONDS, epochs=1)
        seat = Seat(worker=worker, hello=hello, settings=settings, opened=opened, first=first)
        self._bare.remove(worker)
        self._seats[mode] = seat
        return seat

    def drop(self, mode: Mode) -> None:
        """Close the worker of a mode, and any that failed while starting."""
        seat = self._seats.pop(mode, None)
        if seat is not None:
            seat.worker.close(at_once=True)
        for worker in self._bare:
            worker.close(at_once=True)
        self._bare = []

    def close(self, *, at_once: bool = False) -> None:
        """Close all workers."""
        workers = [seat.worker for seat in self._seats.values()] + self._bare
        self._seats, self._bare = {}, []
        for worker in workers:
            worker.close(at_once=at_once)


def halved(settings: TrainingSettings) -> TrainingSettings | None:
    """Return the settings with half the batch; None where that makes no sense any more."""
    size = settings.batch_size // 2
    return replace(settings, batch_size=size) if size >= SMALLEST_BATCH else None
