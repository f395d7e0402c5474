"""The worker: trains and measures what it is told to, one command after the other, in an interpreter of its own.

Started as `python -m <package>.train <descriptor>`. Commands come as JSON, one a line, on standard input:
{"id": 1, "do": "open", ...}. Each answer is one line of JSON on the descriptor: {"id": 1, "ok": true, ...} or
{"id": 1, "ok": false, "error": "out-of-memory" | "failed", "detail": ...}. Standard output and error are the log.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

if TYPE_CHECKING:
    from .measure import Training

PROTOCOL = 1
Numbers = Dict[str, object]
Fields = Dict[str, Any]  # JSON objects of the manager


class Worker:
    """Holds at most one open training, and the one that settings were last compared with."""

    def __init__(self) -> None:
        self.opened: Training | None = None
        self.compared: Dict[str, Training] = {}

    @property
    def training(self) -> Training:
        """The open training. Raises ValueError if there is none."""
        if self.opened is None:
            raise ValueError("nothing is open")
        return self.opened

    def hello(self) -> Numbers:
        """Import TensorFlow; tell versions and devices."""
        began = time.perf_counter()
        import tensorflow as tf

        seconds = time.perf_counter() - began
        import keras
        import numpy as np

        gpus = tf.config.list_physical_devices("GPU")
        # tf.keras is what trains: with TF_USE_LEGACY_KERAS that is not the package `keras`.
        keras_version = getattr(tf.keras, "__version__", None) or keras.__version__
        return {
            "protocol": PROTOCOL,
            "python": sys.version.split()[0],
            "tensorflow": tf.__version__,
            "keras": str(keras_version),
            "numpy": np.__version__,
            "gpus": [str(tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)) for gpu in gpus],
            "compute_capabilities": [
                ".".join(map(str, tf.config.experimental.get_device_details(gpu).get("compute_capability", ())))
                for gpu in gpus
            ],
            "import_seconds": seconds,
        }

    def open(self, settings: Fields) -> Numbers:
        """Build model and input; what was open before is dropped."""
        self.close()
        self.opened = _training(settings)
        return {"steps": self.training.steps, "weights": int(self.training.model.count_params())}

    def fit(self, epochs: int) -> Numbers:
        """Train through fit()."""
        return self.training.fit(epochs)

    def validate(self) -> Numbers:
        """Evaluate on the validation pictures."""
        return self.training.validate()

    def input_only(self, passes: int) -> Numbers:
        """Run the input without the model."""
        return self.training.input_only(passes)

    def compute_only(self, steps: int) -> Numbers:
        """Run the model on one batch, and on one of twice the size (does a step cost anything beyond its start?)."""
        import tensorflow as tf

        batch = self.training.one_batch()
        result = self.training.compute_only(batch, steps)
        double = (tf.concat([batch[0], batch[0]], 0), tf.concat([batch[1], batch[1]], 0))
        result["double_step_seconds"] = self.training.compute_only(double, max(2, steps // 3), 2)["step_seconds"]
        return result

    def window(self) -> Numbers:
        """Profile a few steps of an epoch."""
        from .window import Window

        window = Window()
        training = self.training
        training.fit(1, window)
        seen = {"seconds": window.seconds, "steps": window.steps, "problem": window.problem}
        return {"shares": window.shares(), "updates": training.updates, **seen}

    def decode_floor(self, settings: Fields, images: int) -> Numbers:
        """Decode some pictures, nothing else."""
        from .measure import decode_floor
        from .optimized import list_files

        paths = list_files(settings["train_folder"])[0]
        jpegs = [path for path in paths if path.lower().endswith((".jpg", ".jpeg"))]
        return decode_floor(jpegs[:: max(1, len(jpegs) // images)][:images], settings["image_size"])

    def compare(self, current: Fields, candidate: Fields, steps: int) -> Numbers:
        """Time steps of two settings, in turn (A B B A); both take the batch that their input gives."""
        known = {key: self.compared[key] for key in self.compared if key == json.dumps(current, sort_keys=True)}
        self.compared = {}
        trainings = []
        for fields in (current, candidate):
            key = json.dumps(fields, sort_keys=True)
            trainings.append(known.get(key) or _training(fields))
            self.compared[key] = trainings[-1]
        batches = [training.one_batch() for training in trainings]
        times: Tuple[List[float], List[float]] = ([], [])
        cpu = [0.0, 0.0]
        for warm_up, which in ((3, 0), (3, 1), (0, 1), (0, 0)):
            done = trainings[which].constant_fit(batches[which], steps, warm_up)
            times[which].extend(done[0])
            cpu[which] += done[1]
        sizes = [int(batch[1].shape[0]) for batch in batches]
        return {
            "current": {"step_seconds": times[0], "cpu_seconds": cpu[0], "batch_size": sizes[0]},
            "candidate": {"step_seconds": times[1], "cpu_seconds": cpu[1], "batch_size": sizes[1]},
        }

    def close(self) -> Numbers:
        """Forget the training."""
        if self.opened is not None or self.compared:
            import tensorflow as tf

            self.opened, self.compared = None, {}
            tf.keras.backend.clear_session()
            gc.collect()
        return {}


def _training(fields: Fields) -> Training:
    from . import baseline, model, optimized
    from .measure import Training
    from .settings import TF_DATA, Settings

    settings = Settings(**fields)
    classes = sum(entry.is_dir() for entry in os.scandir(settings.train_folder))
    source = optimized if settings.input == TF_DATA else baseline
    return Training(settings, model.build(settings, classes), source.training_data(settings), classes)


def memory() -> Numbers:
    """Return the peaks so far: of the process, and of the GPU as TensorFlow counts it (None without one)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    gpu = None
    if "tensorflow" in sys.modules:
        tf = sys.modules["tensorflow"]
        if tf.config.list_physical_devices("GPU"):
            try:
                gpu = int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
            except (ValueError, RuntimeError, tf.errors.OpError):
                gpu = None  # not every allocator counts
    return {"memory_peak_bytes": peak, "gpu_memory_peak_bytes": gpu}


def answer(worker: Worker, command: Fields) -> Numbers:
    """Do one command; what goes wrong is an answer too."""
    arguments = {key: value for key, value in command.items() if key not in ("id", "do")}
    try:
        result = getattr(worker, command["do"])(**arguments)
        return {"id": command["id"], "ok": True, "load": os.getloadavg()[0], **memory(), **result}
    except Exception as exc:  # noqa: BLE001 (the manager decides what to make of it)
        traceback.print_exc()
        lines = str(exc).strip().splitlines() or [""]
        kind = "out-of-memory" if is_out_of_memory(exc) else "failed"
        return {"id": command["id"], "ok": False, "error": kind, "detail": f"{type(exc).__name__}: {lines[0]}"}


def is_out_of_memory(exc: BaseException) -> bool:
    """Whether an exception tells that memory ran out, of the GPU or of the host."""
    if isinstance(exc, MemoryError) or type(exc).__name__ == "ResourceExhaustedError":
        return True
    return any(words in str(exc) for words in ("CUDA_ERROR_OUT_OF_MEMORY", "RESOURCE_EXHAUSTED"))


def main() -> None:
    """Answer commands until standard input ends."""
    descriptor = int(sys.argv[1])
    worker = Worker()
    for line in sys.stdin:
        data = (json.dumps(answer(worker, json.loads(line))) + "\n").encode("ascii")
        while data:
            data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # TensorFlow's own way out can take seconds, and can crash after all is said
