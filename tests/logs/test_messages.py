"""The message table: each row recognises what is really printed, and nothing printed is taken for something else."""

from __future__ import annotations

import inspect
import re

import pytest
from packaging.specifiers import SpecifierSet

from gpudoctor.logs import sentences
from gpudoctor.logs.formats import said
from gpudoctor.logs.messages import MESSAGES, Message
from gpudoctor.logs.reader import read_text
from gpudoctor.logs.rows.blocks import BLOCKS
from gpudoctor.logs.rows.said import SENTENCES
from gpudoctor.logs.seen import Seen
from gpudoctor.logs.text import TextReader

RTX = {"gpu_name": "NVIDIA GeForce RTX 3080 Ti", "pci_address": "0000:01:00.0", "compute_capability": "8.6"}
GTX = {"gpu_name": "GeForce GTX 660M", "pci_address": "0000:01:00.0", "compute_capability": "3.0"}

# Lines as TensorFlow 1.13 to 2.21, CUDA, cuDNN, the loader, NumPy and protobuf print them.
LINES: list[tuple[str, str, dict[str, str]]] = [
    (
        "2024-01-01 10:00:00.1: I external/local_xla/xla/gpu_device.cc:1639] Created device "
        "/job:localhost/replica:0/task:0/device:GPU:0 with 9558 MB memory:  -> device: 0, "
        "name: NVIDIA GeForce RTX 3080 Ti, pci bus id: 0000:01:00.0, compute capability: 8.6",
        "created-device",
        {"index": "0", "memory_mb": "9558", **RTX},
    ),
    (
        "gpu_device.cc:1304] Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:1"
        " with 1371 MB memory) -> physical GPU (device: 1, "
        "name: GeForce MX130, pci bus id: 0000:02:00.0, compute capability: 5.0)",
        "created-device",
        {
            "index": "1",
            "memory_mb": "1371",
            "gpu_name": "GeForce MX130",
            "pci_address": "0000:02:00.0",
            "compute_capability": "5.0",
        },
    ),
    ("Created device /job:localhost/replica:0/task:0/device:GPU:0", "created-device", {"index": "0"}),
    ("cuda_dnn.cc:529] Loaded cuDNN version 90300", "loaded-cudnn", {"version": "90300"}),
    (
        "dso_loader.cc:49] Successfully opened dynamic library libcudart.so.11.0",
        "opened-library",
        {"library": "libcudart.so.11.0"},
    ),
    (
        "Ignoring visible gpu device (device: 0, name: GeForce GTX 660M, pci bus id: 0000:01:00.0"
        ", compute capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda capability is 3.5.",
        "ignoring-gpu-capability",
        {"index": "0", "minimum": "3.5", **GTX},
    ),
    (
        "Ignoring visible gpu device (device: 1, name: Quadro 600, pci bus id: 0000:02:00.0) with core count: 5. "
        "The minimum required count is 8. You can adjust this requirement with the env var.",
        "ignoring-gpu-multiprocessors",
        {"index": "1", "count": "5", "minimum": "8"},
    ),
    (
        "cuda_driver.cc:263] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "cuinit-failed",
        {"error": "CUDA_ERROR_NO_DEVICE"},
    ),
    (
        "cuda_driver.cc:351] failed call to cuInit: UNKNOWN ERROR (303)",
        "cuinit-failed",
        {"error": "UNKNOWN ERROR (303)"},
    ),
    (
        "E0000 00:00:1796056226.789063    5870 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: "
        "Failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver",
        "cuinit-failed",
        {"error": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    ),
    (
        "kernel version 367.57.0 does not match DSO version 375.66.0 -- cannot find working devices",
        "kernel-library-mismatch",
        {"kernel": "367.57.0", "library": "375.66.0"},
    ),
    (
        "kernel driver does not appear to be running on this host (vm): /proc/driver/nvidia/version does not exist",
        "kernel-driver-not-running",
        {},
    ),
    (
        "no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        "no-device-node",
        {"path": "/dev/nvidia0"},
    ),
    (
        "CUDA_VISIBLE_DEVICES is set to -1 - this hides all GPUs from CUDA",
        "hidden-by-variable",
        {"value": "-1"},
    ),
    ("Failed to initialize NVML: Driver/library version mismatch", "nvml-mismatch", {}),
    (
        "cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version",
        "driver-insufficient",
        {},
    ),
    (
        "cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used.",
        "cudart-not-loaded",
        {},
    ),
    ("Cannot dlopen some GPU libraries. Please make sure the missing libraries", "cannot-dlopen", {}),
    ("TF-TRT Warning: Could not find TensorRT", "tensorrt-not-loaded", {}),
    (
        "Could not load dynamic library 'libnvinfer_plugin.so.7'; dlerror: libnvinfer_plugin.so.7: cannot open shared",
        "tensorrt-not-loaded",
        {},
    ),
    (
        "Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file",
        "library-not-loaded",
        {"library": "libcudnn.so.8"},
    ),
    (
        "Could not dlopen library 'libcublas.so.10.0'; dlerror: libcublas.so.10.0: cannot open shared object file",
        "library-not-loaded",
        {"library": "libcublas.so.10.0"},
    ),
    (
        "Could not load dynamic library 'cudart64_110.dll'; dlerror",
        "library-not-loaded",
        {"library": "cudart64_110.dll"},
    ),
    (
        "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.   CuDNN library needs to have",
        "cudnn-runtime-too-old",
        {"loaded": "9.1.0", "compiled": "9.3.0"},
    ),
    (
        "Loaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with 5110 "
        "(compatibility version 5100).",
        "cudnn-runtime-too-old",
        {"loaded": "5005", "compiled": "5110"},
    ),
    ("Status: no kernel image is available for execution on the device", "no-kernel-image", {}),
    ("'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'", "invalid-ptx", {}),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "unsupported-ptx", {}),
    ("Status: device kernel image is invalid", "invalid-kernel-image", {}),
    (
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. "
        "CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",
        "compiled-from-ptx",
        {"compute_capability": "12.0"},
    ),
    (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB with freed_by_count=0. "
        "The caller indicates that this is not a failure, but this may mean that there could be performance gains.",
        "out-of-memory-no-failure",
        {},
    ),
    (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)",
        "out-of-memory",
        {"wanted": "2.00GiB"},
    ),
    (
        "OOM when allocating tensor with shape[32,64,224,224] and type float",
        "out-of-memory",
        {"shape": "32,64,224,224", "type": "float"},
    ),
    ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 42 bytes.", "out-of-memory", {"bytes": "42"}),
    ("Status: CUDA_ERROR_OUT_OF_MEMORY", "out-of-memory", {}),
    (
        "failed to allocate 7.50G (8053063680 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
        "out-of-memory",
        {"size": "7.50G"},
    ),
    ("'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_HANDLE'", "cuda-error", {"error": "CUDA_ERROR_INVALID_HANDLE"}),
    (
        "cudnn_conv: CUDNN_STATUS_NOT_INITIALIZED",
        "cudnn-status",
        {"status": "CUDNN_STATUS_NOT_INITIALIZED"},
    ),
    (
        "failed to run cuBLAS routine: CUBLAS_STATUS_ALLOC_FAILED",
        "cublas-status",
        {"status": "CUBLAS_STATUS_ALLOC_FAILED"},
    ),
    (
        "ImportError: /usr/lib64/libstdc++.so.6: version `CXXABI_1.3.8' not found (required by /home/u/_pywrap.so)",
        "libstdcxx-too-old",
        {"needed": "CXXABI_1.3.8"},
    ),
    ("libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "libstdcxx-too-old", {"needed": "GLIBCXX_3.4.29"}),
    ("/lib64/libm.so.6: version `GLIBC_2.27' not found", "glibc-too-old", {"needed": "GLIBC_2.27"}),
    (
        "ImportError: libcublas.so.10.0: cannot open shared object file: No such file or directory",
        "cuda-library-not-linked",
        {"library": "libcublas.so.10.0"},
    ),
    (
        "ImportError: /site-packages/tensorflow/python/_pywrap.so: undefined symbol: _ZN10tensorflow8OpDefC1Ev",
        "undefined-symbol",
        {"file": "_pywrap.so", "symbol": "_ZN10tensorflow8OpDefC1Ev"},
    ),
    (
        "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.",
        "cpu-instructions-missing",
        {"instructions": "AVX"},
    ),
    ("Illegal instruction (core dumped)", "illegal-instruction", {}),
    ("Fatal Python error: Illegal instruction", "illegal-instruction", {}),
    ("A module that was compiled using NumPy 1.x cannot be run in", "numpy-abi", {}),
    ("AttributeError: _ARRAY_API not found", "numpy-abi", {}),
    ("TypeError: Descriptors cannot not be created directly.", "protobuf-descriptors", {}),
    (
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module",
        "dll-load-failed",
        {"module": "_pywrap_tensorflow_internal"},
    ),
    ("ImportError: DLL load failed: The specified module could not be found.", "dll-load-failed", {}),
    ("Failed to load the native TensorFlow runtime.", "native-runtime-not-loaded", {}),
    ("ImportError: numpy.core.umath failed to import", "numpy-abi", {}),
    (
        "AttributeError: module 'numpy' has no attribute 'object'.",
        "numpy-attribute-removed",
        {"attribute": "object"},
    ),
    (
        "TypeError: Unable to convert function return value to a Python type! The signature was",
        "bfloat16-not-converted",
        {},
    ),
    (
        "google.protobuf.runtime_version.VersionError: Detected mismatched Protobuf Gencode/Runtime major versions "
        "when loading tensorflow/core/framework/attr_value.proto: gencode 6.31.1 runtime 5.29.3. Same major version is",
        "protobuf-generated-code",
        {"generated": "6.31.1", "runtime": "5.29.3"},
    ),
    (
        "VersionError: Detected incompatible Protobuf Gencode/Runtime versions when loading a.proto: gencode 5.28.3 "
        "runtime 5.26.1. Runtime version cannot be older than the linked gencode version.",
        "protobuf-generated-code",
        {"generated": "5.28.3", "runtime": "5.26.1"},
    ),
    (
        "ImportError: cannot import name 'runtime_version' from 'google.protobuf' (/site/google/protobuf/__init__.py)",
        "protobuf-too-old",
        {},
    ),
    (
        "ValueError: You have tensorflow 2.16.1 and this requires tf-keras package. Please run `pip install tf-keras`",
        "tf-keras-missing",
        {},
    ),
    (
        "Your environment has TF_USE_LEGACY_KERAS set to True, but you do not have the tf_keras package installed.",
        "tf-keras-missing",
        {},
    ),
    ("ValueError: Unable to import backend : theano", "keras-backend-unknown", {"backend": "theano"}),
    ("Using Theano backend.", "keras-backend-old", {"backend": "Theano"}),
    (
        "AttributeError: module 'tensorflow._api.v2.compat.v2.__internal__' has no attribute "
        "'register_load_context_function'. Did you mean: 'register_call_context_function'?",
        "keras-generations",
        {},
    ),
    (
        "ValueError: File format not supported: filepath=model. Keras 3 only supports V3 `.keras` files and legacy H5",
        "keras-generations",
        {},
    ),
    ("AttributeError: 'Variable' object has no attribute 'ref'", "keras-generations", {}),
    ("ImportError: Keras cannot be imported. Check that it is installed.", "keras-not-importable", {}),
    (
        "Could not find the DLL(s) 'msvcp140.dll or msvcp140_1.dll'. TensorFlow requires that these DLLs be installed",
        "windows-dll-missing",
        {"library": "msvcp140.dll or msvcp140_1.dll"},
    ),
    (
        "Could not find 'cudart64_100.dll'. TensorFlow requires that",
        "windows-dll-missing",
        {"library": "cudart64_100.dll"},
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement tensorflow==2.10.0rc4 (from versions: none)",
        "pip-no-distribution",
        {"requirement": "tensorflow==2.10.0rc4", "versions": "none"},
    ),
    (
        "Could not find a version that satisfies the requirement tensorflow (from versions: )",
        "pip-no-distribution",
        {"requirement": "tensorflow", "versions": ""},
    ),
    (
        "tensorflow-gpu 2.2.0 requires h5py<2.11.0,>=2.10.0, but you have h5py 3.1.0 which is incompatible.",
        "pip-conflict",
        {
            "package": "tensorflow-gpu",
            "version": "2.2.0",
            "requirement": "h5py<2.11.0,>=2.10.0",
            "name": "h5py",
            "installed": "3.1.0",
        },
    ),
    (
        'ERROR: tensorflow 2.1.0 has requirement scipy==1.4.1; python_version >= "3", but you\'ll have scipy 1.5.0 '
        "which is incompatible.",
        "pip-conflict",
        {
            "package": "tensorflow",
            "version": "2.1.0",
            "requirement": 'scipy==1.4.1; python_version >= "3"',
            "name": "scipy",
            "installed": "1.5.0",
        },
    ),
    ('The "tensorflow-gpu" package has been removed!', "tensorflow-gpu-removed", {}),
    ("  - nothing provides __cuda needed by tensorflow-2.16.1-cuda120py311h5cbd639_0", "conda-cuda-missing", {}),
    ("   \u2514\u2500 __cuda =* *, which is missing on the system.", "conda-cuda-missing", {}),
    (
        "TBNotInstalledError: TensorBoard is not installed, missing implementation for tf.summary.scalar",
        "tensorboard-missing",
        {"function": "tf.summary.scalar"},
    ),
    (
        "ImportError: Extension horovod.tensorflow has not been built.  If this is not expected, reinstall Horovod",
        "horovod-extension-missing",
        {"extension": "horovod.tensorflow"},
    ),
    (
        "NCCL error 2 in nccl_operations.cc: ncclSystemError: System call (socket, malloc, munmap, etc) failed.",
        "nccl-error",
        {"error": "ncclSystemError"},
    ),
    ("unhandled cuda error, NCCL version 2.16.5", "nccl-error", {"error": "unhandled cuda error"}),
    (
        "UnavailableError: Collective ops is aborted by: recvmsg:Connection reset by peer",
        "collective-failed",
        {},
    ),
    ("UnknownError: Could not start gRPC server", "cluster-not-formed", {}),
    (
        "Cannot assign a device for operation add: Could not satisfy explicit device specification '/device:GPU:0' "
        "because no supported kernel for GPU devices is available.",
        "placement-failed",
        {"device": "/device:GPU:0"},
    ),
    (
        "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft",
        "placement-failed",
        {"device": "/job:localhost/replica:0/task:0/device:GPU:0"},
    ),
    (
        "Cannot assign a device for operation ones: {{node ones}} was explicitly assigned to /device:GPU:0 but",
        "placement-failed",
        {"device": "/device:GPU:0"},
    ),
    (
        "InvalidArgumentError: Unable to find any devices for spec /device:GPU:1 [Op:__inference_f_7]",
        "placement-failed",
        {"device": "/device:GPU:1"},
    ),
    (
        "InvalidArgumentError: /job:localhost/replica:0/task:0/device:GPU:0 unknown device.",
        "device-unknown",
        {"device": "/job:localhost/replica:0/task:0/device:GPU:0"},
    ),
    ("ModuleNotFoundError: No module named 'tensorflow.keras'", "no-module", {"module": "tensorflow.keras"}),
    (
        "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been",
        "factory-registered-twice",
        {"library": "cuDNN"},
    ),
    ("successful NUMA node read from SysFS had negative value (-1), but there must be", "numa-node", {}),
    ("could not open file to read NUMA node: /sys/bus/pci/devices/0000:01:00.0/numa_node", "numa-node", {}),
    ("port.cc:153] oneDNN custom operations are on. You may see slightly different", "onednn-notice", {}),
    ("This TensorFlow binary is optimized to use available CPU instructions in", "cpu-features-notice", {}),
    (
        "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
        "cpu-features-notice",
        {},
    ),
]

