"""What TensorFlow, CUDA, cuDNN and their neighbours print, as data: one row a message.

A Python module, since that loads fastest: it comes compiled. Patterns are compiled when one of their literals was seen.
To add a message, add a row, here or in a module of rows/. Words belong to one message: of two that begin with the same
words the earlier row wins, so the special comes before the general. A pattern stays on its line, and repeats wide
classes with an upper bound only.
"""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message
from gpudoctor.logs.rows import FIRST, LAST

__all__ = ["MESSAGES", "EventKind", "Message"]

_K = EventKind
_GPU = (
    r"name: (?P<gpu_name>[^,\r\n]{1,80}), pci bus id: (?P<pci_address>[0-9a-fA-F:.]{4,16}), "
    r"compute capability: (?P<compute_capability>\d+\.\d+)"
)
_CUINIT = r"ailed call to cuInit: (?:INTERNAL: CUDA error: Failed call to cuInit: )?"
# The loader's words in Spanish, German, Italian and French; in Chinese, Russian and Japanese, one character a byte.
_NOT_OPENED = (
    "no se puede abrir|[Kk]ann Shared-Object-Datei nicht|impossibile aprire|ne peut ouvrir|impossible d'ouvrir|"
    + "\u65e0\u6cd5\u6253\u5f00|\u043d\u0435\u0432\u043e\u0437\u043c\u043e\u0436\u043d\u043e \u043e\u0442"
    "\u043a\u0440\u044b\u0442\u044c|\u5171\u6709\u30aa\u30d6\u30b8\u30a7\u30af\u30c8".encode().decode("latin-1")
)
_CUDA_LIBRARY = r"cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|cudnn[\w-]{0,40}"

