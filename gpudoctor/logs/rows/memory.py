"""What is printed about the GPU's memory."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "memory-growth-set",
        _K.HARMLESS,
        ("because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set",),
        "",
        "Memory is taken as it is needed.",
        "gpu_process_state.cc",
        example="Overriding orig_value setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set.",
    ),
    Message(
        "memory-at-start",
        _K.HARMLESS,
        ("Free memory: ", "freeMemory: ", "Total memory: ", "totalMemory: "),
        r"(?=[TtFf])(?:[Tt]otal ?[Mm]emory: (?P<total>[\d.]{1,8}[KMG]iB)[ ,]{0,3})?"
        r"(?:[Ff]ree ?[Mm]emory: (?P<free>[\d.]{1,8}[KMG]iB))?",
        "The memory of a GPU, and what of it was free before TensorFlow took any.",
        "gpu_device.cc",
        "<2.1",
        example="totalMemory: 7.92GiB freeMemory: 7.55GiB",
    ),
    Message(
        "host-memory-share",
        _K.HARMLESS,
        (" of free system memory", " exceeds 10% of system memory"),
        r"exceeds \d{1,3}% of (?:free )?system memory",
        "A large buffer in the computer's own memory; the GPU's is not concerned.",
        "cpu_allocator_impl.cc",
        example="Allocation of 734003200 exceeds 10% of free system memory.",
    ),
    Message(
        "host-out-of-memory",
        _K.OUT_OF_MEMORY,
        ("Unable to allocate ", "Out of memory: Kill", "by allocator cpu"),
        r"MemoryError: Unable to allocate (?P<size>[\d.]{1,8} [KMGT]iB)|Out of memory: Kill(?:ed)? process"
        r"|by allocator cpu",
        "The computer's own memory did not suffice.",
        "NumPy, kernel",
        example="numpy.core._exceptions.MemoryError: Unable to allocate 14.0 GiB for an array",
    ),
)
