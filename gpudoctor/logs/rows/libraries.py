"""What is printed about the CUDA libraries, cuDNN, and what XLA compiles with."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind


def _bytes(text: str) -> str:
    """Return words of other languages as the reader sees them: one character a byte."""
    return text.encode().decode("latin-1")


# Chinese, Russian and Korean stand last.
_NOT_FOUND_BEFORE = (
    "(?:can ?not|can.t|could not|couldn.t|unable to|not) find|missing|no encuentra|n.o encontra"
    + _bytes("|\u627e\u4e0d\u5230|\u7f3a\u5c11|\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d")
)
_NOT_FOUND_AFTER = "(?:is |was |were |could )?not (?:be |being )?found|is missing" + _bytes(
    "|\u627e\u4e0d\u5230|\ucc3e\uc744 \uc218 \uc5c6"
)
_FILE = r"(?:cudnn64|cudart64|cublas64|cusolver64)_\d{1,3}(?:\.dll)?|lib(?:cudnn|cudart|cublas)\.so[\d.]{0,8}\d"

ROWS = (
    Message(
        "library-not-opened",
        _K.GPU_UNUSABLE,
        ("open CUDA library ", "could not dlopen DSO: "),
        r"Couldn[^\r\n]{1,4}t open CUDA library (?P<library>[\w-]{3,40}\.(?:so(?:\.\d{1,3}){0,3}|dll|dylib))"
        r"|could not dlopen DSO: (?P<object>lib(?!cuda\.)[\w-]{3,40}\.so(?:\.\d{1,3}){0,3})",
        "The named library was not found on the loader's path.",
        "dso_loader.cc",
        "<1.14",
        example="Couldn't open CUDA library libcudnn.so.5. LD_LIBRARY_PATH: /usr/local/cuda-8.0/lib64",
    ),
    Message(
        "xla-capability",
        _K.GPU_UNUSABLE,
        (" is of insufficient compute capability: ",),
        r"insufficient compute capability: (?P<minimum>\d+\.\d+) required, device is (?P<capability>\d+\.\d+)",
        "XLA has no code for a GPU of so low a compute capability.",
        "xla/service/platform_util.cc",
        example="StreamExecutor cuda device (0) is of insufficient compute capability: 3.5 required, device is 3.0",
    ),
    Message(
        "opened-library-old",
        _K.GPU_USED,
        ("uccessfully opened CUDA library ",),
        r"uccessfully opened CUDA library (?P<library>[\w-]{3,40}\.(?:so(?:\.\d{1,3}){0,3}|dll|dylib)) locally",
        "A CUDA library was found and loaded.",
        "dso_loader.cc",
        "<1.5",
        example="dso_loader.cc:135] successfully opened CUDA library libcublas.so.8.0 locally",
    ),
    Message(
        "libdevice-not-found",
        _K.OPERATION_FAILED,
        ("libdevice not found at ", "an't find libdevice directory", "libdevice is required by this HLO module"),
        "",
        "XLA does not find libdevice, which it needs to compile.",
        "llvm_gpu_backend",
        example="Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice.",
    ),
    Message(
        "ptxas-too-old",
        _K.DEGRADED,
        (
            *("ptxas fatal", "ptxas too old", "Your CUDA software stack is old", "You are using ptxas "),
            "XLA requires ptxas version ",
        ),
        r"ptxas fatal\s{0,4}: Value '(?P<target>sm_\d{2,3}a?)' is not defined for option 'gpu-name'|ptxas too old"
        r"|ptxas fatal\s{0,4}: Unsupported \.version (?P<ptx>[\d.]{1,6}); current version is"
        r"|Your CUDA software stack is old|You are using ptxas (?P<version>[\d.]{3,12}), which is older than"
        r"|XLA requires ptxas version [\d.]{1,8} or higher",
        "The ptxas that is found is older than this GPU, or than the PTX it is given.",
        "ptxas, asm_compiler.cc",
        example="ptxas fatal   : Value 'sm_89' is not defined for option 'gpu-name'",
    ),
    Message(
        "ptxas-failed",
        _K.OPERATION_FAILED,
        ("ptxas returned an error during compilation of ptx to sass", "ptxas exited with non-zero error code"),
        "",
        "ptxas did not compile XLA's code: it is too old for the GPU, or there is none.",
        "xla/service/gpu",
        example="ptxas returned an error during compilation of ptx to sass: 'Internal: ptxas exited'",
    ),
    Message(
        "preload-check",
        _K.IMPORT_FAILED,
        ("ctypes.WinDLL(build_info.cudart_dll_name)",),
        "",
        "TensorFlow for the GPU looks for the CUDA runtime when it is imported.",
        "self_check.py",
        "<2.1",
        example="    ctypes.WinDLL(build_info.cudart_dll_name)",
    ),
    Message(
        "xla-did-not-compile",
        _K.OPERATION_FAILED,
        ("JIT compilation failed",),
        r"(?<!PTX )JIT compilation failed",
        "XLA could not compile a part of the program; why, other lines tell, or nothing does.",
        "xla_launch_util.cc",
        ">=2.4",
        example="UNKNOWN: JIT compilation failed.",
    ),
    Message(
        "ptxas-on-windows",
        _K.HARMLESS,
        ("Invoking ptxas not supported on Windows", "Invoking GPU asm compilation is supported on Cuda non-Windows"),
        "",
        "On Windows TensorFlow calls no ptxas; the driver compiles in its place.",
        "asm_compiler.cc",
        example="Internal: Invoking ptxas not supported on Windows",
    ),
    Message(
        "ptxas-not-found",
        _K.DEGRADED,
        (
            "an't find ptxas binary",
            "ould not find ptxas",
            "ouldn't get ptxas version",
            "ouldn't invoke ptxas",
            "ptxas --version returned ",
            "Relying on driver to perform ptx compilation",
            "No PTX compilation provider is available",
        ),
        "",
        "There is no ptxas on the path; the driver compiles instead, where it can.",
        "asm_compiler.cc",
        example="Couldn't get ptxas version string: INTERNAL: Couldn't invoke ptxas --version",
    ),
    Message(
        "cudnn-handle",
        _K.OPERATION_FAILED,
        ("create cudnn handle", "create a cudnn handle", "cudnn library could not create a handle"),
        "",
        "cuDNN could not start: mostly for lack of memory, else for its version or the driver's.",
        "cuda_dnn.cc",
        example="Could not create cudnn handle: see above",
    ),
    Message(
        "cudnn-old-driver",
        _K.OPERATION_FAILED,
        ("Possibly insufficient driver version", "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER"),
        r"Possibly insufficient driver version(?:: (?P<driver>\d[\d.]{2,14}))?|INCOMPATIBLE_CUDA_DRIVER",
        "cuDNN suspects that the driver is too old.",
        "cuda_dnn.cc, cuDNN",
        example="Possibly insufficient driver version: 418.87.0",
    ),
    Message(
        "cudnn-part-missing",
        _K.OPERATION_FAILED,
        (
            "Could not load library libcudnn",
            "Could not load library cudnn",
            "Could not locate cudnn",
            "Unable to load any of {libcudnn",
            "Cannot load symbol cudnn",
            " in cudnn DSO",
            "Could not load symbol cudnn",
        ),
        r"Could not (?:load library|locate) (?P<library>(?:lib)?cudnn\w{0,40}\.(?:so(?:\.\d{1,3}){0,3}|dll))"
        r"(?:\. Error: (?P<missing>lib[\w.]{1,40}))?"
        r"|Unable to load any of \{(?P<any>libcudnn[\w.]{0,60})"
        r"|(?:(?:Cannot|Could not) load symbol|could not find) (?P<symbol>cudnn\w{1,60})"
        r"(?: in cudnn DSO)?",
        "A part of cuDNN, or what it needs, cannot be loaded.",
        "cuDNN's loader",
        example="Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file",
    ),
    Message(
        "cudnn-wants-cublas",
        _K.OPERATION_FAILED,
        (
            "Could not load library libcublas",
            "Could not load library cublas",
            "Could not locate cublas",
            "Cannot load symbol cublas",
            "Could not load symbol cublas",
        ),
        r"Could not (?:load library|locate) (?P<library>(?:lib)?cublas(?:Lt)?(?:\.so\.\d{1,2}|64_\d{1,2}\.dll))"
        r"|(?:Cannot|Could not) load symbol (?P<symbol>cublas\w{1,60})"
        r"(?: from (?P<source>libcublas(?:Lt)?\.so\.\d{1,2}))?",
        "cuDNN does not find the cuBLAS of the CUDA release that it is built for.",
        "cuDNN's loader",
        example="Could not load library libcublasLt.so.12. Error: libcublasLt.so.12: cannot open shared object file",
    ),
    Message(
        "library-of-other-release",
        _K.OPERATION_FAILED,
        (" with link time reference",),
        r"(?P<file>lib[\w+-]{1,60}\.so[\w.]{0,20}): (?:undefined )?symbol:? (?P<symbol>\w{1,200}),? version "
        r"[\w.+-]{1,60},? not defined in file (?P<wanted>lib[\w.+-]{1,80}) with link time reference",
        "Two libraries that belong together are of different releases.",
        "dynamic loader",
        example="libcublas.so.11: symbol free_gemm_select version libcublasLt.so.11 not defined in file "
        "libcublasLt.so.11 with link time reference",
    ),
    Message(
        "zlib-missing",
        _K.OPERATION_FAILED,
        ("Could not locate zlibwapi.dll",),
        "",
        "cuDNN 8 on Windows needs zlibwapi.dll.",
        "cuDNN",
        example="Could not locate zlibwapi.dll. Please make sure it is in your library path!",
    ),
    Message(
        "convolution-not-started",
        _K.OPERATION_FAILED,
        ("Failed to get convolution algorithm", "DNN library is not found", "DNN library initialization failed"),
        "",
        "cuDNN did not start at the first convolution; lines before it say why, mostly lack of memory or versions.",
        "conv_ops.cc, xla/service/gpu",
        example="UnknownError: Failed to get convolution algorithm. This is probably because cuDNN",
    ),
    Message(
        "no-algorithm-worked",
        _K.OPERATION_FAILED,
        ("No algorithm worked!", "Failed to determine best cudnn convolution algorithm"),
        "",
        "Every algorithm of cuDNN failed: memory, or a GPU that it does not serve.",
        "autotune, conv_algorithm_picker.cc",
        example="NotFoundError: No algorithm worked!",
    ),
    Message(
        "cublas-handle",
        _K.OPERATION_FAILED,
        ("failed to create cublas handle", "ailed to create cuBLAS handle"),
        "",
        "cuBLAS could not start: mostly for lack of memory.",
        "cuda_blas.cc",
        example="failed to create cublas handle: the resource allocation failed",
    ),
    Message(
        "blas-failed",
        _K.OPERATION_FAILED,
        (" launch failed", "StreamExecutor without BLAS support"),
        r"Blas (?:[xX]?G\w{3}\w{0,8}|\w{1,12}) launch failed|without BLAS support",
        "A matrix product could not be started: memory, or versions.",
        "matmul_op, stream.cc",
        example="InternalError: Blas GEMM launch failed : a.shape=(32, 784), b.shape=(784, 512)",
    ),
    Message(
        "cudart-hint",
        _K.HARMLESS,
        ("Ignore above cudart dlerror if you do not have a GPU",),
        "",
        "What follows the message that libcudart was not found.",
        "cudart_stub.cc",
        "<2.11",
        example="Ignore above cudart dlerror if you do not have a GPU set up on your machine.",
    ),
    Message(
        "library-said-missing",
        _K.GPU_UNUSABLE,
        ("cudnn64_", "cudart64_", "cublas64_", "cusolver64_", "libcudnn.so", "libcudart.so", "libcublas.so"),
        r"(?:" + _NOT_FOUND_BEFORE + r")[^.;\r\n]{0,12}?(?P<library>" + _FILE + r")"
        r"|(?P<object>" + _FILE + r")[`'\"]? {0,2}(?:" + _NOT_FOUND_AFTER + r")",
        "Somebody says that this library is not found.",
        "a person",
        example="it says that it cannot find cudnn64_8.dll",
    ),
    Message(
        "library-not-found",
        _K.GPU_UNUSABLE,
        (" => not found",),
        r"(?P<library>lib(?:cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nccl|nvJitLink|cudnn\w{0,30})"
        r"\.so[\d.]{0,10}) => not found",
        "The loader does not find this library.",
        "ldd",
        example="	libcusparse.so.12 => not found",
    ),
    Message(
        "library-file",
        _K.HARMLESS,
        ("/libcudart.so.", "/libcudnn.so.", "/libcublas.so."),
        r"/(?P<library>lib(?:cudart|cublas|cudnn)\.so\.\d[\d.]{0,12})(?![\w.]{0,20}"
        r"(?:: cannot|: (?:undefined )?symbol| \(no such))",
        "A CUDA library lies there; whether TensorFlow finds it, this does not tell.",
        "ldconfig -p, ls, find",
        example="	libcudart.so.11.0 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.11.0",
    ),
    Message(
        "nvcc-release",
        _K.HARMLESS,
        ("Cuda compilation tools, release ",),
        r"Cuda compilation tools, release (?P<version>\d{1,2}\.\d{1,2})",
        "The CUDA toolkit that is on the path; TensorFlow need not use it.",
        "nvcc --version",
        example="Cuda compilation tools, release 11.8, V11.8.89",
    ),
    Message(
        "launch-failed",
        _K.OPERATION_FAILED,
        (
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "an illegal memory access was encountered",
            "CUDA_ERROR_LAUNCH_FAILED",
            "unspecified launch failure",
        ),
        "",
        "A kernel failed: a fault of the program, or of the card.",
        "CUDA driver",
        example="CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
    ),
    Message(
        "launch-timeout",
        _K.OPERATION_FAILED,
        ("CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
        "",
        "The display's watchdog ended a long kernel.",
        "CUDA driver",
        example="CUDA_ERROR_LAUNCH_TIMEOUT: the launch timed out and was terminated",
    ),
)