MESSAGES: tuple[Message, ...] = (
    *FIRST,
    # The GPU is used.
    Message(
        "created-device",
        _K.GPU_USED,
        ("Created device /", "Created TensorFlow device ("),
        r"Created (?:TensorFlow )?device \(?[\w/:]{0,80}device:GPU:(?P<index>\d+)"
        r"(?: with (?P<memory_mb>\d+) MB memory[^\r\n]{0,60}?" + _GPU + ")?",
        "TensorFlow took this GPU.",
        "gpu_device.cc",
    ),
    Message(
        "loaded-cudnn",
        _K.GPU_USED,
        ("Loaded cuDNN version ",),
        r"Loaded cuDNN version (?P<version>\d+)",
        "cuDNN was loaded; its version as one number.",
        "cuda_dnn.cc",
        ">2.4.4",
    ),
    Message(
        "opened-library",
        _K.GPU_USED,
        ("Successfully opened dynamic library ",),
        r"Successfully opened dynamic library (?P<library>[\w.+-]{1,80})",
        "A CUDA library was found and loaded.",
        "dso_loader.cc",
        ">=1.14",
    ),
    # The GPU cannot be used.
    Message(
        "ignoring-gpu-capability",
        _K.GPU_UNUSABLE,
        ("The minimum required Cuda capability is ",),
        r"Ignoring (?:visible )?gpu device \(device: (?P<index>\d+), name: (?P<gpu_name>[^,\r\n]{1,80}), "
        r"pci bus id: (?P<pci_address>[0-9a-fA-F:.]{4,16})(?:, compute capability: (?P<compute_capability>\d+\.\d+)\)"
        r"|\) with Cuda compute capability (?P<stated>\d+\.\d+))[^\r\n]{0,60}?"
        r"The minimum required Cuda capability is (?P<minimum>\d+\.\d+)",
        "This build has no code for a GPU of so low a compute capability and leaves it out.",
        "gpu_device.cc",
    ),
    Message(
        "ignoring-gpu-multiprocessors",
        _K.GPU_UNUSABLE,
        ("The minimum required count is ",),
        r"Ignoring visible gpu device \(device: (?P<index>\d+)[^\r\n]{0,160}?"
        r"with (?:core|Cuda multiprocessor) count: (?P<count>\d+)\. The minimum required count is (?P<minimum>\d+)",
        "A smaller GPU beside a larger one is left out.",
        "gpu_device.cc",
    ),
    Message(
        "cuinit-failed",
        _K.GPU_UNUSABLE,
        ("ailed call to cuInit",),
        _CUINIT + r"(?P<error>CUDA_ERROR_\w{1,60}|(?:UNKNOWN ERROR ?|CUresult)\(-?\d+\))"
        # What the error is called in words tells no more.
        r"(?:: (?:no CUDA-capable device is detected|system has unsupported display driver / cuda driver combination"
        r"|forward compatibility was attempted on non supported HW))?",
        "The driver library could not be started; the error says why.",
        "cuda_platform.cc (earlier cuda_driver.cc)",
    ),
    Message(
        "kernel-library-mismatch",
        _K.GPU_UNUSABLE,
        (" does not match DSO version ",),
        r"kernel version (?P<kernel>[\d.]{1,20}?) does not match DSO version (?P<library>\d[\d.]{0,19})",
        "The loaded kernel module and the driver library are of different versions.",
        "cuda_diagnostics.cc",
    ),
    Message(
        "kernel-driver-not-running",
        _K.GPU_UNUSABLE,
        ("kernel driver does not appear to be running on this host",),
        "",
        "The NVIDIA kernel module is not loaded, or not seen from here.",
        "cuda_diagnostics.cc",
    ),
    Message(
        "no-device-node",
        _K.GPU_UNUSABLE,
        ("no NVIDIA GPU device is present",),
        r"no NVIDIA GPU device is present: (?P<path>/dev/nvidia\d+)",
        "There is no device node: the module is not loaded, or a container was given no GPU.",
        "cuda_diagnostics.cc",
    ),
    Message(
        "hidden-by-variable",
        _K.GPU_UNUSABLE,
        (" - this hides all GPUs from CUDA",),
        r"CUDA_VISIBLE_DEVICES is set to (?P<value>[^\r\n]{0,80}?) - this hides all GPUs from CUDA",
        "CUDA_VISIBLE_DEVICES hides every GPU.",
        "cuda_diagnostics.cc",
        ">2.18.1",
    ),
    Message(
        "nvml-mismatch",
        _K.GPU_UNUSABLE,
        ("Driver/library version mismatch",),
        "",
        "The loaded kernel module and the driver library are of different versions.",
        "nvidia-smi and NVML",
    ),
    Message(
        "driver-insufficient",
        _K.GPU_UNUSABLE,
        ("CUDA driver version is insufficient for CUDA runtime version",),
        "",
        "The driver is older than the CUDA runtime needs, or a stub stands in its place.",
        "CUDA runtime",
    ),
    Message(
        "cudart-not-loaded",
        _K.GPU_UNUSABLE,
        ("Could not find cuda drivers on your machine", "Status: cudaGetErrorString symbol not found"),
        "",
        "The CUDA runtime library (libcudart) could not be loaded. Of the driver this line says nothing.",
        "cudart_stub.cc",
        ">2.10.1",
    ),
    Message(
        "cannot-dlopen",
        _K.GPU_UNUSABLE,
        ("Cannot dlopen some GPU libraries",),
        "",
        "At least one CUDA library was not found or is of another major version; from 2.16 on it is not named.",
        "gpu_device.cc",
    ),
    Message(
        "tensorrt-not-loaded",
        _K.HARMLESS,
        ("dynamic library 'libnvinfer", "TF-TRT Warning: "),
        r"(?:Could not (?:load dynamic|dlopen) library '|TF-TRT Warning: )[^'\r\n]{0,80}",
        "TensorRT is not installed; only its own conversion needs it.",
        "dso_loader.cc, py_utils.cc",
    ),
    Message(
        "library-not-loaded",
        _K.GPU_UNUSABLE,
        ("Could not load dynamic library '", "Could not dlopen library '"),
        r"Could not (?:load dynamic|dlopen) library '(?P<library>(?:lib)?(?:cuda|nvcuda(?=\.)|"
        + _CUDA_LIBRARY
        + r")[\w.]{0,20})'",
        "The named library was not found on the loader's path.",
        "dso_loader.cc",
        ">=1.14",
    ),
    Message(
        "cudnn-runtime-too-old",
        _K.GPU_UNUSABLE,
        ("Loaded runtime CuDNN library",),
        r"Loaded runtime CuDNN library: (?P<loaded>[\d.]{1,20}?)(?: \([^)\r\n]{0,60}\))? "
        r"but source was compiled with:? (?P<compiled>\d+(?:\.\d+){0,3})",
        "The cuDNN that was loaded is older than the one that this build was compiled with.",
        "cuda_dnn.cc",
    ),
    Message(
        "cudnn-said-too-old",
        _K.GPU_UNUSABLE,
        ("uDNN version ", "udnn version "),
        r"(?:C|c)u(?:DNN|dnn) version (?P<compiled>\d{1,2}\.\d{1,2}(?:\.\d{1,3})?) is (?:required|needed)"
        r"[^\r\n]{0,16}? (?:only )?(?:version )?(?P<loaded>\d{1,2}\.\d{1,2}(?:\.\d{1,3})?) is "
        r"(?:loaded|installed|found|available)",
        "Somebody says which cuDNN is asked for, and which older one is there.",
        "a person",
        example="cuDNN version 8.1 is required but only version 8.0.5 is loaded",
    ),
    Message(
        "no-kernel-image",
        _K.GPU_UNUSABLE,
        ("no kernel image is available for execution on the device", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        "",
        "A library holds no code that this GPU can run.",
        "CUDA driver",
    ),
    Message(
        "invalid-kernel-image",
        _K.GPU_UNUSABLE,
        ("device kernel image is invalid", "CUDA_ERROR_INVALID_IMAGE"),
        "",
        "The code in a library is not for this GPU, or was damaged.",
        "CUDA driver",
    ),
    Message(
        "invalid-ptx",
        _K.GPU_UNUSABLE,
        ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
        "",
        "The driver could not compile a library's PTX for this GPU.",
        "CUDA driver",
    ),
    Message(
        "unsupported-ptx",
        _K.GPU_UNUSABLE,
        ("the provided PTX was compiled with an unsupported toolchain", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        "",
        "The driver is older than the compiler of a library's PTX.",
        "CUDA driver",
    ),
    Message(
        "compiled-from-ptx",
        _K.DEGRADED,
        ("TensorFlow was not built with CUDA kernel binaries compatible with compute capability ",),
        r"compatible with compute capability (?P<compute_capability>\d+\.\d+)",
        "This build has no native code for the GPU; the driver compiles it at the first start, for minutes.",
        "gpu_device.cc",
        ">2.4.4",
    ),
    Message(
        "out-of-memory-no-failure",
        _K.HARMLESS,
        (" ran out of memory trying to allocate ",),
        r" ran out of memory trying to allocate [^\r\n]{0,400}?The caller indicates that this is not a failure",
        "A faster algorithm was given up for lack of memory; the program goes on.",
        "bfc_allocator.cc",
    ),
    Message(
        "out-of-memory",
        _K.OUT_OF_MEMORY,
        (
            "CUDA_ERROR_OUT_OF_MEMORY",
            "OOM when allocating tensor",
            " ran out of memory trying to allocate ",
            "Out of memory while trying to allocate ",
            "Out of memory allocating ",
            "failed to allocate memory [Op:",
            "RESOURCE_EXHAUSTED: failed to allocate memory",
            "SameWorkerRecvDone unable to allocate output tensor",
            "Dst tensor is not initialized",
            "failed. Status: out of memory",
            " Chunks of size ",
        ),
        r"OOM when allocating tensor(?: with shape ?\[(?P<shape>[\d, ]{0,80})\](?: and type (?P<type>\w{1,20}))?"
        r"(?: on (?P<device>/[\w:/]{1,100}))?)?"
        r"|ailed to alloc(?:ate)? (?P<size>[\d.]{1,12}[KMGT]?i?B?)[^\r\n]{0,60}? from device: CUDA_ERROR_OUT_OF_MEMORY"
        r"|ran out of memory trying to allocate (?P<wanted>[\d.]{1,12}[KMGT]?i?B)?"
        r"|Out of memory while trying to allocate (?P<bytes>\d{1,15})?"
        r"|Out of memory allocating \d"
        r"|CUDA_ERROR_OUT_OF_MEMORY|failed to allocate memory|SameWorkerRecvDone|Dst tensor is not initialized"
        r"|\] \d{1,6} Chunks of size \d{1,12} totalling"
        r"|(?P<call>(?:cuda[A-Z]\w{3,30}\(\)(?: on GPU:\d{1,3})?"
        r"|CUDA runtime implicit initialization on GPU:\d{1,3}) failed\. Status): "
        r"out of memory",
        "The GPU's memory did not suffice.",
        "CUDA driver, bfc_allocator.cc, op_kernel.cc, xla",
    ),
    Message(
        "cuda-error",
        _K.OPERATION_FAILED,
        ("CUDA_ERROR_",),
        r"(?P<error>CUDA_ERROR_[A-Z_]{1,60})",
        "A call of the driver failed with this error.",
        "CUDA driver",
    ),
    Message(
        "cudnn-status",
        _K.OPERATION_FAILED,
        ("CUDNN_STATUS_",),
        r"(?P<status>CUDNN_STATUS_(?!SUCCESS)[A-Z_]{1,60})",
        "A call of cuDNN failed with this status.",
        "cuDNN",
    ),
    Message(
        "cublas-status",
        _K.OPERATION_FAILED,
        ("CUBLAS_STATUS_",),
        r"(?P<status>CUBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60})",
        "A call of cuBLAS failed with this status.",
        "cuBLAS",
    ),
    # TensorFlow cannot be imported.
    Message(
        "libstdcxx-too-old",
        _K.IMPORT_FAILED,
        ("GLIBCXX_", "CXXABI_"),
        # Viewers of Markdown take the marks of quotation away, or make others of them.
        r"version \W{0,4}(?P<needed>(?:GLIBCXX|CXXABI)_[\d.]{1,12})\W{0,4} not found",
        "The C++ library that was loaded is older than the wheel needs.",
        "dynamic loader",
    ),
    Message(
        "glibc-too-old",
        _K.IMPORT_FAILED,
        (" GLIBC_", "`GLIBC_", "'GLIBC_", "GLIBC_2"),
        r"version \W{0,4}(?P<needed>GLIBC_[\d.]{1,12})\W{0,4} not found",
        "The system's C library is older than the wheel needs.",
        "dynamic loader",
    ),
    Message(
        "cuda-library-not-linked",
        _K.IMPORT_FAILED,
        ("cannot open shared object file", "ImportError: lib"),
        # A person quotes it without the name of the error: in a title, or in quotation marks.
        r"(?:(?:ImportError|OSError|loading shared libraries): |[\"'`#] ?|\A[> ]{0,8})"
        r"(?P<library>lib(?:cuda|cupti|"
        + _CUDA_LIBRARY
        + r")(?=\.so)[\w.]{0,20}): (?:cannot open shared object file|"
        + _NOT_OPENED
        + r")",
        "A build that is linked to this CUDA library cannot start without it.",
        "dynamic loader",
        "<1.14",
    ),
    Message(
        "undefined-symbol",
        _K.IMPORT_FAILED,
        (": undefined symbol: ",),
        r"(?P<file>[\w.+-]{1,80}): undefined symbol: (?P<symbol>\w{1,200})(?:, version (?P<version>lib[\w.+-]{1,60}))?",
        "A library was built against another version of what it uses.",
        "dynamic loader",
    ),
    Message(
        "cpu-instructions-missing",
        _K.IMPORT_FAILED,
        ("The TensorFlow library was compiled to use ",),
        r"The TensorFlow library was compiled to use (?P<instructions>[^\r\n]{1,60}?) instructions, but these",
        "The processor lacks instructions that this build requires.",
        "cpu_feature_guard.cc",
    ),
    Message(
        "illegal-instruction",
        _K.IMPORT_FAILED,
        (
            "llegal instruction",
            "llegal hardware instruction",
            "Instruction non permise",
            "Istruzione non consentita",
        ),
        # Not that of a program on the GPU.
        r"[Ii]llegal (?:hardware )?instruction(?! was encountered| address)|Instruction non|Istruzione non",
        "The processor met an instruction that it does not have; mostly AVX.",
        "kernel, shell",
    ),
    Message(
        "numpy-abi",
        _K.IMPORT_FAILED,
        (
            "A module that was compiled using NumPy 1.x cannot be run in",
            "_ARRAY_API not found",
            "_UFUNC_API not found",
            " size changed, may indicate binary incompatibility",
            "module compiled against API version ",
            "module compiled against ABI version ",
            "downgrade to 'numpy<2' or try to upgrade the affected module",
            "numpy.core.umath failed to import",
            "numpy.core.multiarray failed to import",
            "numpy._core.umath failed to import",
            "numpy._core.multiarray failed to import",
            "Importing the numpy C-extensions failed",
            " was removed in the NumPy 2.0 release",
            "No module named 'numpy._core",
            "No module named 'numpy.core._multiarray_umath'",
        ),
        # As a RuntimeWarning the changed size is harmless.
        r"A module that was compiled using NumPy 1|_(?:ARRAY|UFUNC)_API not found"
        r"|ValueError: numpy\.\w{4,12} size changed"
        r"|module compiled against A[PB]I version [\da-f]|downgrade to 'numpy<2' or try"
        r"|numpy\._?core\.\w{5,10} failed to import"
        r"|Importing the numpy C-extensions failed|was removed in the NumPy 2\.0 release"
        r"|No module named 'numpy\.(?:_core|core\._multiarray_umath)",
        "A library was built for another NumPy than the one installed.",
        "NumPy",
    ),
    Message(
        "numpy-attribute-removed",
        _K.IMPORT_FAILED,
        ("module 'numpy' has no attribute '",),
        r"module 'numpy' has no attribute '(?P<attribute>\w{1,40})'",
        "The program or a library was written for an older NumPy than the one installed.",
        "NumPy",
    ),
    Message(
        "bfloat16-not-converted",
        _K.IMPORT_FAILED,
        ("Unable to convert function return value to a Python type!",),
        "",
        "TensorFlow's bfloat16 does not work with the NumPy, or beside the ml-dtypes, that is installed.",
        "pybind11",
        "<2.13",
    ),
    Message(
        "protobuf-descriptors",
        _K.IMPORT_FAILED,
        ("Descriptors cannot not be created directly", "Descriptors cannot be created directly"),
        "",
        "The protobuf package is too new for this TensorFlow.",
        "protobuf",
    ),
    Message(
        "protobuf-halves",
        _K.IMPORT_FAILED,
        (
            "Descriptors should not be created directly, but only retrieved from their parent",
            "Couldn't find field google.protobuf.",
            "Couldn't build proto file into descriptor pool",
        ),
        "",
        "Code that protoc wrote does not fit the protobuf package, or the package's Python and compiled parts differ.",
        "protobuf",
        example="TypeError: Descriptors should not be created directly, but only retrieved from their parent.",
    ),
    Message(
        "protobuf-generated-code",
        _K.IMPORT_FAILED,
        (" Protobuf Gencode/Runtime ",),
        r"Detected (?:incompatible|mismatched) Protobuf Gencode/Runtime (?:major )?versions when loading "
        r"[^\r\n]{1,200}?: gencode (?P<generated>\d[\w.]{0,19}?) runtime (?P<runtime>\d+(?:\.\d+){0,3})",
        "The protobuf package is of another version than the one that wrote TensorFlow's code.",
        "protobuf",
    ),
    Message(
        "protobuf-too-old",
        _K.IMPORT_FAILED,
        (
            "cannot import name 'runtime_version' from 'google.protobuf'",
            "from google.protobuf import runtime_version",
            "cannot import name 'builder' from 'google.protobuf.internal'",
            "cannot import name 'enum_type_wrapper' from 'google.protobuf.internal'",
            "module 'google.protobuf.message_factory' has no attribute 'GetMessageClass'",
            "_message.RepeatedCompositeCo' object has no attribute 'append'",
            "unexpected keyword argument 'serialized_options'",
            "module 'google.protobuf.descriptor' has no attribute '_internal_create_key'",
        ),
        "",
        "The protobuf package is older than this TensorFlow needs.",
        "Python",
    ),
    Message(
        "tf-keras-missing",
        _K.USAGE,
        (
            "requires tf-keras package",
            "do not have the tf_keras package installed",
            "install the backwards-compatible tf-keras package",
        ),
        "",
        "The program wants Keras 2, which comes as the package tf-keras from TensorFlow 2.16 on.",
        "lazy_loader.py, deepface, transformers",
    ),
    Message(
        "keras-backend-unknown",
        _K.USAGE,
        ("Unable to import backend : ",),
        r"Unable to import backend : (?P<backend>\w{1,40})",
        "Keras 3 has no back-end of this name.",
        "Keras",
    ),
    Message(
        "keras-backend-old",
        _K.USAGE,
        ("Using Theano backend", "Using CNTK backend", "Using JAX backend", "Using PyTorch backend"),
        r"Using (?P<backend>Theano|CNTK|JAX|PyTorch) backend",
        "Keras computes with another library than TensorFlow.",
        "Keras before 2.4, and from 3.0 on",
    ),
    Message(
        "keras-generations",
        _K.USAGE,
        (
            "Keras 3 only supports V3 ",
            " is not available with Keras 3",
            "has no attribute 'register_load_context_function'",
            "Unrecognized keyword arguments: ['batch_shape']",
            "Argument(s) not recognized: {'lr'",
            "module 'keras.backend' has no attribute '",
            "module 'keras.api.backend' has no attribute '",
            "module 'tensorflow.keras.backend' has no attribute '",
            "'Variable' object has no attribute 'ref'",
            "decay is deprecated in ",
            "Only instances of `keras.Layer` can be added to a Sequential model",
            "`to_annotate` can only be a `keras.Model` instance",
            "`keras.optimizers.legacy` is not supported in Keras 3",
            "restore a checkpoint from a legacy Keras optimizer into a v2.11+ Optimizer",
            "A KerasTensor cannot be used as input to a TensorFlow function",
            "The `save_format` argument is deprecated in Keras 3",
            "Could not locate class 'Functional'",
            "Could not locate class 'Sequential'",
            "object has no attribute 'fit_generator'",
            "object has no attribute 'predict_generator'",
            "object has no attribute 'evaluate_generator'",
            "object has no attribute 'predict_classes'",
            "Keras requires TensorFlow 2.2 or higher",
            "module 'tensorflow.python.framework.ops' has no attribute '_TensorLike'",
            "module 'tensorflow' has no attribute 'get_default_graph'",
            "has no attribute '__internal__'",
            "module 'tensorflow.compat.v2.__internal__' has no attribute '",
            "Cannot register 2 metrics with name: /tensorflow/api/keras",
            "Another metric with the same name already exists",
        ),
        "",
        "Code or a saved model of one Keras generation meets the other: Keras 2 and Keras 3 differ.",
        "Keras, lazy_loader.py, Horovod",
    ),
    Message(
        "keras-not-importable",
        _K.USAGE,
        ("Keras cannot be imported. Check that it is installed",),
        "",
        "tf.keras finds no Keras that it can import.",
        "lazy_loader.py",
        ">=2.16",
    ),
    Message(
        "dll-load-failed",
        _K.IMPORT_FAILED,
        ("DLL load failed", "(DLL) initialization routine failed"),
        r"DLL load failed(?: while importing (?P<module>\w{1,80}))?|\(DLL\) initialization routine failed",
        "A Windows library could not be loaded: the Visual C++ runtime, a CUDA library, or the processor is too old.",
        "Windows loader",
    ),
    Message(
        "windows-dll-missing",
        _K.IMPORT_FAILED,
        (
            "Could not find the DLL(s) '",
            "Could not find 'cudart64",
            "Could not find 'cudnn64",
            "Could not find 'msvcp",
            "Could not find 'nvcuda",
            "Could not load 'cudart64",
            "Could not load 'cudnn64",
        ),
        r"Could not (?:find|load) (?:the DLL\(s\) )?'(?P<library>[^'\r\n]{1,120})'",
        "A Windows library is not on the path: of the Visual C++ runtime, or of CUDA.",
        "self_check.py",
        "<2.11",
    ),
    Message(
        "native-runtime-not-loaded",
        _K.IMPORT_FAILED,
        ("Failed to load the native TensorFlow runtime",),
        "",
        "TensorFlow's binary part did not load; the lines before it say why.",
        "pywrap_tensorflow.py",
    ),
    Message(
        "no-module",
        _K.IMPORT_FAILED,
        ("ModuleNotFoundError: No module named ", "ImportError: No module named ", "mport error: No module named "),
        r"(?:(?:ModuleNotFound|Import)Error|[Ii]mport error): No module named '?(?P<module>[\w.]{1,100})(?![\w.])",
        "A Python module is not installed in this environment.",
        "Python",
    ),
    Message(
        "tensorflow-not-in-r",
        _K.IMPORT_FAILED,
        (
            "tensorflow: [NOT FOUND]",
            "Installation of TensorFlow not found",
            "Python module tensorflow was not found",
            "Valid installation of TensorFlow not found",
        ),
        "",
        "The Python that R has chosen has no TensorFlow.",
        "reticulate, R's tensorflow",
        example="Error: Installation of TensorFlow not found.",
    ),
    # The environment could not be made, or is not what the program needs.
    Message(
        "pip-no-distribution",
        _K.USAGE,
        (
            "Could not find a version that satisfies the requirement ",
            "Could not find a final version that satisfies the requirement ",
            "Could not find any downloads that satisfy the requirement ",
        ),
        r"that satisf(?:ies|y) the requirement (?P<requirement>(?:tensorflow|tf[_-])[\w.=<>!,~+*-]{0,80})"
        r"(?: \(from versions: (?P<versions>[^)\r\n]{0,1900}))?",
        "pip finds no release of it for this Python and platform, or has no way to the index.",
        "pip",
    ),
    Message(
        "pip-conflict",
        _K.USAGE,
        (" which is incompatible",),
        r"(?<![\w.-])(?P<package>[\w.-]{1,60}) (?P<version>[\w.+!-]{1,40}) (?:requires|has requirement) "
        r"(?P<requirement>[^\r\n]{1,200}?), but you(?: have|'ll have) (?P<name>[\w.-]{1,60}) "
        r"(?P<installed>[\w.+!-]{1,40}) which is incompatible",
        "Two packages in this environment require different versions of a third.",
        "pip",
    ),
    Message(
        "tensorflow-gpu-removed",
        _K.USAGE,
        (
            'The "tensorflow-gpu" package has been removed',
            'The "tf-nightly-gpu" package has been removed',
            "tensorflow-gpu-2.12.0.tar.gz",
            "tensorflow_gpu-2.12.0.tar.gz",
            "tf-nightly-gpu-2.12.0.tar.gz",
            "tf_nightly_gpu-2.12.0.tar.gz",
            'python_version>"3.7"',
            "tensorflow-gpu_",
            "tf-nightly-gpu_",
        ),
        # pip builds nothing else of these names.
        r"package has been removed|gpu-2\.12\.0\.tar\.gz|python_version>\"3\.7\"|gpu_[0-9a-f]{32}[/\\]setup\.py",
        "The package tensorflow-gpu is dead; tensorflow takes its place.",
        "setup.py of tensorflow-gpu 2.12.0",
    ),
    Message(
        "conda-cuda-missing",
        _K.USAGE,
        ("nothing provides __cuda", ", which is missing on the system", " -> __cuda"),
        r"nothing provides __cuda|__cuda[^\r\n]{0,80}, which is missing on the system"
        r"|tensorflow[^\r\n]{0,120} -> __cuda",
        "conda saw no NVIDIA driver and so offers no package that is built with CUDA.",
        "conda, mamba",
    ),
    Message(
        "tensorboard-missing",
        _K.USAGE,
        (
            "TensorBoard is not installed, missing implementation for",
            "TensorBoard callback requires the `tensorboard`",
        ),
        r"TensorBoard is not installed, missing implementation for `?(?P<function>[\w.]{1,60})"
        r"|TensorBoard callback requires",
        "Summaries and the callback of that name need the package tensorboard.",
        "tb_summary.py",
        ">=2.21",
    ),
    Message(
        "horovod-extension-missing",
        _K.USAGE,
        ("Extension horovod.", "Neither MPI nor Gloo support has been built", "check_extension('horovod."),
        r"Extension (?P<extension>horovod\.\w{1,40}) has not been built|Neither MPI nor Gloo support has been built"
        r"|check_extension\('(?P<checked>horovod\.\w{1,40})'",
        "Horovod was installed without its part for this framework.",
        "Horovod",
    ),
    Message(
        "nccl-error",
        _K.OPERATION_FAILED,
        (
            "ncclSystemError",
            "ncclUnhandledCudaError",
            "ncclInternalError",
            "ncclRemoteError",
            "ncclInvalidUsage",
            "ncclInvalidArgument",
            "unhandled cuda error, NCCL",
            "unhandled system error, NCCL",
            "ncclCommInitRank failed",
            "ncclAllReduce failed",
            "ncclBcast failed",
            "ncclGroupEnd failed",
            "NCCL: unhandled cuda error",
            "NCCL: unhandled system error",
            "NCCL async error",
            "NCCL operation nccl",
        ),
        r"(?P<error>nccl[A-Z]\w{1,30}(?: failed: [a-z ]{1,40})?|async error[^\r\n]{1,100}|unhandled (?:cuda"
        r"|system) error)",
        "NCCL, which joins the GPUs, failed.",
        "NCCL, Horovod, nccl_manager.cc",
    ),
    Message(
        "collective-failed",
        _K.OPERATION_FAILED,
        (
            "Collective ops is aborted by",
            "UnavailableError: Socket closed",
            "UNAVAILABLE: Socket closed",
            "Collective has timed out during execution",
            "heartbeat timeout. This indicates that the remote task has failed",
        ),
        "",
        "A worker of a distributed training is gone, or did not answer in time.",
        "tensorflow/core/distributed_runtime",
    ),
    Message(
        "cluster-not-formed",
        _K.OPERATION_FAILED,
        ("Could not start gRPC server", "CoordinationService/", "failed to connect to all addresses"),
        "",
        "The workers of a cluster do not reach each other.",
        "tensorflow/core/distributed_runtime, gRPC",
    ),
    Message(
        "placement-failed",
        _K.USAGE,
        (
            "Could not satisfy explicit device specification",
            "Could not satisfy device specification",
            " was explicitly assigned to /",
            "Unable to find any devices for spec ",
        ),
        r"(?:satisfy (?:explicit )?device specification '?|was explicitly assigned to |find any devices for spec )"
        r"(?P<device>[/\w:]{1,120})",
        "An operation is pinned to a device that does not exist, or has no kernel for it.",
        "placer.cc",
    ),
    Message(
        "device-unknown",
        _K.USAGE,
        (" unknown device.",),
        r"(?P<device>/[\w/:]{0,120}device:\w+:\d+) unknown device\.",
        "An operation is pinned to a device that does not exist.",
        "eager/execute.cc",
    ),
    # Harmless.
    Message(
        "factory-registered-twice",
        _K.HARMLESS,
        ("factory: Attempting to register factory for plugin ",),
        r"Unable to register (?P<library>cu\w{2,6}) factory",
        "The same code is linked twice; the first copy counts.",
        "cuda_dnn.cc, cuda_fft.cc, cuda_blas.cc",
    ),
    Message(
        "numa-node",
        _K.HARMLESS,
        ("successful NUMA node read from SysFS had negative value", "could not open file to read NUMA node"),
        "",
        "The system does not tell the NUMA node of the card.",
        "cuda_executor.cc",
    ),
    Message(
        "onednn-notice",
        _K.HARMLESS,
        ("oneDNN custom operations are on",),
        "",
        "Processor code of oneDNN is in use; the last digits may differ.",
        "port.cc",
    ),
    Message(
        "cpu-features-notice",
        _K.HARMLESS,
        (
            "This TensorFlow binary is optimized ",
            "Your CPU supports instructions that this TensorFlow binary was not compiled to use",
            "The TensorFlow library wasn't compiled to use ",
        ),
        "",
        "The processor can do more than this build asks of it.",
        "cpu_feature_guard.cc",
    ),
    *LAST,
)
