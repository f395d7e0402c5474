"""A worker without TensorFlow: answers like a machine that a test describes, and misbehaves where it says so.

Started as `python fake_worker.py SCRIPT FD`. SCRIPT is JSON:
- compute_ms, input_ms, decode_ms, cached_ms: for one image, of the model, of ImageDataGenerator, of tf.data without and
  with a cache; launch_ms: what a step costs whatever its size
- memory_batch: a larger batch is out of memory; gpus: what TensorFlow would list; accuracy: after enough updates
- half: factor on compute_ms in a 16-bit precision
- faults: [{"do": command, "as": hang | exit | crash | kill | garbage | list | empty | wrong-id | orphan | fail,
  "when": number of that command in this process, "input": only for this kind of input}]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

SCRIPT = json.loads(sys.argv[1])
FD = int(sys.argv[2])
PEAKS = {"memory_peak_bytes": 1 << 30, "load": 0.5}


class Model:
    """What is open, and the times that it would take."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.updates = 0
        self.steps = max(1, settings["images"] // settings["batch_size"])

    def step(self, batch: int) -> float:
        """Seconds of a step of compute."""
        factor = SCRIPT.get("half", 1.0) if self.settings["precision"] != "float32" else 1.0
        factor *= SCRIPT.get("xla", 1.0) if self.settings["jit_compile"] else 1.0
        return float(SCRIPT.get("launch_ms", 0.0) + batch * SCRIPT["compute_ms"] * factor) / 1000

    def input(self) -> float:
        """Seconds of an image's input."""
        if self.settings["input"] != "tf.data":
            return float(SCRIPT["input_ms"]) / 1000
        return float(SCRIPT["cached_ms" if self.settings["cache"] != "none" else "decode_ms"]) / 1000

    def fit(self, epochs: int) -> dict[str, Any]:
        batch = self.settings["batch_size"]
        step = max(self.step(batch), self.input() * batch)
        self.updates += epochs * self.steps
        images = epochs * self.steps * batch
        return {
            "images": images,
            "seconds": step * self.steps * epochs,
            "cpu_seconds": images * (self.input() + self.step(1)),
            "epoch_seconds": [step * self.steps] * epochs,
            "step_seconds": [step] * ((self.steps - 1) * epochs),
            "loss": [SCRIPT.get("loss", 0.5)] * epochs,
            "updates": self.updates,
        }


def answer(model: Model | None, command: dict[str, Any]) -> tuple[Model | None, dict[str, Any]]:
    do = command["do"]
    if do == "hello":
        versions = {"python": "3.9.9", "tensorflow": "2.20.0", "keras": "3.9.0", "numpy": "2.0.0"}
        return model, {"protocol": SCRIPT.get("protocol", 1), **versions, "gpus": SCRIPT.get("gpus", [])}
    if do == "open":
        model = Model(command["settings"])
        return model, {"steps": model.steps, "weights": 1}
    if do == "compare":
        sides = {}
        for name in ("current", "candidate"):
            side = Model(command[name])
            batch = side.settings["batch_size"]
            check_memory(batch)
            sides[name] = {"step_seconds": [side.step(batch)] * 3, "cpu_seconds": 1.0, "batch_size": batch}
        return model, sides
    if do == "close":
        return None, {}
    if do == "decode_floor":
        return model, {"images": 128, "cpu_seconds": 0.064, "cpu_seconds_with_resize": 0.07}
    assert model is not None
    batch = model.settings["batch_size"]
    check_memory(batch)
    if do == "fit":
        return model, model.fit(command["epochs"])
    if do == "validate":
        return model, {"val_accuracy": SCRIPT.get("accuracy", 0.97), "val_loss": 0.1, "updates": model.updates}
    if do == "input_only":
        one = {"images": 640, "seconds": 640 * model.input(), "cpu_seconds": 640 * model.input()}
        first = {**one, "seconds": 640 * SCRIPT.get("decode_ms", 1.0) / 1000}
        return model, {"passes": ([first] if model.settings["cache"] != "none" else []) + [one] * command["passes"]}
    if do == "window":
        return model, {"shares": SCRIPT.get("shares", {"wait": None}), "seconds": 1.0, "steps": 20, "problem": "",
                       "updates": model.updates}  # fmt: skip
    steps = command["steps"]
    return model, {
        "images": steps * batch,
        "step_seconds": [model.step(batch)] * steps,
        "double_step_seconds": [model.step(2 * batch)] * 2,
        "cpu_seconds": steps * batch * SCRIPT["compute_ms"] / 1000,
    }


class OutOfMemoryError(Exception):
    """The batch is too large."""


def check_memory(batch: int) -> None:
    if batch > SCRIPT.get("memory_batch", 1 << 30):
        raise OutOfMemoryError


def send(text: str) -> None:
    os.write(FD, text.encode())


def misbehave(kind: str, number: int) -> None:
    print("E0000 something to be found in the log", flush=True)
    if kind == "hang":
        time.sleep(600)
    if kind == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(FD,))
        os._exit(4)
    if kind == "exit":
        os._exit(3)
    if kind in ("crash", "kill"):
        os.kill(os.getpid(), signal.SIGSEGV if kind == "crash" else signal.SIGKILL)
    failed = {"id": number, "ok": False, "error": "failed", "detail": "ValueError: no"}
    replies = {
        "garbage": "\x00\xff nothing\n",
        "list": "[1]\n",
        "wrong-id": '{"id": 999, "ok": true}\n',
        "empty": json.dumps({"id": number, "ok": True}) + "\n",
        "fail": json.dumps(failed) + "\n",
    }
    send(replies[kind])


def main() -> None:
    model: Model | None = None
    counts: dict[str, int] = {}
    for line in sys.stdin:
        command = json.loads(line)
        do = command["do"]
        counts[do] = counts.get(do, 0) + 1
        kind = (command.get("settings") or (model.settings if model else {})).get("input", "")
        fault = next((item for item in SCRIPT.get("faults", []) if item["do"] == do
                      and item.get("when", 1) == counts[do] and item.get("input", kind) == kind), None)  # fmt: skip
        if fault is not None:
            misbehave(fault["as"], command["id"])
            continue
        try:
            model, result = answer(model, command)
            reply = {"id": command["id"], "ok": True, **PEAKS, **result}
        except OutOfMemoryError:
            reply = {"id": command["id"], "ok": False, "error": "out-of-memory", "detail": "ResourceExhaustedError: x"}
        send(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
