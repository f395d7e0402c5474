"""A whole benchmark: reads the machine, makes the images, measures the modes, says what follows."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.benchmark import machine, workload
from gpudoctor.benchmark.advice import with_advice
from gpudoctor.benchmark.assemble import mode_result, with_speedups
from gpudoctor.benchmark.budget import Budget
from gpudoctor.benchmark.data_model import OnProgress
from gpudoctor.benchmark.environment import worker_environment
from gpudoctor.benchmark.group import Group
from gpudoctor.benchmark.lock import DeviceBusyError, DeviceLock
from gpudoctor.benchmark.machine import Skip
from gpudoctor.benchmark.options import BenchOptions, Effort, Mode
from gpudoctor.benchmark.pictures import Pictures, prepare
from gpudoctor.benchmark.plan import Device, GroupPlan
from gpudoctor.benchmark.pool import Pool, StartWorker
from gpudoctor.benchmark.process import Failure, Worker, WorkerError, log_says
from gpudoctor.benchmark.recommend import recommend
from gpudoctor.benchmark.results import BenchResult, Data, ModeResult, Status
from gpudoctor.benchmark.telemetry import Telemetry
from gpudoctor.facts.collect import collect
from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Facts
from gpudoctor.facts.probes.target import choose_target
from gpudoctor.facts.scratch import scratch_folder
from gpudoctor.findings import Expect

FULL_BUDGET_SECONDS = 24 * 3600.0
FOLDER = "gpudoctor-bench-"
Save = Callable[[BenchResult], None]


class BenchError(Exception):
    """The benchmark cannot start; the text is a sentence for the user."""


class Hooks(Struct, frozen=True, kw_only=True):
    """How a run speaks: say what is done now, how far the images are, and save what is known so far."""

    say: Callable[[str], None] = lambda _: None
    progress: OnProgress | None = None
    save: Save = lambda _: None
    start_worker: Callable[[Path, Mapping[str, str], str], Worker] | None = None
    """For tests: from a log file, environment and interpreter to a worker."""


class Run:
    """One run; result() is valid at any time."""

    def __init__(self, options: BenchOptions, host: Host, hooks: Hooks, lock_folder: Path) -> None:
        self._options, self._host, self._hooks, self._locks = options, host, hooks, lock_folder
        self._began = time.monotonic()
        self._started = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
        seconds = FULL_BUDGET_SECONDS if options.effort is Effort.FULL else options.budget_seconds
        self._budget = Budget(seconds)
        self._modes: dict[Mode, ModeResult] = {}
        self._facts = Facts()
        self._python = ""
        self._data: Data | None = None
        self._gpu: Device | None = None
        self._load: float | None = None
        self._interrupted = False

    def run(self) -> BenchResult:
        """Measure all modes. Raises BenchError, DataError, UnknownGpuError; Ctrl-C ends with what is done."""
        with contextlib.suppress(KeyboardInterrupt):
            self._interrupted = True  # until all is done
            self._measure()
            self._interrupted = False
        result = self.result()
        self._hooks.save(result)
        return result

    def _measure(self) -> None:
        self._load = machine.load()
        target = choose_target(self._host, self._options.python)
        if target.problem:
            raise BenchError(target.problem)
        self._python = target.path
        self._hooks.say("reading the machine")
        self._facts = collect(self._host, python=self._options.python, start_tensorflow=False).facts
        devices = dict(self._devices())
        if not devices:
            return
        with scratch_folder(FOLDER) as links:
            modes = tuple(mode for group in devices for mode in group)  # a mode that is skipped needs no images
            runnable = replace(self._options, modes=modes)
            pictures = prepare(self._host, self._python, runnable, links, self._hooks.progress)
            self._data = pictures.data
            for number, (modes, device) in enumerate(devices.items()):
                share = self._budget.share(1 / (len(devices) - number))
                with scratch_folder(FOLDER) as folder:
                    self._group(modes, device, pictures, share, folder)
                for text in share.dropped:
                    self._budget.drop(text)
                self._hooks.save(self.result())

    def _devices(self) -> Iterator[tuple[tuple[Mode, ...], Device]]:
        """Yield the modes that can run, by device; the others are noted as skipped."""
        wanted = self._options.modes
        on_cpu = tuple(mode for mode in wanted if not mode.on_gpu)
        on_gpu = tuple(mode for mode in wanted if mode.on_gpu)
        if on_cpu:
            reason = machine.why_not(self._facts, Expect.CPU)
            device = replace(machine.cpu_device(self._facts), separate=bool(self._options.fake_accelerator_ms))
            if reason is None:
                yield on_cpu, device
            else:
                self._skip(on_cpu, reason)
        if on_gpu:
            found: Device | Skip = Device(name="CPU in place of a GPU")
            if not self._options.stand_in_gpu:
                found = machine.gpu_device(self._facts, self._options.gpu)
            if isinstance(found, Skip):
                self._skip(on_gpu, found)
            else:
                self._gpu = found
                yield on_gpu, found

    def _skip(self, modes: tuple[Mode, ...], skip: Skip) -> None:
        for mode in modes:
            self._modes[mode] = ModeResult(
                mode=mode.value, status=Status.SKIPPED, reason=skip.reason, detail=skip.detail
            )

    def _group(self, modes: tuple[Mode, ...], device: Device, pictures: Pictures, budget: Budget, folder: Path) -> None:
        plan = self._plan(modes, device, pictures, folder)
        starter = self._starter(folder, plan.cores)
        telemetry = Telemetry(device.gpu_uuid, self._host.environ) if device.gpu_uuid else None
        group = Group(plan, Pool(starter, folder, device, plan.live), budget, self._hooks.say, telemetry)
        try:
            with self._lock(device):
                group.run()
        except DeviceBusyError as exc:
            self._skip(modes, Skip(reason=str(exc)))
            return
        except WorkerError as exc:  # not even the worker that tries settings could be started
            self._fail(modes, exc)
            return
        finally:
            for mode, item in group.measured.items():
                item.gpu = telemetry.use(mode) if telemetry else None
                self._modes[mode] = mode_result(item, plan)
            if telemetry:
                telemetry.close()

    def _lock(self, device: Device) -> contextlib.AbstractContextManager[object]:
        return DeviceLock(self._locks, device.gpu_uuid) if device.gpu_uuid else contextlib.nullcontext()

    def _fail(self, modes: tuple[Mode, ...], exc: WorkerError) -> None:
        for mode in modes:
            self._modes[mode] = ModeResult(
                mode=mode.value,
                status=Status.FAILED,
                reason=str(exc),
                failure=exc.failure.value,
                detail=log_says(exc, on_gpu=mode.on_gpu),
                log_tail=exc.log,
            )

    def _plan(self, modes: tuple[Mode, ...], device: Device, pictures: Pictures, folder: Path) -> GroupPlan:
        free = machine.free_memory(self._host, self._facts)
        # A living TensorFlow holds GPU memory, so there each round has the GPU for itself.
        side_by_side = not any(mode.on_gpu for mode in modes) and free >= machine.MEMORY_FOR_TWO_BYTES
        return GroupPlan(
            modes=modes,
            device=device,
            folders=pictures.folders,
            options=self._options,
            live=2 if side_by_side else 1,
            cores=machine.cores(self._facts),
            free_memory_bytes=free,
            cache_folder=folder,
            load=self._load,
            verify_folders=pictures.verify,
            verify_wanted=bool(self._options.verify),
        )

    def _starter(self, folder: Path, cores: int) -> StartWorker:
        hook = self._hooks.start_worker
        try:
            arguments = workload.unpack(folder)
        except OSError as exc:
            raise WorkerError(Failure.NOT_STARTED, f"the training code cannot be written: {exc}") from exc

        def start(log: Path, gpu_uuid: str | None) -> Worker:
            environ = worker_environment(self._host.environ, cores=cores, gpu_uuid=gpu_uuid)
            environ["TMPDIR"] = str(folder)  # what TensorFlow writes there, it leaves there when it is killed
            if hook is not None:
                return hook(log, environ, self._python)
            return Worker([self._python, "-u", *arguments], folder=folder, log=log, environ=environ)

        return start

    def result(self) -> BenchResult:
        """Return what is known so far."""
        reason = "interrupted" if self._interrupted else "not measured"
        empty = {mode: ModeResult(mode=mode.value, status=Status.SKIPPED, reason=reason) for mode in Mode}
        ordered = tuple(self._modes.get(mode, empty[mode]) for mode in Mode if mode in self._options.modes)
        modes = with_advice(with_speedups(ordered), self._facts)
        return BenchResult(
            tool={"name": "gpudoctor", "version": __version__},
            started=self._started,
            machine=replace(machine.machine(self._facts, self._gpu), load_at_start=self._load),
            data=self._data,
            workload_hash=workload.workload_hash(),
            options=_shown(self._options),
            modes=modes,
            recommendation=recommend(modes),
            dropped=tuple(self._budget.dropped),
            seconds=time.monotonic() - self._began,
            interrupted=self._interrupted,
        )


def _shown(options: BenchOptions) -> dict[str, str | int | float | bool | None]:
    """Return the options without paths of this machine and hooks of the tests."""
    built = msgspec.to_builtins(options)
    hidden = ("python", "data", "modes", "fake_accelerator_ms", "stand_in_gpu")
    return {name: value for name, value in built.items() if name not in hidden}
