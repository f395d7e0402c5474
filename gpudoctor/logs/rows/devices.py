"""What TensorFlow says of the devices that it finds."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "device-properties",
        _K.GPU_USED,
        (" computeCapability: ",),
        r"pciBusID: (?P<pci_address>[0-9a-fA-F:.]{4,16}) name: (?P<gpu_name>[^\r\n]{1,80}?) "
        r"computeCapability: (?P<compute_capability>\d+\.\d+)",
        "TensorFlow found this GPU and looks at it; whether it takes it, later lines tell.",
        "gpu_device.cc",
        ">=2.1,<2.6",
        example="pciBusID: 0000:05:00.0 name: Quadro T2000 computeCapability: 7.5",
    ),
    Message(
        "device-properties-old",
        _K.GPU_USED,
        (" major: ",),
        r"name: (?P<gpu_name>[^\r\n]{1,80}?) major: (?P<major>\d+) minor: (?P<minor>\d+)(?: memoryClockRate)?",
        "TensorFlow found this GPU and looks at it; whether it takes it, later lines tell.",
        "gpu_device.cc",
        "<2.1",
        example="name: Tesla M60 major: 5 minor: 2 memoryClockRate(GHz): 1.1775",
    ),
    Message(
        "creating-device",
        _K.GPU_USED,
        ("Creating TensorFlow device (/",),
        r"Creating TensorFlow device \(/(?:device:GPU|gpu):(?P<index>\d+)\) -> \(device: \d+, "
        r"name: (?P<gpu_name>[^,\r\n]{1,80}), pci bus id: (?P<pci_address>[0-9a-fA-F:.]{4,16})",
        "TensorFlow takes this GPU.",
        "gpu_device.cc",
        "<1.5",
        example="Creating TensorFlow device (/gpu:0) -> (device: 0, name: GeForce GTX 970, pci bus id: 0000:03:00.0)",
    ),
    Message(
        "adding-visible-devices",
        _K.GPU_USED,
        ("Adding visible gpu device",),
        r"Adding visible gpu devices?: ?(?P<indices>[\d, ]{0,80})",
        "TensorFlow is about to take these GPUs.",
        "gpu_device.cc",
        "<2.9",
        example="gpu_device.cc:1697] Adding visible gpu devices: 0, 1",
    ),
    Message(
        "xla-device",
        _K.GPU_USED,
        ("StreamExecutor device (",),
        r"StreamExecutor device \((?P<index>\d+)\): (?P<gpu_name>[^,\r\n]{1,80}), "
        r"Compute Capability (?P<compute_capability>\d+\.\d+)",
        "XLA lists this GPU.",
        "xla/service/service.cc",
        example="StreamExecutor device (0): Tesla V100-SXM2-16GB, Compute Capability 7.0",
    ),
    Message(
        "xla-compiled",
        _K.GPU_USED,
        ("Compiled cluster using XLA!",),
        "",
        "A part of the model was compiled with XLA.",
        "device_compiler.h",
        example="device_compiler.h:186] Compiled cluster using XLA!  This line is logged at most once.",
    ),
    Message(
        "tensor-float-32",
        _K.GPU_USED,
        ("TensorFloat-32 will be used for the matrix multiplication",),
        "",
        "Matrix products run on the tensor cores of the GPU.",
        "cuda_blas.cc",
        ">=2.4",
        example="TensorFloat-32 will be used for the matrix multiplication. This will only be logged once.",
    ),
    Message(
        "colab-no-gpu",
        _K.GPU_UNUSABLE,
        ("SystemError: GPU device not found",),
        "",
        "The check at the head of Colab's notebook about GPUs: TensorFlow gave it no GPU.",
        "Colab's notebook about GPUs",
        example="SystemError: GPU device not found",
    ),
    Message(
        "listed-device",
        _K.USAGE,
        ("hysicalDevice(name=", "ogicalDevice(name=", "Executing op ", "): /job:"),
        # Where operations are logged with their devices, data stay on the CPU; a GPU is seen to be used.
        r"(?:(?:Physical|Logical)Device\(name='/?(?:physical_device:|device:|[\w:/]{0,60}?device:)"
        r"|(?:Executing op \w{1,60} in device |\): )/job:[\w/:]{1,60}?device:(?=GPU))"
        r"(?P<device>[A-Z_]{2,20}:\d{1,3})(?!\w)",
        "TensorFlow lists this device, or places an operation on it.",
        "tf.config",
        ">=2.0",
        example="[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]",
    ),
    Message(
        "metal-device",
        _K.HARMLESS,
        ("Metal device set to: ",),
        "",
        "Apple's GPU is in use through tensorflow-metal.",
        "tensorflow-metal",
        example="Metal device set to: Apple M2 Max",
    ),
    Message(
        "skipping-devices",
        _K.HARMLESS,
        ("Skipping registering GPU devices",),
        "",
        "The end of another message: TensorFlow goes on with the CPU.",
        "gpu_device.cc",
        example="Skipping registering GPU devices...",
    ),
    Message(
        "device-not-opened",
        _K.GPU_UNUSABLE,
        ("failed initializing StreamExecutor for CUDA device ordinal ",),
        r"failed initializing StreamExecutor for CUDA device ordinal (?P<index>\d+)",
        "A GPU could not be opened: its memory is full, it is held exclusively, or it is not supported.",
        "xla/service/platform_util.cc",
        example="failed initializing StreamExecutor for CUDA device ordinal 0: Internal: cuDevicePrimaryCtxRetain",
    ),
    Message(
        "devices-changed-late",
        _K.USAGE,
        (" devices cannot be modified after being initialized",),
        "",
        "Memory growth or visible devices were set after TensorFlow had started its devices.",
        "eager/context.py",
        example="RuntimeError: Physical devices cannot be modified after being initialized",
    ),
    Message(
        "multiprocessors",
        _K.HARMLESS,
        ("deviceMemorySize: ",),
        r"coreCount: (?P<count>\d{1,4}) deviceMemorySize: (?P<memory>\d+\.\d+)GiB",
        "How large the GPU is.",
        "gpu_device.cc",
        ">=2.1,<2.6",
        example="coreClock: 1.785GHz coreCount: 16 deviceMemorySize: 4.00GiB deviceMemoryBandwidth: 119.24GiB/s",
    ),
)