SILENT = [
    "",
    "Epoch 1/10",
    "loss: 0.6931 - accuracy: 0.5000",
    "CUDNN_STATUS_SUCCESS and CUBLAS_STATUS_SUCCESS",
    "ImportError: libpython3.8.so.1.0: cannot open shared object file: No such file or directory",
    "I said that the kernel version does not match",
    "successful cuInit",
]


@pytest.mark.parametrize(("line", "message", "parameters"), LINES)
def test_line(line: str, message: str, parameters: dict[str, str]) -> None:
    events = list(read_text(f"before\n{line}\r\nafter", "log.txt"))
    assert [(e.message, e.parameters) for e in events] == [(message, parameters)]
    assert (events[0].line, events[0].source) == (2, "log.txt")


@pytest.mark.parametrize("line", SILENT)
def test_line_that_tells_nothing(line: str) -> None:
    assert list(read_text(line)) == []


def test_every_row_has_a_line() -> None:
    shown = {message for _, message, _ in LINES}
    assert shown <= {m.id for m in MESSAGES}
    assert {m.id for m in MESSAGES if not m.example} <= shown


@pytest.mark.parametrize("message", [m for m in MESSAGES if m.example], ids=lambda m: m.id)
def test_a_row_recognises_its_example(message: Message) -> None:
    events = list(read_text(f"before\n  {message.example}\r\nafter"))
    assert {(event.message, event.line) for event in events} == {(message.id, 2)}


