"""Tries one setting after the other for a few steps, and keeps what wins on this machine.

The worker that tries is another one than those that are measured: its values enter no statistics.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark.budget import Budget
from gpudoctor.benchmark.options import Precision
from gpudoctor.benchmark.plan import GroupPlan, TrainingSettings, optimized_start, precision_candidates
from gpudoctor.benchmark.pool import STEP_SECONDS, Pool
from gpudoctor.benchmark.process import Failure, Worker, WorkerError
from gpudoctor.benchmark.protocol import Answer, Compared, InputOnly, Opened, Side, ask
from gpudoctor.benchmark.results import Tried

# A gain below this is within what two runs of the same differ by.
WIN = 1.05
STEPS = 3
FAST_STEPS = 20
FAST_STEP_SECONDS = 0.02
# An execution of several steps saves Python's part of a step, some 0.3 ms.
LONG_STEP_SECONDS = 0.005
STEPS_PER_EXECUTION = 8
LARGEST_BATCH = 1024
CACHE_TRIAL_IMAGES = 256
FIRST_GUESS_SECONDS = 8.0


class Tuned(Struct, frozen=True, kw_only=True):
    """The settings that won, all that were tried, and how long a step of the first settings took (None: not known)."""

    settings: TrainingSettings
    tried: tuple[Tried, ...]
    start_seconds_per_image: float | None = None
    seconds_per_image: float | None = None


class Tuner:
    """Finds the settings of an optimised mode."""

    def __init__(self, plan: GroupPlan, pool: Pool, budget: Budget, say: Callable[[str], None]) -> None:
        self._plan, self._pool, self._budget, self._say = plan, pool, budget, say
        self._worker: Worker | None = None
        self._longest = FIRST_GUESS_SECONDS
        self._tried: list[Tried] = []
        self._current = optimized_start(plan)
        self._step_seconds: float | None = None
        self._first: float | None = None

    def run(self) -> Tuned:
        """Try everything that time allows. Raises WorkerError only where no worker can be started."""
        self._note_what_was_asked_for()
        try:
            self._try_cache()
            for name, change in self._candidates():
                self._try(name, change)
            self._try_batches()
            self._try_steps_per_execution()
        finally:
            self._pool.close_bare()
            self._worker = None
        size = self._current.batch_size
        return Tuned(
            settings=self._current,
            tried=tuple(self._tried),
            start_seconds_per_image=self._first,
            seconds_per_image=self._step_seconds and self._step_seconds / size,
        )

    def _note_what_was_asked_for(self) -> None:
        options = self._plan.options
        if options.precision is not Precision.AUTO:
            self._add(f"precision={options.precision.value}", True, None, "asked for")
        if options.batch_size is not None:
            self._add(f"batch_size={options.batch_size}", True, None, "asked for")

    def _candidates(self) -> Iterator[tuple[str, TrainingSettings]]:
        if self._plan.options.precision is Precision.AUTO:
            for precision in precision_candidates(self._plan.device):
                yield f"precision={precision}", replace(self._current, precision=precision)
            if not precision_candidates(self._plan.device):
                self._add("precision", False, None, f"{self._plan.device.name} has no fast 16-bit arithmetic")
        if self._plan.device.needs_gpu:
            yield "jit_compile=True", replace(self._current, jit_compile=True)
        else:
            self._add("jit_compile=True", False, None, "not tried on a CPU, where XLA is known to lose")

    def _try_batches(self) -> None:
        if self._plan.options.batch_size is not None:
            return
        while self._current.batch_size * 2 <= min(LARGEST_BATCH, max(1, self._current.images // 4)):
            size = self._current.batch_size * 2
            if not self._try(f"batch_size={size}", replace(self._current, batch_size=size)):
                return

    def _try_steps_per_execution(self) -> None:
        name = f"steps_per_execution={STEPS_PER_EXECUTION}"
        if self._step_seconds is None:
            return
        if self._step_seconds > LONG_STEP_SECONDS:
            note = f"not tried: it saves well below 1 ms of a step of {self._step_seconds * 1000:.0f} ms"
            self._add(name, False, None, note)
            return
        self._try(name, replace(self._current, steps_per_execution=STEPS_PER_EXECUTION))

    def _try_cache(self) -> None:
        """Compare a pass over decoded pictures with a pass that decodes."""
        name = f"cache={self._current.cache}"
        sample = replace(self._current, images=min(CACHE_TRIAL_IMAGES, self._current.images))
        self._say(f"trying {name}")
        try:
            worker = self._ready()
            ask(worker, Opened, "open", seconds=STEP_SECONDS, settings=sample.request())
            ask(worker, InputOnly, "input_only", seconds=STEP_SECONDS, passes=1)
            passes = ask(worker, InputOnly, "input_only", seconds=STEP_SECONDS, passes=2).passes
            ask(worker, Answer, "close", seconds=STEP_SECONDS)
        except WorkerError as exc:
            self._lost(name, exc)
            return
        rates = [item.images / item.seconds for item in passes]
        gain = max(rates[1:]) / rates[0]
        kept = gain >= WIN
        self._add(name, kept, gain, "of the input alone")
        if not kept:
            self._current = replace(self._current, cache="none", cache_folder="")

    def _try(self, name: str, candidate: TrainingSettings) -> bool:
        """Compare a candidate with the current settings; make it current if it wins."""
        if not self._budget.allows(f"trying {name}", self._longest):
            self._add(name, False, None, "not tried, to keep the time budget")
            return False
        self._say(f"trying {name}")
        before = self._budget.left()
        try:
            found = self._compare(candidate)
        except WorkerError as exc:
            self._lost(name, exc)
            return False
        finally:
            self._longest = max(1.0, before - self._budget.left())
        gain = _best(found.current) / _best(found.candidate)
        old, new = _usual(found.current), _usual(found.candidate)
        self._first = self._first or old
        kept = gain >= WIN
        self._add(name, kept, gain)
        best, size = (new, found.candidate.batch_size) if kept else (old, found.current.batch_size)
        self._step_seconds = best * size
        if kept:
            self._current = candidate
        return kept

    def _compare(self, candidate: TrainingSettings) -> Compared:
        fast = self._step_seconds is not None and self._step_seconds < FAST_STEP_SECONDS
        return ask(
            self._ready(),
            Compared,
            "compare",
            seconds=STEP_SECONDS,
            # The cache plays no part in a comparison that trains on one batch.
            current=replace(self._current, cache="none").request(),
            candidate=replace(candidate, cache="none").request(),
            steps=FAST_STEPS if fast else STEPS,
        )

    def _ready(self) -> Worker:
        if self._worker is None:
            self._worker, _ = self._pool.start()
        return self._worker

    def _lost(self, name: str, exc: WorkerError) -> None:
        """Note a candidate that failed. After that the process is not to be trusted: the next one gets a new one."""
        note = "out of memory" if exc.failure in (Failure.OUT_OF_MEMORY, Failure.KILLED) else f"failed: {exc}"
        self._add(name, False, None, note)
        self._pool.close_bare()
        self._worker = None

    def _add(self, setting: str, kept: bool, gain: float | None, note: str = "") -> None:
        self._tried.append(Tried(setting=setting, kept=kept, gain=gain, note=note))


def _best(side: Side) -> float:
    """Return the shortest step, for each image, to compare by: other programs can only make a step longer."""
    return min(side.step_seconds) / side.batch_size


def _usual(side: Side) -> float:
    """Return the median step, for each image, to plan with: other programs go on."""
    return statistics.median(side.step_seconds) / side.batch_size
