"""A text that lists no GPU although the driver is well, and gives no reason."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Api, Facts, FactUnavailable, Known, Unknown
from gpudoctor.rules.driver._install import os_of
from gpudoctor.rules.driver._state import outcome
from gpudoctor.rules.gpu._code import RUNS, gpu_code
from gpudoctor.rules.libraries._stack import cuda_of, runtime_of

# Events that give no reason for a GPU that is not listed.
NO_REASON = ("listed-device", "onednn-notice", "cpu-features-notice", "absl-before-start", "nvcc-release",
             "library-file", "nvml-library-version", "numa-node", "factory-registered-twice", "tensorrt-not-loaded",
             "computation-placer-twice", "kernel-without-numa", "cpu-frequency", "xla-service",
             "colab-no-gpu")  # fmt: skip


def nothing_else_explains(facts: Facts) -> bool:
    """Whether TensorFlow lists no GPU, and driver, GPU, wheel and environment are all seen to be well.

    Then what remains is what TensorFlow loads: it does so without a word where its messages are turned off.
    """
    if not isinstance(facts.tensorflow.run, Unknown):
        return False  # it was started, here or in the text: what came of that tells more
    if _import_stops(facts):
        return True
    listed = facts.tensorflow.devices.get()
    if listed is None or any(device.kind == "GPU" for device in listed):
        return False
    if not isinstance(facts.tensorflow.built_with_cuda, Known) or isinstance(facts.host.container, Known):
        return False
    told = [event.message for event in facts.tensorflow.events.get() or () if event.message not in NO_REASON]
    well = _driver_is_well(facts) or _another_runtime(facts)
    return not told and well and _gpus_are_served(facts) and not _settled(facts)


# Up to here TensorFlow on Windows does not import where the CUDA runtime that it names is not found.
LAST_THAT_STOPS = "2.0.99"


def _import_stops(facts: Facts) -> bool:
    """Whether an import is said to fail on Windows with another CUDA runtime than TensorFlow for the GPU names."""
    version = facts.tensorflow.version.get()
    if facts.host.os.get() != "windows" or version is None or facts.tensorflow.cuda_build.get() is not True:
        return False
    names = {event.message for event in facts.tensorflow.events.get() or ()}
    if "import-said" not in names or names - {"import-said", "preload-check"}:
        return False
    try:
        return compat.version(version) <= compat.version(LAST_THAT_STOPS) and _another_runtime(facts)
    except FactUnavailable:
        return False


def _another_runtime(facts: Facts) -> bool:
    """Whether a text tells nothing of the driver, and the runtime of another CUDA than the one that is opened."""
    driver = facts.driver
    if isinstance(driver.version, Known) or outcome(driver.nvml.get()) or outcome(driver.cuda_init.get()):
        return False
    there = {item.soname for item in facts.libraries.told.get() or () if item.name == "cudart"}
    return bool(there) and runtime_of(facts).soname not in there


def _driver_is_well(facts: Facts) -> bool:
    driver = facts.driver
    failed = (outcome(driver.nvml.get()), outcome(driver.cuda_init.get()))
    if Api.ERROR in failed or Api.NO_LIBRARY in failed:
        return False
    if not isinstance(driver.version, Known):
        return failed[1] is Api.OK  # another program uses the GPU
    try:
        need = compat.min_driver_for_cuda(cuda_of(facts), os_of(facts))
        return compat.version(driver.version.value) >= compat.version(need.minimum)
    except FactUnavailable:
        return False


def _gpus_are_served(facts: Facts) -> bool:
    """Whether the wheel has code for each GPU that the text names."""
    try:
        return all(gpu_code(facts, gpu).code in RUNS for gpu in facts.gpus)
    except FactUnavailable:
        return True


def _settled(facts: Facts) -> bool:
    """Whether the environment hides the GPUs, or holds the libraries."""
    if "CUDA_VISIBLE_DEVICES" in (facts.python.environment.get() or {}):
        return True
    if any(item.name in ("tensorflow", "cudatoolkit") for item in facts.python.conda_packages.get() or ()):
        return True
    return any(item.name.startswith("nvidia-cudnn-cu") for item in facts.python.packages.get() or ())
