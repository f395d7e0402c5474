"""Start TensorFlow and let it compute; tell how far it came, so that a crash or a hang shows where it happened.

Started as `python -X faulthandler - FD REQUEST` in the interpreter that is asked about; Python 3.6, TensorFlow 1.15 and
newer. Writes JSON objects, one a line, to descriptor FD as soon as each is known. Their shallow merge is the result:
  stage: "importing", "listing devices", "computing on GPU:0", "done"
  imported: {version, seconds, file, keras: {module, version} or null}
  built: {is_cuda_build, info}
  devices: [{name, kind, description, compute_capability}], names as in "GPU:0"
  computations: [{device, operation, correct, detail, seconds}], grown by one at a time
  error: {type, text} where a stage raised; the trace is in the log.
"""

import sys

sys.path[:] = [p for p in sys.path if p]

import importlib
import json
import os
import time
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

TEXT_CHARACTERS = 500
# cuDNN may convolve by transforms that round, and TF32 keeps 10 bits: a right answer is off by far less than this.
TOLERANCE = 0.01

MATRIX = 8
IMAGE, KERNEL, IN_CHANNELS, OUT_CHANNELS = 6, 3, 2, 3
OPERATIONS = ("matmul", "conv2d", "elementwise")


def emit(told: "dict[str, object]") -> "None":
    """Write one line to the parent, now."""
    payload = json.dumps(told).encode("ascii") + b"\n"
    while payload:
        payload = payload[os.write(int(sys.argv[1]), payload) :]


def trace() -> "None":
    """Print the exception at hand to the log, if there still is one: a broken package may have closed it."""
    try:
        traceback.print_exc()
    except Exception:  # noqa: BLE001 (nothing is lost but the trace)
        return


def first_line(text: "object") -> "str":
    """Return the first line that says something, cut to a bearable length and fit for JSON."""
    for line in str(text).splitlines():
        if line.strip():
            return line.strip()[:TEXT_CHARACTERS].encode("utf-8", "backslashreplace").decode("utf-8")
    return ""


