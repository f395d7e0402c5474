"""Measures the modes of one device: settings first, then rounds in turn, then what tells where the time goes."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec.structs import replace

from gpudoctor.benchmark.budget import Budget
from gpudoctor.benchmark.measured import Measured
from gpudoctor.benchmark.options import Augment, Effort, Mode
from gpudoctor.benchmark.plan import GroupPlan, baseline_settings, optimized_start
from gpudoctor.benchmark.pool import STEP_SECONDS, Pool, Seat, halved
from gpudoctor.benchmark.process import Failure, WorkerError
from gpudoctor.benchmark.protocol import ComputeOnly, Fitted, Floor, InputOnly, Opened, Validated, Windowed, ask
from gpudoctor.benchmark.results import Tried
from gpudoctor.benchmark.telemetry import Telemetry
from gpudoctor.benchmark.tuning import Tuned, Tuner

TUNING_SHARE = 0.3
ENOUGH_STEPS = 80
ENOUGH_SECONDS = 10.0
SHORTEST_ROUND_SECONDS = 1.0
MOST_EPOCHS = 40
COMPUTE_STEPS = 8
FEWEST_COMPUTE_STEPS = 3
FLOOR_IMAGES = 128
INPUT_PASSES = 3
# Accuracy is no matter of speed: after so many updates, each mode has to know cats from dogs.
UPDATES = 93
MORE_UPDATES = 160
SMALL_IMAGE = 128
SMALLEST_IMAGE = 96
TRACE_SECONDS = 2.0

Say = Callable[[str], None]


class Group:
    """One run over the modes of a device."""

    def __init__(self, plan: GroupPlan, pool: Pool, budget: Budget, say: Say, telemetry: Telemetry | None) -> None:
        self._plan, self._pool, self._budget, self._say, self._telemetry = plan, pool, budget, say, telemetry
        self.measured: dict[Mode, Measured] = {}

    def run(self) -> None:
        """Measure; what goes wrong in a mode is kept in its place. KeyboardInterrupt passes through."""
        try:
            self._settle()
            self._each("first epoch", self._warm_up)
            self._rounds()
            self._diagnose()
        except BaseException:
            self._pool.close(at_once=True)
            raise
        self._pool.close()

    def _alive(self) -> list[Measured]:
        return [item for item in self.measured.values() if item.error is None]

    def _each(self, what: str, work: Callable[[Measured], None]) -> None:
        for item in self._alive():
            self._say(f"{item.mode.value}: {what}")
            self._guarded(item, work)

    def _guarded(self, item: Measured, work: Callable[[Measured], None]) -> None:
        """Do something for a mode; a worker that fails ends its mode, and no other."""
        try:
            work(item)
        except WorkerError as exc:
            self._pool.drop(item.mode)
            item.error = exc

    def _settle(self) -> None:
        """Choose the settings of each mode, and how many images a round has time for."""
        plan = self._plan
        tuned: Tuned | None = None
        if any(mode.is_optimized for mode in plan.modes):
            share = self._budget.share(TUNING_SHARE)
            tuned = Tuner(plan, self._pool, share, self._say).run()
            for text in share.dropped:
                self._budget.drop(text)
        images = self._images(tuned)
        for mode in plan.modes:
            settings = baseline_settings(plan)
            if mode.is_optimized:
                settings = tuned.settings if tuned else optimized_start(plan)
            item = Measured(mode=mode, settings=replace(settings, images=images))
            item.tried = list(tuned.tried) if tuned and mode.is_optimized else []
            self.measured[mode] = item

    def _images(self, tuned: Tuned | None) -> int:
        """Return how many images an epoch may have, so that first epoch and rounds take half of what is left."""
        available = self._plan.folders.images
        if tuned is None or not tuned.start_seconds_per_image or self._plan.options.effort is Effort.FULL:
            return available
        slow, fast = tuned.start_seconds_per_image, tuned.seconds_per_image or tuned.start_seconds_per_image
        one_round = sum(fast if mode.is_optimized else slow for mode in self._plan.modes)
        fits = int(self._budget.left() * 0.5 / (one_round * (1 + self._plan.options.rounds)))
        batch = tuned.settings.batch_size
        images = max(4 * batch, fits // batch * batch)
        if images >= available:
            return available
        self._budget.drop(f"{available - images} of {available} training images in each epoch")
        return images

    def _seat(self, item: Measured, *, fresh: bool = False) -> Seat:
        """Return a warm worker; out of memory halves the batch, in a fresh process."""
        while True:
            try:
                seat = self._pool.seat(item.mode, item.settings, fresh=fresh)
                break
            except WorkerError as exc:
                smaller = halved(item.settings)
                self._pool.drop(item.mode)
                if exc.failure not in (Failure.OUT_OF_MEMORY, Failure.KILLED) or smaller is None or item.rounds:
                    raise
                note = f"out of memory; halved to {smaller.batch_size}"
                item.tried.append(Tried(setting=f"batch_size={item.settings.batch_size}", kept=False, note=note))
                item.settings = smaller
        if seat.worker is not item.worker:
            item.worker, item.updates = seat.worker, seat.first.updates
        item.hello = seat.hello
        item.first = item.first or seat.first
        item.finite = item.finite and all(map(math.isfinite, seat.first.loss))
        item.saw(seat.first)
        return seat

    def _warm_up(self, item: Measured) -> None:
        self._seat(item)

    def _epochs(self, item: Measured) -> int:
        """Return how many epochs a round has: at least 80 steps or 10 s in all rounds, and one second in each."""
        options = self._plan.options
        if options.epochs is not None:
            return options.epochs
        if options.effort is Effort.QUICK:
            return 1
        steps = max(1, item.settings.images // item.settings.batch_size)
        epoch = max(1e-6, steps * item.step_seconds)
        enough = min(ENOUGH_STEPS / steps, ENOUGH_SECONDS / epoch) / options.rounds
        return min(MOST_EPOCHS, max(1, math.ceil(enough), math.ceil(SHORTEST_ROUND_SECONDS / epoch)))

    def _rounds(self) -> None:
        """Run the rounds as A B B A A B: what changes slowly then hits all modes alike."""
        for number in range(self._plan.options.rounds):
            order = self._alive() if number % 2 == 0 else self._alive()[::-1]
            if number and not self._time_for_round(number):
                return
            for item in order:
                self._say(f"{item.mode.value}: round {number + 1} of {self._plan.options.rounds}")
                self._guarded(item, self._round)

    def _time_for_round(self, number: int) -> bool:
        alive = self._alive()
        cost = sum(item.rounds[-1].seconds for item in alive if item.rounds)
        if self._plan.live == 1:
            cost += sum(item.first.seconds for item in alive if item.first) + len(alive) * TRACE_SECONDS
        left = self._plan.options.rounds - number
        return self._budget.allows(f"rounds after round {number}: {left}", cost, reserve=self._cost_apart())

    def _cost_apart(self) -> float:
        return sum((COMPUTE_STEPS + 12) * item.step_seconds + TRACE_SECONDS for item in self._alive())

    def _round(self, item: Measured) -> None:
        seat = self._seat(item, fresh=bool(item.rounds))
        if self._telemetry is not None:
            self._telemetry.begin(item.mode, seat.worker.pid)
        fitted = ask(seat.worker, Fitted, "fit", seconds=STEP_SECONDS, epochs=self._epochs(item))
        if self._telemetry is not None:
            self._telemetry.end(item.mode)
        item.finite = item.finite and all(map(math.isfinite, fitted.loss))
        item.saw(fitted)
        item.updates = fitted.updates
        item.rounds.append(fitted)

    def _apart(self, item: Measured) -> None:
        """Measure the input without the model, and the floor of decoding."""
        worker = self._seat(item).worker
        item.input_only = ask(worker, InputOnly, "input_only", seconds=STEP_SECONDS, passes=INPUT_PASSES)
        item.saw(item.input_only)
        if item.settings.all_jpeg:
            request = item.settings.request()
            item.floor = ask(worker, Floor, "decode_floor", seconds=STEP_SECONDS, settings=request, images=FLOOR_IMAGES)

    def _profile(self, item: Measured) -> None:
        what = f"{item.mode.value}: the profiler window"
        if self._budget.allows(what, self._cost_window(item), reserve=self._cost_apart()):
            worker = self._seat(item).worker
            item.window = ask(worker, Windowed, "window", seconds=STEP_SECONDS)
            item.updates = item.window.updates

    def _diagnose(self) -> None:
        """Look at the parts. Computation alone comes last: it trains on one batch, and so spoils the weights."""
        target = self._target()
        work: list[tuple[str, Callable[[Measured], None]]] = [
            ("input alone", self._apart),
            ("profiling", self._profile),
            *([("does it learn?", lambda item: self._learn(item, target))] if target else []),
            ("computation alone", self._compute),
        ]
        if self._plan.live > 1:
            for what, function in work:
                self._each(what, function)
            return
        for item in self._alive():  # all of a mode in one process: starting another one takes seconds
            for what, function in work:
                if item.error is None:
                    self._say(f"{item.mode.value}: {what}")
                    self._guarded(item, function)

    def _target(self) -> int:
        """Return the updates after which each mode is examined; 0 for no learning check."""
        plan, alive = self._plan, self._alive()
        if plan.verify_folders is None or plan.options.fake_accelerator_ms:
            return 0
        if plan.options.image_size < SMALLEST_IMAGE:
            self._budget.drop(f"the learning check (images below {SMALLEST_IMAGE} pixels show too little)")
            return 0
        easy = plan.options.image_size >= SMALL_IMAGE and plan.options.augment is not Augment.FULL
        target = UPDATES if easy else MORE_UPDATES
        if self._same_pictures():
            target = max([target, *(item.updates for item in alive)])
        cost = sum(max(0, target - item.updates) * item.step_seconds + TRACE_SECONDS for item in alive)
        reserve = self._cost_apart() + sum(map(self._cost_window, alive))
        if plan.verify_wanted or self._budget.allows("the learning check", cost, reserve=reserve):
            return target
        return 0

    def _same_pictures(self) -> bool:
        return self._plan.verify_folders == self._plan.folders

    def _learn(self, item: Measured, target: int) -> None:
        """Train on to the target, then look what was learned."""
        worker, folders = self._seat(item).worker, self._plan.verify_folders
        steps = max(1, item.settings.images // item.settings.batch_size)
        if folders is not None and not self._same_pictures():
            settings = replace(
                item.settings, train_folder=folders.train, validation_folder=folders.validation, images=folders.images
            )
            steps = ask(worker, Opened, "open", seconds=STEP_SECONDS, settings=settings.request()).steps
            item.updates = 0
        if item.updates < target:
            epochs = math.ceil((target - item.updates) / steps)
            fitted = ask(worker, Fitted, "fit", seconds=STEP_SECONDS, epochs=epochs)
            item.finite = item.finite and all(map(math.isfinite, fitted.loss))
        item.validated = ask(worker, Validated, "validate", seconds=STEP_SECONDS)
        item.saw(item.validated)

    def _cost_window(self, item: Measured) -> float:
        steps = max(1, item.settings.images // item.settings.batch_size)
        return steps * item.step_seconds + 1

    def _compute(self, item: Measured) -> None:
        worker = self._seat(item).worker
        # Tracing, warm-up and steps of twice the size take as long again.
        fits = int(self._budget.left() / max(1e-6, 3 * item.step_seconds))
        steps = min(COMPUTE_STEPS, max(FEWEST_COMPUTE_STEPS, fits))
        item.compute_only = ask(worker, ComputeOnly, "compute_only", seconds=STEP_SECONDS, steps=steps)
        item.saw(item.compute_only)
