"""The environment of a worker: a few variables of the user's, and those that decide how TensorFlow runs."""

from __future__ import annotations

from collections.abc import Mapping

# What a program needs to start and to find CUDA. All else (OMP_NUM_THREADS, XLA_FLAGS, TF_*) would make one machine's
# numbers incomparable with the next one's.
ALLOWED = (
    *("PATH", "HOME", "TMPDIR", "TEMP", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "VIRTUAL_ENV", "CONDA_PREFIX"),
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_CACHE_PATH", "NVIDIA_VISIBLE_DEVICES"),
    # Which Keras it is decides what is measured.
    *("TF_USE_LEGACY_KERAS",),
)
INTER_OP_THREADS = 2


def worker_environment(environ: Mapping[str, str], *, cores: int, gpu_uuid: str | None) -> dict[str, str]:
    """Return a worker's environment. gpu_uuid: the one GPU that it may see; None hides all.

    These have to be set before the process starts: TensorFlow refuses to change threads and devices later.
    """
    kept = {name: environ[name] for name in ALLOWED if name in environ}
    return {**kept, **own_settings(cores=cores, gpu_uuid=gpu_uuid)}


def own_settings(*, cores: int, gpu_uuid: str | None) -> dict[str, str]:
    """Return the variables that the benchmark itself sets; they are stored with the result."""
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # else CUDA counts the fastest first, and NVML does not
        "CUDA_VISIBLE_DEVICES": gpu_uuid or "-1",
        "KERAS_BACKEND": "tensorflow",
        "OMP_NUM_THREADS": str(cores),  # TensorFlow heeds it, too
        "PYTHONUNBUFFERED": "1",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "TF_NUM_INTEROP_THREADS": str(INTER_OP_THREADS),
        "TF_NUM_INTRAOP_THREADS": str(cores),
    }


def ignored(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the user's variables that change TensorFlow's speed and that the benchmark does not pass on."""
    prefixes = ("TF_", "XLA_", "OMP_", "KMP_", "MKL_", "CUDA_", "KERAS_")
    return tuple(sorted(name for name in environ if name.startswith(prefixes) and name not in ALLOWED))
