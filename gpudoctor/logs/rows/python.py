"""What Python, pip and Keras print when the environment or the program does not fit the installed TensorFlow."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "protobuf-too-new",
        _K.IMPORT_FAILED,
        (
            "'MessageFactory' object has no attribute 'GetPrototype'",
            "Protocol Buffer runtime library, but the installed version",
            "of the Protocol Buffer runtime library",
            "Couldn't build proto file into descriptor pool",
        ),
        "",
        "The protobuf package is of another generation than this TensorFlow, or a library beside it, was made for.",
        "protobuf",
        example="AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'",
    ),
    Message(
        "numpy-symbolic",
        _K.IMPORT_FAILED,
        ("Cannot convert a symbolic Tensor (", "Cannot convert a symbolic tf.Tensor ("),
        r"Cannot convert a symbolic (?:tf\.)?Tensor \((?i:[\w/]{0,80}?(?:lstm|gru|rnn|bidirectional)[\w/]{0,80}?)"
        r"strided_slice[\w/:]{0,20}\) to a numpy array",
        "NumPy 1.20 and newer break recurrent layers of TensorFlow up to 2.4.",
        "TensorFlow",
        "<2.5",
        example="NotImplementedError: Cannot convert a symbolic Tensor (lstm_1/strided_slice:0) to a numpy array.",
    ),
    Message(
        "installer-no-wheel",
        _K.USAGE,
        (
            "Unable to find installation candidates for tensorflow",
            "doesn't have a source distribution or wheel for the current platform",
            "no wheels with a matching ",
            "has no wheels with a matching ",
            "] only has wheels with the following ",
            "not compatible with some of the required packages Python requirement",
        ),
        r"Unable to find installation candidates for (?P<package>tensorflow[\w-]{0,30})"
        r"(?: \((?P<release>[\w.]{1,20})\))?"
        r"|`tensorflow[^`\r\n]{0,80}` can't be installed because it doesn't have a source distribution or wheel"
        r"|tensorflow[^\r\n]{0,80}ha(?:s|ve) no wheels with a matching"
        r"|not compatible with some of the required packages Python requirement",
        "No release of it that is asked for has a wheel for this Python and platform.",
        "uv, poetry",
        example="error: Distribution `tensorflow==2.14.0 @ registry` can't be installed because it doesn't have a "
        "source distribution or wheel for the current platform",
    ),
    Message(
        "tensorflow-mixed",
        _K.IMPORT_FAILED,
        (
            "' from 'tensorflow",
            "No module named 'tensorflow_core",
            "No module named 'tensorflow.python.tools",
            "No module named 'tensorflow.python.framework",
            "No module named 'tensorflow.python'",
            "No module named 'tensorflow.compat'",
            "module 'ml_dtypes' has no attribute '",
            "' from 'typing_extensions'",
            "this __dict__ descriptor does not support '_DictWrapper' objects",
            "attrs['keras_version'].decode(",
            "model_config.decode('utf-8')",
            "cannot import name 'keras_export'",
            "cannot import name 'estimator_export'",
            "cannot import name 'tf_export'",
            "cannot import name keras_export",
            "cannot import name estimator_export",
            "cannot import name tf_export",
            "module 'tensorflow.python.",
        ),
        r"' from 'tensorflow' \((?:unknown location)|"
        r"' from 'tensorflow(?:_core)?\.(?!keras|python\.keras|compat\.v2|python\.eager\.context|python\.trackable"
        r"|python\.training\.tracking)[\w.]{1,60}'"
        r"|No module named 'tensorflow(?:_core|\.compat|\.python(?!\.keras))"
        r"|module 'ml_dtypes' has no attribute|' from 'typing_extensions'|does not support '_DictWrapper' objects"
        r"|attrs\['keras_version'\]\.decode\(|model_config\.decode\('utf-8'\)"
        r"|cannot import name '?(?:keras|estimator|tf)_export\b"
        r"|module 'tensorflow\.python\.(?!keras)[\w.]{2,60}' has no attribute '",
        "Parts of TensorFlow, or what it is installed with, are of different versions.",
        "Python",
        example="ImportError: cannot import name 'tf2' from 'tensorflow.python' (/venv/tensorflow/python/__init__.py)",
    ),
    Message(
        "keras-of-another",
        _K.USAGE,
        ("' from 'tensorflow.compat.v2", "' from 'tensorflow.python.eager.context'", "' from 'tensorflow.python.tra"),
        r"' from 'tensorflow\.(?:compat\.v2[\w.]{0,40}|python\.eager\.context|python\.trackable[\w.]{0,40}"
        r"|python\.training\.tracking[\w.]{0,40})'",
        "The package keras asks TensorFlow for what it does not have: the two are of different versions.",
        "Python",
        example="ImportError: cannot import name 'dtensor' from 'tensorflow.compat.v2.experimental' (/venv/x.py)",
    ),
    Message(
        "horovod-check-build",
        _K.USAGE,
        ("[ ] TensorFlow", "[ ] NCCL"),
        r"\[ \] (?P<part>TensorFlow|NCCL)(?![\w-])",
        "Horovod was built without this part.",
        "horovodrun --check-build",
        example="    [ ] NCCL",
    ),
    Message(
        "python-too-new",
        _K.IMPORT_FAILED,
        ("TFE_ContextOptionsSetAsync(arg1, async)",),
        "",
        "This TensorFlow uses a word as a name that newer Python keeps for itself.",
        "Python",
        "<1.13",
        example="    def TFE_ContextOptionsSetAsync(arg1, async):",
    ),
    Message(
        "no-kernel-registered",
        _K.USAGE,
        ("No OpKernel was registered to support Op '", "ould not find device for node: ", "find valid device for node"),
        r"No OpKernel was registered to support Op '(?P<op>\w{1,60})'|ould not find (?:valid )?device for node",
        "An operation has no kernel for any device that is there.",
        "kernel lookup, placer.cc",
        example="InvalidArgumentError: No OpKernel was registered to support Op 'CudnnRNN' used by {{node rnn}}",
    ),
    Message(
        "devices-wanted",
        _K.USAGE,
        ("we expect the following devices to be available: [",),
        r"devices to be available: \[[\w/:', ]{0,200}'(?P<device>/gpu:\d{1,2})'\]",
        "A program asks for more GPUs than TensorFlow lists.",
        "Keras' multi_gpu_model",
        "<2.4",
        example="we expect the following devices to be available: ['/cpu:0', '/gpu:0', '/gpu:1']. However this machine "
        "only has: ['/cpu:0', '/gpu:0'].",
    ),
    Message(
        "pip-remains",
        _K.DEGRADED,
        ("gnoring invalid distribution -ensorflow", "gnoring invalid distribution ~ensorflow"),
        r"invalid distribution (?P<name>[-~]ensorflow[\w-]{0,20}) \((?P<folder>[^)\r\n]{1,200})\)",
        "pip renamed a TensorFlow to remove it, and did not come to an end: a part of it is still there.",
        "pip",
        example="WARNING: Ignoring invalid distribution -ensorflow-gpu (c:\\python39\\lib\\site-packages)",
    ),
    Message(
        "process-access-violation",
        _K.HARMLESS,
        ("0xC0000005", "-1073741819"),
        "",
        "The process ended by a memory access that is not allowed.",
        "Windows, PyCharm",
        example="Process finished with exit code -1073741819 (0xC0000005)",
    ),
    Message(
        "cpu-layout",
        _K.USAGE,
        ("only supports the NHWC tensor format on the CPU", "only supports NHWC on device type CPU"),
        "",
        "A model in the layout of GPUs runs on the CPU.",
        "conv_ops.cc",
        example="The Conv2D op currently only supports the NHWC tensor format on the CPU.",
    ),
    Message(
        "pip-python-refused",
        _K.USAGE,
        ("requires a different Python: ", " Requires-Python "),
        r"Package '(?P<package>tensorflow[\w-]{0,30})' requires a different Python: (?P<python>[\d.]{1,8}\d) not in "
        r"'(?P<needed>[^'\r\n]{1,60})'",
        "pip refuses the package on this Python.",
        "pip",
        example="ERROR: Package 'tensorflow' requires a different Python: 3.7.3 not in '>=3.9'",
    ),
    Message(
        "pip-impossible",
        _K.USAGE,
        ("because these package versions have conflicting dependencies",),
        r"Cannot install (?P<packages>[^\r\n]{1,300}?) because these package versions have conflicting dependencies",
        "pip finds no set of versions that serves all that is asked for.",
        "pip",
        example="ERROR: Cannot install tensorflow==2.12.0 and numpy==1.26.0 because these package versions have "
        "conflicting dependencies.",
    ),
    Message(
        "resolver-impossible",
        _K.USAGE,
        (", we can conclude that ", ") is incompatible with "),
        r"(?P<context>[^\r\n]{0,300}), we can conclude that (?P<packages>[^\r\n]{1,200})"
        r"|(?P<one>[\w.-]{2,40} \([^)\r\n]{1,40}\)) is incompatible with (?P<other>[\w.-]{2,40} \([^)\r\n]{1,40}\))",
        "The resolver finds no set of versions that serves all that is asked for.",
        "uv, poetry",
        example="Because torch==2.5.1 depends on nvidia-cudnn-cu12==9.1.0.70 and tensorflow[and-cuda]==2.18.0 depends "
        "on nvidia-cudnn-cu12==9.3.0.75, we can conclude that torch==2.5.1 and tensorflow[and-cuda]==2.18.0 are "
        "incompatible.",
    ),
    Message(
        "conda-python-refused",
        _K.USAGE,
        (" -> python[version=",),
        r"(?P<package>tensorflow(?:-gpu|-base)?)(?:==?[\d.*]{1,12}|\[[^\r\n\]]{1,60}\])? -> python\[version=",
        "conda has no build of the package for the Python of this environment.",
        "conda",
        example="  - tensorflow -> python[version='3.5.*|3.6.*|3.7.*']",
    ),
    Message(
        "wheel-not-supported",
        _K.USAGE,
        (" is not a supported wheel on this platform",),
        r"(?P<wheel>[\w.+-]{1,120}\.whl) is not a supported wheel on this platform",
        "The file is for another Python, processor or operating system.",
        "pip",
        example="ERROR: tensorflow-2.9.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
    ),
    Message(
        "tensorflow-hollow",
        _K.USAGE,
        (
            "module 'tensorflow' has no attribute '__version__'",
            "module 'tensorflow' has no attribute 'config'",
            "module 'tensorflow' has no attribute 'keras'",
            "module 'tensorflow' has no attribute 'constant'",
            "module 'tensorflow' has no attribute 'version'",
            "module 'tensorflow' has no attribute 'test'",
            "module 'tensorflow' has no attribute 'Variable'",
            "module 'tensorflow' has no attribute 'compat'",
            "module 'tensorflow' has no attribute 'float32'",
            "module 'tensorflow' has no attribute 'device'",
        ),
        r"module 'tensorflow' has no attribute '(?P<attribute>\w{1,40})'",
        "What is imported as tensorflow is not a whole TensorFlow: remains of one, or a file of that name.",
        "Python",
        example="AttributeError: module 'tensorflow' has no attribute '__version__'",
    ),
    Message(
        "tensorflow-shadowed",
        _K.USAGE,
        (
            "partially initialized module 'tensorflow'",
            "partially initialized module 'keras'",
            "'tensorflow' is not a package",
            "'keras' is not a package",
        ),
        r"partially initialized module '(?P<module>tensorflow|keras)'|'(?P<file>tensorflow|keras)' is not a package",
        "A file of the user's own bears the name of the package and is imported in its place.",
        "Python",
        example="AttributeError: partially initialized module 'tensorflow' has no attribute 'constant' "
        "(most likely due to a circular import)",
    ),
    Message(
        "tensorflow-1-code",
        _K.USAGE,
        (
            "module 'tensorflow' has no attribute 'Session'",
            "module 'tensorflow' has no attribute 'placeholder'",
            "module 'tensorflow' has no attribute 'ConfigProto'",
            "module 'tensorflow' has no attribute 'contrib'",
            "No module named 'tensorflow.contrib'",
            "ensorflow 1 is unsupported in Colab",
        ),
        "",
        "The program was written for TensorFlow 1.",
        "Python",
        example="AttributeError: module 'tensorflow' has no attribute 'placeholder'",
    ),
    Message(
        "keras-json-backend",
        _K.USAGE,
        ("keras.json", '"backend"'),
        r"(?P<backend>theano|cntk)\W{0,3} backend (?:is )?(?:specified|set|named|given|configured) in "
        r"[^\r\n]{0,40}keras\.json"
        r"|\"backend\": ?\"(?P<written>theano|cntk)\"",
        "keras.json names a back-end that Keras no longer has.",
        "keras.json, a person",
        example='{"floatx": "float32", "epsilon": 1e-07, "backend": "theano", "image_data_format": "channels_last"}',
    ),
    Message(
        "keras-import-name",
        _K.USAGE,
        (
            "cannot import name '",
            "cannot import name np_utils",
            "cannot import name tf_utils",
            "module 'keras",
            "object has no attribute 'metrics_tensors'",
            "object has no attribute '_make_predict_function'",
            "object has no attribute '_make_train_function'",
            "object has no attribute '_get_distribution_strategy'",
            "object has no attribute 'predict_proba'",
            "No module named 'keras.",
            "No module named 'tensorflow.keras.",
            "No module named 'tensorflow.python.keras",
        ),
        r"cannot import name '(?P<name>\w{1,60})' from '(?P<module>(?:tensorflow\.(?:python\.)?)?keras[\w.]{0,80})"
        r"|cannot import name '?(?P<bare>(?:tf|np|conv|layer|generic)_utils|multi_gpu_model)\b"
        r"|module '(?P<owner>keras[\w.]{0,60})' has no attribute '(?P<attribute>\w{1,60})'"
        r"|'(?:Model|Sequential|Functional)' object has no attribute '"
        r"(?P<member>metrics_tensors|_make_(?:predict|train)_function|_get_distribution_strategy|predict_proba)'"
        r"|No module named '(?P<missing>(?:tensorflow\.)?(?:python\.)?keras\.[\w.]{1,80})'",
        "A name that this Keras does not have: it is of another version than the program, or than TensorFlow.",
        "Python",
        example="ImportError: cannot import name 'to_categorical' from 'keras.utils' (/venv/keras/utils/__init__.py)",
    ),
    Message(
        "keras-arguments",
        _K.USAGE,
        ("unexpected keyword argument '", "nrecognized keyword arguments passed to "),
        r"(?:(?P<function>fit|evaluate|predict)\(\) got an unexpected keyword argument "
        r"'(?P<argument>workers|use_multiprocessing|max_queue_size)')"
        r"|nrecognized keyword arguments passed to \w{1,40}: "
        r"\{?'(?P<passed>batch_input_shape|batch_shape|weights|input_length|groups|time_major|implementation)",
        "An argument that Keras 3 no longer takes.",
        "Keras",
        example="TypeError: TensorFlowTrainer.fit() got an unexpected keyword argument 'workers'",
    ),
    Message(
        "keras-saved-model",
        _K.USAGE,
        ("Unknown layer: ", "Could not deserialize class '", "nrecognized keyword arguments:', dict_keys(['"),
        r"Unknown layer: '?(?P<layer>Functional|Sequential|TensorFlowOpLayer|TFOpLambda|SlicingOpLambda|Cast)(?!\w)"
        r"|Could not deserialize class '(?P<class>\w{1,40})'"
        r"|nrecognized keyword arguments:', dict_keys\(\['(?P<passed>\w{1,40})'",
        "A saved model of another Keras version cannot be read.",
        "Keras",
        example="ValueError: Unknown layer: Functional",
    ),
    Message(
        "protobuf-broken",
        _K.IMPORT_FAILED,
        ("from google.protobuf.pyext import _message", "cannot import name '_message' from 'google.protobuf.pyext'"),
        "",
        "The compiled part of the protobuf package does not load.",
        "Python",
        example="ImportError: cannot import name '_message' from 'google.protobuf.pyext' (/venv/pyext/__init__.py)",
    ),
    Message(
        "macos-library-refused",
        _K.IMPORT_FAILED,
        ("incompatible architecture (have", "mach-o, but wrong architecture", "incompatible cpu-subtype"),
        r"incompatible architecture \(have \W{0,3}(?P<have>[\w,]{2,30})\W{0,4} ?need \W{0,3}(?P<need>\w{2,12})"
        r"|wrong architecture|incompatible cpu-subtype",
        "A library is built for another processor than this Python: Apple's or Intel's.",
        "dyld",
        example="(mach-o file, but is an incompatible architecture (have (x86_64), need (arm64e)))",
    ),
    Message(
        "tensorflow-source-folder",
        _K.IMPORT_FAILED,
        ("you should not try to import tensorflow from its source directory",),
        "",
        "The import met TensorFlow's source, or its compiled part did not load.",
        "tensorflow/python/__init__.py",
        example="you should not try to import tensorflow from its source directory;",
    ),
    Message(
        "kernel-died",
        _K.IMPORT_FAILED,
        ("kernel appears to have died", "ernel died", "ernel Restarting", "kernel crashed while executing"),
        "",
        "The process behind a notebook was ended.",
        "Jupyter, VS Code",
        example="The kernel appears to have died. It will restart automatically.",
    ),
    Message(
        "import-crash-said",
        _K.IMPORT_FAILED,
        ("egmentation fault", "egfault", "egmentation Fault", "egment Fault", "SIGSEGV"),
        r"(?i:import(?:ing|s)?(?: of)? tensorflow)\b[^\r\n]{0,40}(?i:segment\w{0,5} fault|segfault|sigsegv)"
        r"|(?i:segment\w{0,5} fault|segfault|sigsegv)\w{0,3}[^\r\n]{0,40}(?i:\bimport(?:ing|s)?(?: of)? tensorflow)\b",
        "Somebody says that the import of TensorFlow crashes the interpreter.",
        "a person",
        example="import tensorflow ends in a Segmentation fault",
    ),
    Message(
        "import-said",
        _K.HARMLESS,
        (
            "mporting tensorflow",
            "mport of tensorflow",
            'import tensorflow as tf"',
            "import tensorflow`",
            "after import tensorflow",
        ),
        "",
        "Somebody tells of what happens when TensorFlow is imported.",
        "a person",
        example="the moment I do `import tensorflow`, it ends",
    ),
    Message(
        "openmp-twice",
        _K.IMPORT_FAILED,
        ("OMP: Error #15: Initializing ",),
        r"OMP: Error #15: Initializing (?P<library>[\w.+-]{1,60})",
        "Two copies of OpenMP's library are loaded into one process, which ends it.",
        "libiomp5, libomp",
        example="OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.",
    ),
    Message(
        "process-illegal-instruction",
        _K.IMPORT_FAILED,
        ("exit code 132", "0xC000001D", "signal 4: SIGILL", "SIGILL (Illegal"),
        r"exit code 132|0xC000001D|SIGILL",
        "The processor met an instruction that it does not have; mostly AVX.",
        "PyCharm, shell",
        example="Process finished with exit code 132 (interrupted by signal 4: SIGILL)",
    ),
    Message(
        "vc-runtime-missing",
        _K.IMPORT_FAILED,
        ("msvcp140_1.dll", "MSVCP140_1.dll", "msvcp140.dll", "MSVCP140.dll", "VCRUNTIME140", "vcruntime140"),
        r"(?i:msvcp140(?:_1)?\.dll|vcruntime140(?:_1)?\.dll)",
        "The Visual C++ runtime is not installed, or is too old.",
        "Windows loader, self_check.py",
        example="The code execution cannot proceed because MSVCP140_1.dll was not found.",
    ),
    Message(
        "horovod-versions",
        _K.USAGE,
        ("HorovodVersionMismatchError",),
        r"HorovodVersionMismatchError: Framework (?P<framework>\w{1,20}) installed with version (?P<built>[\w.]{1,20}) "
        r"but found version (?P<found>[\w.]{1,20}\w)",
        "Horovod was built for another version of the framework.",
        "Horovod",
        example="HorovodVersionMismatchError: Framework tensorflow installed with version 2.9.1 but "
        "found version 2.11.0.",
    ),
    Message(
        "horovod-stalled",
        _K.OPERATION_FAILED,
        (
            *("Stalled ranks:", "Missing ranks:", "Stalled ops:", "HorovodInternalError"),
            "waiting for remainder of ranks for more than ",
        ),
        "",
        "Some workers of a Horovod training do not take part any more.",
        "Horovod",
        example="Stalled ranks: 1: [DistributedAdam_Allreduce/HorovodAllreduce_grads_0]",
    ),
    Message(
        "collective-too-late",
        _K.USAGE,
        ("Collective ops must be configured at program startup", "Collective ops are already configured"),
        "",
        "The strategy for several workers was made after other parts of TensorFlow had been used.",
        "eager/context.py",
        example="RuntimeError: Collective ops must be configured at program startup",
    ),
    Message(
        "worker-awaited",
        _K.HARMLESS,
        ("CreateSession still waiting for response from worker: ",),
        r"still waiting for response from worker: (?P<task>[/\w:]{1,80})",
        "A worker of a cluster has not answered yet; at a start that is so for some seconds.",
        "master.cc",
        "<2.6",
        example="I tensorflow/core/distributed_runtime/master.cc:209] CreateSession still waiting for response from "
        "worker: /job:worker/replica:0/task:3",
    ),
    Message(
        "grpc-server-started",
        _K.HARMLESS,
        ("Started server with target: grpc://",),
        "",
        "A worker of a cluster has started and waits for the others.",
        "grpc_server_lib.cc",
        example="I tensorflow/core/distributed_runtime/rpc/grpc_server_lib.cc:390] Started server with target: "
        "grpc://10.0.0.4:2222",
    ),
    Message(
        "horovod-without-nccl",
        _K.USAGE,
        ("Horovod has not been built with NCCL", "NCCL is not available", "Horovod not built with NCCL"),
        "",
        "Horovod was built without NCCL.",
        "Horovod",
        example="ValueError: NCCL is not available: Horovod has not been built with NCCL support",
    ),
    Message(
        "nccl-warning",
        _K.OPERATION_FAILED,
        ("NCCL WARN ",),
        r"NCCL WARN (?P<detail>(?![^\r\n]{0,80}(?:NVLS|is disabled))[^\r\n]{1,150})",
        "NCCL, which joins the GPUs, met a fault.",
        "NCCL",
        example="node1:412:498 [0] NCCL WARN Call to connect returned Connection refused, retrying",
    ),
    Message(
        "mpi-failed",
        _K.OPERATION_FAILED,
        (
            "ORTE was unable to reliably start",
            "There are not enough slots available in the system",
            "mpirun noticed that process",
        ),
        "",
        "The workers of a distributed run could not be started, or one ended.",
        "mpirun",
        example="There are not enough slots available in the system to satisfy the 4 slots",
    ),
    Message(
        "eager-on",
        _K.SLOW,
        (
            "run_functions_eagerly` option is set",
            "run_functions_eagerly(True)",
            "run_eagerly=True",
            "run_eagerly = True",
        ),
        r"run_functions_eagerly`? ?(?:option is set|\(True)|run_eagerly ?= ?True",
        "Functions are run operation by operation and not as graphs.",
        "tf.data, the program",
        example="UserWarning: Even though the `tf.config.experimental_run_functions_eagerly` option is set, this "
        "option does not apply to tf.data functions.",
    ),
)