def integers(count: "int", factor: "int") -> "list[float]":
    """Return small whole numbers without symmetry: exact in TF32, and a swapped axis changes the result."""
    return [float((i * factor + i // 5) % 7 - 3) for i in range(count)]


def expected(operation: "str") -> "list[float]":
    """Compute in plain Python what compute() has to give, in row-major order."""
    if operation == "matmul":
        a, b, n = integers(MATRIX * MATRIX, 3), integers(MATRIX * MATRIX, 5), MATRIX
        return [sum(a[r * n + k] * b[k * n + c] for k in range(n)) for r in range(n) for c in range(n)]
    image = integers(IMAGE * IMAGE * IN_CHANNELS, 3)
    if operation == "elementwise":
        return [max(v, 0.0) + 1.0 for v in image]
    kernel = integers(KERNEL * KERNEL * IN_CHANNELS * OUT_CHANNELS, 5)
    size = IMAGE - KERNEL + 1
    window = [(i, j, c) for i in range(KERNEL) for j in range(KERNEL) for c in range(IN_CHANNELS)]
    return [
        sum(
            image[((y + i) * IMAGE + x + j) * IN_CHANNELS + c]
            * kernel[((i * KERNEL + j) * IN_CHANNELS + c) * OUT_CHANNELS + o]
            for i, j, c in window
        )
        for y in range(size)
        for x in range(size)
        for o in range(OUT_CHANNELS)
    ]


def compute(tf: "Any", operation: "str") -> "Any":
    """Run one operation on the device in force and return its tensor."""
    if operation == "matmul":
        shape = (MATRIX, MATRIX)
        return tf.matmul(
            tf.constant(integers(MATRIX * MATRIX, 3), shape=shape),
            tf.constant(integers(MATRIX * MATRIX, 5), shape=shape),
        )
    pixels = integers(IMAGE * IMAGE * IN_CHANNELS, 3)
    image = tf.constant(pixels, shape=(1, IMAGE, IMAGE, IN_CHANNELS))
    if operation == "elementwise":
        return tf.nn.relu(image) + 1.0
    weights = integers(KERNEL * KERNEL * IN_CHANNELS * OUT_CHANNELS, 5)
    kernel = tf.constant(weights, shape=(KERNEL, KERNEL, IN_CHANNELS, OUT_CHANNELS))
    return tf.nn.conv2d(image, kernel, strides=[1, 1, 1, 1], padding="VALID")


def compare(got: "Sequence[float]", want: "Sequence[float]") -> "tuple[bool, str]":
    """Compare numbers; NaN and a wrong count are wrong."""
    if len(got) != len(want):
        return False, "{} numbers instead of {}".format(len(got), len(want))
    scale = max(abs(v) for v in want)
    off = [abs(g - w) for g, w in zip(got, want)]  # noqa: B905 (`strict` is not in Python 3.6)
    if all(o <= TOLERANCE * scale for o in off):
        return True, ""
    worst = max(off) if all(o == o for o in off) else float("nan")  # noqa: PLR0124 (true for all but NaN)
    return False, "wrong by {:g} where the largest right number is {:g}".format(worst, scale)


def computation(tf: "Any", device: "str", operation: "str") -> "dict[str, object]":
    """Run one operation on one device; `correct` is None if it raised."""
    started = time.perf_counter()
    correct = None  # type: bool | None
    try:
        with tf.device("/" + device):
            tensor = compute(tf, operation)
        correct, detail = compare([float(v) for v in tensor.numpy().ravel()], expected(operation))
        if not str(tensor.device).endswith(device):
            correct, detail = None, "ran on " + first_line(tensor.device)
    except Exception as exc:  # noqa: BLE001 (what fails here is the answer)
        trace()
        detail = type(exc).__name__ + ": " + first_line(exc)
    seconds = round(time.perf_counter() - started, 4)
    return {"device": device, "operation": operation, "correct": correct, "detail": detail, "seconds": seconds}


def import_tensorflow() -> "Any":
    """Import it and tell what came. Raises what the import raises."""
    started = time.perf_counter()
    tf = importlib.import_module("tensorflow")
    seconds = round(time.perf_counter() - started, 3)
    keras = next((m for m in ("tf_keras", "keras") if hasattr(sys.modules.get(m), "__version__")), None)
    told = {
        "version": str(getattr(tf, "__version__", "")),
        "seconds": seconds,
        "file": first_line(getattr(tf, "__file__", None) or ""),
        # Only what the import brought along: loading Keras ourselves would cost a second.
        "keras": {"module": keras, "version": str(sys.modules[keras].__version__)} if keras else None,
    }
    emit({"imported": told})
    return tf


def build(tf: "Any") -> "dict[str, object]":
    """Tell TensorFlow's own account of how it was built."""
    ask = getattr(tf.sysconfig, "get_build_info", None)  # from 2.3 on
    info = dict(ask()) if ask else {}
    return {"is_cuda_build": bool(tf.test.is_built_with_cuda()), "info": {str(k): str(v) for k, v in info.items()}}


def list_devices(tf: "Any") -> "list[dict[str, object]]":
    """List physical devices, GPUs with what the driver tells of them; none of them is initialised by this."""
    config = getattr(tf, "config", None)
    ask = getattr(config, "list_physical_devices", None) or config.experimental.list_physical_devices  # type: ignore[union-attr]
    details = getattr(getattr(config, "experimental", None), "get_device_details", None)  # from 2.3 on
    devices = []
    for device in ask():
        told = {"name": device.name.split("physical_device:")[-1], "kind": device.device_type}
        if device.device_type == "GPU" and details:
            try:
                more = details(device)
                capability = more.get("compute_capability")
                told["description"] = str(more.get("device_name", ""))
                told["compute_capability"] = ".".join(str(n) for n in capability) if capability else None
            except Exception as exc:  # noqa: BLE001 (the list counts, not the details)
                told["description"] = first_line(exc)
        devices.append(told)
    return devices


def probe() -> "None":
    """Go through the stages. Raises what TensorFlow raises."""
    emit({"stage": "importing"})
    tf = import_tensorflow()
    if str(getattr(tf, "__version__", "")).startswith("1."):
        tf.compat.v1.enable_eager_execution()
    emit({"stage": "listing devices", "built": build(tf)})
    devices = list_devices(tf)
    emit({"devices": devices})
    done = []
    for device in sorted(devices, key=lambda d: d["kind"] != "GPU"):
        if device["kind"] not in ("GPU", "CPU"):
            continue
        for operation in OPERATIONS:
            emit({"stage": "computing on {}".format(device["name"])})
            done.append(computation(tf, str(device["name"]), operation))
            emit({"computations": done})
    emit({"stage": "done"})


def main() -> "None":
    """Probe; whatever is raised becomes the result."""
    os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # do not take the memory that others use
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # the log is evidence: all of it
    os.environ.pop("TF_CPP_MAX_VLOG_LEVEL", None)
    os.set_inheritable(int(sys.argv[1]), False)
    try:
        probe()
    except BaseException as exc:  # noqa: BLE001 (SystemExit at import has been seen)
        trace()
        emit({"error": {"type": type(exc).__name__, "text": first_line(exc)}})
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(0)  # TensorFlow's own end takes time and can hang in the driver; all is told


main()
