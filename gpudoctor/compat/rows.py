"""Row types of the bundled tables."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Trust(str, Enum):
    """How far a row can be trusted. Never act on a low one alone."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each row has: its trust, and the index of its source in the table's list."""

    confidence: Trust
    source: int


class Wheel(Row, frozen=True, kw_only=True):
    """One TensorFlow release of one package on one platform; requirement texts are the wheel's own."""

    tensorflow: str
    package: str
    platform: str
    released: str
    kind: str
    pythons: tuple[str, ...] = ()
    requires_python: str = ""
    glibc: str = ""
    cuda_build: bool | None = None
    cuda: str = ""
    cudnn: str = ""
    capabilities: tuple[str, ...] = ()
    cuda_raw: str = ""
    cudnn_raw: str = ""
    tensorrt: bool | None = None
    keras: str = ""
    numpy: str = ""
    protobuf: str = ""
    h5py: str = ""
    ml_dtypes: str = ""
    stub_target: str = ""


class OfficialBuild(Row, frozen=True, kw_only=True):
    """A line of the official tables of tested builds."""

    tensorflow: str
    os: str
    device: str
    package: str
    pythons: tuple[str, ...] = ()
    compiler: str = ""
    build_tool: str = ""
    cudnn: str = ""
    cuda: str = ""


class GpuCodeRow(Row, frozen=True, kw_only=True):
    """Compute capabilities by the kind of code that a CUDA wheel has for them."""

    tensorflow: str
    package: str
    platform: str
    basis: str
    native: tuple[str, ...] = ()
    native_partial: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    ptx_foreign: tuple[str, ...] = ()
    ptx_known_to_fail: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


class Fatbin(Row, frozen=True, kw_only=True):
    """GPU code counted in the shared libraries of a published wheel.

    `ptx_cuda` is the CUDA release of the newest PTX version in it: what the driver must serve to compile all of it.
    """

    tensorflow: str
    package: str
    native: tuple[str, ...] = ()
    native_partial: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    ptx_cuda: str = ""
    native_entries: str = ""
    ptx_entries: str = ""


class CudaPin(Row, frozen=True, kw_only=True):
    """A requirement of an extra of the tensorflow package."""

    tensorflow: str
    package: str
    specifier: str
    extra: str
    platform: str


class CudaDriver(Row, frozen=True, kw_only=True):
    """A CUDA toolkit, the driver that belongs to it, and the least one under minor-version compatibility."""

    cuda: str
    branch: str
    toolkit_linux: str = ""
    toolkit_windows: str = ""
    minor_linux: str = ""
    minor_windows: str = ""
    minor_windows_branch: str = ""


class DriverBranch(Row, frozen=True, kw_only=True):
    """A driver branch; `windows` is a range or a list of the numbers seen there."""

    branch: str
    cuda_max: str
    kind: str
    oldest_architecture: str
    confidence_kind: Trust
    confidence_windows: Trust
    end_of_life: str = ""
    windows: str = ""
    first_for: tuple[str, ...] = ()
    last_for: tuple[str, ...] = ()


class Cudnn(Row, frozen=True, kw_only=True):
    """cuDNN releases from `first` to `last` for one CUDA major version."""

    first: str
    last: str
    cuda_major: int
    cuda_versions: str
    lowest_cc: str
    highest_cc: str
    driver_linux: str = ""
    driver_windows: str = ""
    measured_native: tuple[str, ...] = ()
    measured_ptx: tuple[str, ...] = ()


class CudaArch(Row, frozen=True, kw_only=True):
    """Compute capabilities that a CUDA toolkit compiles for."""

    cuda: str
    lowest_cc: str
    highest_cc: str
    targets: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class Gpu(Row, frozen=True, kw_only=True):
    """A GPU by name; `last_driver_branch` is empty while drivers still serve it."""

    name: str
    compute_capability: str
    architecture: str
    segment: str
    ambiguous: bool
    chips: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    last_driver_branch: str = ""


class PlatformFact(Row, frozen=True, kw_only=True):
    """What holds on a platform for TensorFlow releases from one to another, both included; empty is open."""

    topic: str
    platform: str
    value: str
    from_tensorflow: str = ""
    to_tensorflow: str = ""
    detail: str = ""


class KerasRow(Row, frozen=True, kw_only=True):
    """The Keras that a TensorFlow release brings, and the releases of tf-keras for it."""

    tensorflow: str
    generation: int
    built_in: bool
    requirement: str = ""
    tf_keras: tuple[str, ...] = ()


class Horovod(Row, frozen=True, kw_only=True):
    """A Horovod release and the TensorFlow releases that it was tested or seen with."""

    horovod: str
    released: str
    tensorflow_max_tested: str
    tensorflow_min: str = ""
    tensorflow_max_reported: str = ""
    tensorflow_first_broken: str = ""


class PipRoute(Row, frozen=True, kw_only=True):
    """How the CUDA libraries of pip wheels reach the Linux wheels of TensorFlow from one release to another."""

    from_tensorflow: str
    to_tensorflow: str
    nvidia_runpath: bool
    extra_installs: bool
    runpath_lacks: tuple[str, ...] = ()
    """Libraries whose wheel is installed and not found all the same: LD_LIBRARY_PATH has to name its folder."""


class CudaLibrary(Row, frozen=True, kw_only=True):
    """The soname of a library in the CUDA releases from one to another, and the wheel that carries it."""

    library: str
    from_cuda: str
    to_cuda: str
    soname: str
    wheel: str = ""


class LibraryUse(Row, frozen=True, kw_only=True):
    """A library that TensorFlow opens, by release; without a required one it leaves all GPUs out."""

    library: str
    from_tensorflow: str
    required: bool
    to_tensorflow: str = ""


class CondaCuda(Row, frozen=True, kw_only=True):
    """Packages of conda-forge, and of pip beside them, that provide CUDA for TensorFlow releases on a platform."""

    platform: str
    from_tensorflow: str
    to_tensorflow: str
    packages: tuple[str, ...]
    pip_packages: tuple[str, ...] = ()
    compiler: str = ""
    """Package of the channel nvidia with ptxas, which XLA needs."""


class DockerImage(Row, frozen=True, kw_only=True):
    """Whether images tensorflow/tensorflow:TAG-gpu use a GPU, as far as reports and their use tell."""

    from_tensorflow: str
    to_tensorflow: str
    works: bool
    tags: tuple[str, ...]
    """Those that were seen in use; that they are still served was not looked up."""
    fault: str = ""


class SymbolVersions(Row, frozen=True, kw_only=True):
    """The newest versions that the libraries of the wheels from one release to another need of the system's."""

    from_tensorflow: str
    to_tensorflow: str
    platform: str
    glibc: str
    glibcxx: str
    cxxabi: str


TYPES: dict[str, type[Row]] = {
    "conda_cuda": CondaCuda,
    "cuda_archs": CudaArch,
    "cuda_drivers": CudaDriver,
    "cuda_libraries": CudaLibrary,
    "cuda_pins": CudaPin,
    "cudnn": Cudnn,
    "docker_images": DockerImage,
    "driver_branches": DriverBranch,
    "fatbins": Fatbin,
    "gpu_code": GpuCodeRow,
    "gpus": Gpu,
    "horovod": Horovod,
    "keras": KerasRow,
    "pip_routes": PipRoute,
    "platforms": PlatformFact,
    "symbol_versions": SymbolVersions,
    "tensorflow_builds": OfficialBuild,
    "tensorflow_libraries": LibraryUse,
    "tensorflow_wheels": Wheel,
}
