"""How the numbers are taken: fit() as users run it, and apart from it the input alone, the model alone, one window."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List

import numpy as np
import tensorflow as tf

from . import baseline, optimized
from .settings import TF_DATA, Settings

Numbers = Dict[str, object]


class StepTimer(tf.keras.callbacks.Callback):
    """Notes when each step and each epoch begins.

    It has no on_train_batch_end: that would make Keras 3 call back synchronously, and slow what is measured.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[list[float]] = []
        self.epochs: list[tuple[float, float]] = []
        self.cpu: list[float] = []
        self._began = 0.0

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        self.steps.append([])
        self._began = time.perf_counter()

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        self.steps[-1].append(time.perf_counter())
        self.cpu.append(time.process_time())

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        # Keras has read the loss by now: the device is done.
        self.epochs.append((self._began, time.perf_counter()))


class Training:
    """A model with its data, ready to be trained and measured."""

    def __init__(self, settings: Settings, model: tf.keras.Model, data: Any, classes: int) -> None:
        self.settings, self.model, self.data, self.classes = settings, model, data, classes
        self.updates = 0

    @property
    def steps(self) -> int:
        """Whole batches in one epoch; at least one."""
        if self.settings.input == TF_DATA:
            return max(1, int(self.data.cardinality()))
        images = min(self.settings.images or self.data.samples, self.data.samples)
        return max(1, images // self.settings.batch_size)

    def fit(self, epochs: int, *callbacks: tf.keras.callbacks.Callback) -> Numbers:
        """Train whole epochs through fit(); return times in seconds, and how they went."""
        # A repeated data set goes on from epoch to epoch; else each epoch would set it up anew, which takes 0.1 s.
        repeats = self.settings.input == TF_DATA
        data, steps = (self.data.repeat(), self.steps) if repeats else (self.data, self._limit())
        timer, began = StepTimer(), time.process_time()
        history = self.model.fit(
            data, epochs=epochs, steps_per_epoch=steps, verbose=0, callbacks=[timer, *callbacks]
        ).history
        cpu = time.process_time() - began
        self.updates += epochs * self.steps
        return {
            "images": epochs * self.steps * self.settings.batch_size,
            "seconds": timer.epochs[-1][1] - timer.epochs[0][0],
            "cpu_seconds": cpu,
            "epoch_seconds": [end - begin for begin, end in timer.epochs],
            # The last step of an epoch has no successor that tells when it ended.
            "step_seconds": [b - a for epoch in timer.steps for a, b in zip(epoch, epoch[1:])],
            "loss": [float(value) for value in history["loss"]],
            "updates": self.updates,
        }

    def _limit(self) -> int | None:
        """Return how many steps a generator's epoch has, None for all: its last batch may be a smaller one."""
        return None if self.steps * self.settings.batch_size == self.data.samples else self.steps

    def validate(self) -> Numbers:
        """Return accuracy and loss on the validation pictures."""
        source = optimized if self.settings.input == TF_DATA else baseline
        found = self.model.evaluate(source.validation_data(self.settings), verbose=0, return_dict=True)
        accuracy = next((float(value) for key, value in found.items() if "acc" in key), None)
        return {"val_accuracy": accuracy, "val_loss": float(found["loss"]), "updates": self.updates}

    def input_only(self, passes: int) -> Numbers:
        """Return the times of passes over the data without the model; with a cache, the first one still decodes."""
        if self.settings.input != TF_DATA:
            return {"passes": [self._generator_pass() for _ in range(passes)]}
        results = []
        if self.settings.cache != "none":
            results.append(_pass(optimized.training_data(replace(self.settings, cache="none"))))
        return {"passes": results + [_pass(self.data) for _ in range(passes)]}

    def _generator_pass(self) -> Numbers:
        """Run a generator as fit() runs it, through Keras' queue and threads, with a model that only takes the batch.

        The first steps are fed from a queue that was filled before, so only the later part is timed.
        """
        sink = Sink()
        sink.compile(optimizer="sgd", loss="mse", jit_compile=False)
        timer = StepTimer()
        sink.fit(self.data, epochs=1, steps_per_epoch=self._limit(), verbose=0, callbacks=[timer])
        times, cpu = [*timer.steps[0], timer.epochs[0][1]], [*timer.cpu, time.process_time()]
        skip = min(8, (len(times) - 1) // 2)
        images = (len(times) - 1 - skip) * self.settings.batch_size
        return {"images": images, "seconds": times[-1] - times[skip], "cpu_seconds": cpu[-1] - cpu[skip]}

    def one_batch(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return one batch of the data, on the device."""
        images, labels = next(iter(self.data)) if self.settings.input == TF_DATA else self.data[0]
        return tf.constant(images), tf.constant(labels)

    def compute_only(self, batch: tuple[tf.Tensor, tf.Tensor], steps: int, warm_up: int = 3) -> Numbers:
        """Return the times of single steps on one batch that stays on the device. It changes the weights."""
        step = self.step_function()
        for _ in range(warm_up):
            read(step(batch))
        times: List[float] = []
        cpu = time.process_time()
        for _ in range(steps):
            began = time.perf_counter()
            read(step(batch))
            times.append(time.perf_counter() - began)
        return {"step_seconds": times, "cpu_seconds": time.process_time() - cpu, "images": steps * len(batch[1])}

    def constant_fit(self, batch: tuple[tf.Tensor, tf.Tensor], steps: int, warm_up: int) -> tuple[list[float], float]:
        """Return times of steps of fit() on one batch again and again, and their CPU time, in seconds.

        Where an execution takes several steps, the times are its means.

        Other than compute_only it goes through Keras, and so sees what an execution of several steps saves.
        """
        data = tf.data.Dataset.from_tensors(batch).repeat()
        together = self.settings.steps_per_execution
        if warm_up:
            self.model.fit(data.take(warm_up * together), epochs=1, verbose=0)
        timer, cpu = StepTimer(), time.process_time()
        self.model.fit(data.take((steps + 1) * together), epochs=1, verbose=0, callbacks=[timer])
        cpu = time.process_time() - cpu
        starts = timer.steps[0] + [timer.epochs[0][1]]
        seconds = [(b - a) / together for a, b in zip(starts[1:], starts[2:])]
        return seconds, cpu / (steps + 1) * steps / together

    def step_function(self) -> Callable[[object], Dict[str, tf.Tensor]]:
        """Return train_step compiled as fit() compiles it."""
        # A compiled step may not create variables. TensorFlow 2.10's optimizers lack build(); there fit() came first.
        if not getattr(self.model.optimizer, "built", True):
            self.model.optimizer.build(self.model.trainable_variables)
        return tf.function(self.model.train_step, jit_compile=True if self.settings.jit_compile else None)


def _pass(data: tf.data.Dataset) -> Numbers:
    batches = iter(data)  # set up once for many epochs, see fit()
    images, cpu, began = 0, time.process_time(), time.perf_counter()
    for batch, _ in batches:
        images += int(batch.shape[0])
    return {"images": images, "seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


class Sink(tf.keras.Model):
    """Takes batches and does nothing: what is left of fit() is the input."""

    def __init__(self) -> None:
        super().__init__()
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs

    def train_step(self, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"loss": tf.cast(data[0][0, 0, 0, 0], tf.float32)}


def read(logs: dict[str, tf.Tensor]) -> float:
    """Fetch the loss, so that the step has ended when this returns."""
    return float(logs["loss"])


def decode_floor(files: List[str], size: int) -> Numbers:
    """Return the CPU time of decoding alone, one picture at a time: what no pipeline that decodes can beat."""
    raws = [tf.io.read_file(file) for file in files]
    options = {"channels": 3, "dct_method": "INTEGER_ACCURATE"}
    tf.io.decode_jpeg(raws[0], **options)
    cpu = time.process_time()
    for raw in raws:
        tf.io.decode_jpeg(raw, **options)
    decoded = time.process_time() - cpu
    cpu = time.process_time()
    for raw in raws:
        tf.image.resize(tf.io.decode_jpeg(raw, **options), (size, size), method="nearest")
    return {"images": len(raws), "cpu_seconds": decoded, "cpu_seconds_with_resize": time.process_time() - cpu}


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def loss_is_finite(losses: List[float]) -> bool:
    """Whether no loss is infinite or not a number."""
    return bool(np.all(np.isfinite(losses)))