@pytest.mark.parametrize("message", SENTENCES, ids=lambda m: m.id)
def test_a_sentence_is_told_by_its_example(message: Message) -> None:
    seen, reader = Seen(), said.Reader()
    for number, line in enumerate(message.example.split("\n"), 1):
        reader.line(line, f"log.txt:{number}", seen)
    assert message.id in [event.message for event in seen.events]


@pytest.mark.parametrize("message", BLOCKS, ids=lambda m: m.id)
def test_a_format_tells_its_example(message: Message) -> None:
    reader = TextReader()
    reader.read([message.example.encode()], "log.txt")
    assert message.id in [event.message for event in reader.seen.events]


def test_every_name_that_sentences_give_is_described() -> None:
    given = set(re.findall(r'yield "([a-z0-9-]+)"', inspect.getsource(said)))
    given |= {row.event for row in sentences.SENTENCES}
    assert given <= {m.id for m in (*MESSAGES, *SENTENCES)}
    assert {m.id for m in SENTENCES} <= given
    assert not {m.id for m in SENTENCES} & {m.id for m in MESSAGES}


def test_table_is_well_formed() -> None:
    ids = [m.id for m in MESSAGES]
    assert len(ids) == len(set(ids))
    for message in MESSAGES:
        assert re.fullmatch(r"[a-z0-9-]+", message.id)
        assert message.literals, message.id
        assert all(len(literal) >= 7 and literal.isascii() for literal in message.literals), message.id
        assert message.meaning.endswith("."), message.id
        assert message.printed_by, message.id
        SpecifierSet(message.tensorflow)


def test_patterns_stay_on_their_line_and_repeat_with_bounds() -> None:
    for message in MESSAGES:
        re.compile(message.pattern)
        outside_classes = re.sub(r"\[[^]]*\]", "", message.pattern)
        assert not re.search(r"(?<!\\)\.[*+{]", outside_classes), f"{message.id}: a wide class crosses lines"
        assert not re.search(r"\[\^[^]]*\][*+]", message.pattern), f"{message.id}: a wide class without an upper bound"
        assert all("\\r\\n" in wide for wide in re.findall(r"\[\^[^]]*\]", message.pattern)), message.id
