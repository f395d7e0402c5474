"""A few steps under TensorFlow's profiler: which share of them is waiting for data, and what the time goes into."""

from __future__ import annotations

import glob
import importlib
import os
import shutil
import tempfile
import time
from typing import Any, Dict, Optional

import tensorflow as tf

FIRST_STEP = 4
STEPS = 20
# TensorFlow 2.10 has it under core, 2.21 under tsl; 2.15 and 2.16 under both.
_PROTOBUFS = ("tensorflow.tsl.profiler.protobuf.xplane_pb2", "tensorflow.core.profiler.protobuf.xplane_pb2")
# Names of events on the host, by what they tell. The wait is counted apart.
_KINDS = {
    "python": ("PyFunc", "EagerPyFunc"),
    "decode": ("DecodeJpeg", "DecodeImage"),
    "augment": ("ImageProjectiveTransformV3", "ReverseV2"),
    "read": ("ReadFile",),
}


class Window(tf.keras.callbacks.Callback):
    """Profiles the steps from FIRST_STEP on, STEPS at most; `share` is None where nothing could be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.folder: Optional[str] = None
        self.seconds = 0.0
        self.steps = 0
        self.problem = ""
        self._began = 0.0
        self._first = 0
        self._last = 0
        self._done = False

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        self._last = batch
        if self.folder is None and not self._done and batch >= FIRST_STEP:
            self._start(batch)
        elif self.folder is not None and not self._done and batch >= self._first + STEPS:
            self._stop(batch)

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        if self.folder is not None and not self._done:
            self._stop(self._last + 1)

    def _start(self, batch: int) -> None:
        self.folder, self._first = tempfile.mkdtemp(prefix="gpudoctor-window-"), batch
        # Level 1 sees no IteratorGetNext in TensorFlow 2.15, and would tell a wait of 0.
        options = tf.profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0, device_tracer_level=0
        )
        try:
            tf.profiler.experimental.start(self.folder, options=options)
        except (tf.errors.AlreadyExistsError, tf.errors.UnavailableError) as exc:
            self.problem, self._done = str(exc).splitlines()[0], True
        self._began = time.perf_counter()

    def _stop(self, batch: int) -> None:
        self.seconds, self._done = time.perf_counter() - self._began, True
        self.steps = batch - self._first
        try:
            tf.profiler.experimental.stop()
        except (tf.errors.UnavailableError, tf.errors.InternalError) as exc:
            self.problem = str(exc).splitlines()[0]

    def shares(self) -> Dict[str, Optional[float]]:
        """Return wait and kinds as shares of the window; None for a wait of which no event was seen."""
        if self.folder is None or self.problem or not self.seconds:
            return {"wait": None}
        try:
            return self._read(self.folder)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, folder: str) -> Dict[str, Optional[float]]:
        totals: Dict[str, float] = {}
        for path in glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True):
            space = _space()
            with open(path, "rb") as file:
                space.ParseFromString(file.read())
            for plane in space.planes:
                names = {key: _kind(item.name) for key, item in plane.event_metadata.items()}
                for line in plane.lines:
                    for event in line.events:
                        kind = names.get(event.metadata_id, "")
                        if kind:
                            totals[kind] = totals.get(kind, 0.0) + event.duration_ps / 1e12
        shares: Dict[str, Optional[float]] = {"wait": None}
        shares.update({kind: total / self.seconds for kind, total in totals.items()})
        if shares["wait"] is not None:
            shares["wait"] = min(1.0, shares["wait"])
        return shares


def _space() -> Any:
    for name in _PROTOBUFS:
        try:
            return importlib.import_module(name).XSpace()
        except ImportError:
            continue
    raise ImportError("this TensorFlow has no protocol buffer for profiles")


def _kind(name: str) -> str:
    if name.startswith("IteratorGetNext") and "::DoCompute" in name:
        return "wait"
    for kind, operations in _KINDS.items():
        # An operation is traced as Name, or as Name:Operation.
        if any(part in operations for part in name.split("#", 1)[0].replace("/", ":").split(":")):
            return kind
    return ""
