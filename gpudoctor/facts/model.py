"""What is known of a machine: a tree of frozen Structs whose leaves are known, absent or unknown.

Everything that judges or prints reads this tree; only probes, log readers and the codec write it. Nothing here
touches the machine.
"""

from __future__ import annotations

import enum
from typing import Annotated, Generic, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

NOT_READ = "not read"


# Redaction is decided per field, where the field is defined (see codec.redact).
PathText = Annotated[str, Meta(extra={"redact": "path"})]
LogText = Annotated[str, Meta(extra={"redact": "log"})]
CommandLine = Annotated[str, Meta(extra={"redact": "command-line"})]
UserName = Annotated[str, Meta(extra={"redact": "user"})]


class FactUnavailable(Exception):
    """A fact that a rule needs could not be read; the text is the reason, in the user's words."""


class FactAbsent(FactUnavailable):
    """A fact that a rule needs is known not to exist. A rule for which absence matters asks before it requires."""


class Known(
    Struct, Generic[T_co], frozen=True, tag="known", tag_field="state", forbid_unknown_fields=True, omit_defaults=True
):
    """A value that was read.

    source: where from, as a person would say it ("NVML", "log.txt:12").
    also: other values seen for the same thing, each with its source; then no rule is certain of it.
    """

    value: T_co
    source: PathText
    also: tuple[tuple[T_co, PathText], ...] = ()

    def require(self) -> T_co:
        """Return the value."""
        return self.value

    def get(self) -> T_co | None:
        """Return the value."""
        return self.value


class Absent(Struct, frozen=True, tag="absent", tag_field="state", forbid_unknown_fields=True):
    """Known not to exist; source says who knows."""

    source: PathText

    def require(self) -> NoReturn:
        """Raise FactAbsent."""
        raise FactAbsent(f"there is none ({self.source})")

    def get(self) -> None:
        """Return None."""
        return


class Unknown(Struct, frozen=True, tag="unknown", tag_field="state", forbid_unknown_fields=True):
    """Could not be read; reason is a sentence part for the user."""

    reason: PathText

    def require(self) -> NoReturn:
        """Raise FactUnavailable with the reason."""
        raise FactUnavailable(self.reason)

    def get(self) -> None:
        """Return None."""
        return


Fact = Known[T] | Absent | Unknown

# One shared leaf for what nobody asked: it is immutable, and "not read" is then one object.
UNREAD = Unknown(NOT_READ)


class Group(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the groups of facts."""


class PciDevice(Group, frozen=True, kw_only=True):
    """One PCI function of vendor 10de that is a display or 3D controller."""

    address: str
    """Domain, bus, device, function: 0000:01:00.0, lower case."""
    device_id: str
    """Four hexadecimal digits, lower case, without 0x."""
    driver: str | None = None
    """Kernel driver bound to it (nvidia, nouveau, vfio-pci), None if none is."""
    numa_node: int | None = None
    """NUMA node that it is attached to, None where there is one node only or the kernel does not know."""


class SystemPackage(Group, frozen=True, kw_only=True):
    """One package of the distribution: of dpkg, rpm or pacman."""

    name: str
    version: str
    """As the package manager writes it: 535.183.01-0ubuntu0.22.04.1."""
    removed: bool = False
    """Only its configuration is left (rc in dpkg's list)."""


class HostFacts(Group, frozen=True, kw_only=True):
    """Operating system and hardware around the GPU."""

    os: Fact[str] = UNREAD
    """linux, windows or macos."""
    distribution: Fact[str] = UNREAD
    """As the distribution names itself: Debian GNU/Linux 12 (bookworm)."""
    distribution_id: Fact[str] = UNREAD
    """ID of os-release: debian, ubuntu, fedora, rhel, arch."""
    distribution_version: Fact[str] = UNREAD
    """VERSION_ID of os-release: 12, 24.04."""
    kernel: Fact[str] = UNREAD
    libc: Fact[str] = UNREAD
    """Name and version: glibc 2.36, musl 1.2.4."""
    machine: Fact[str] = UNREAD
    """x86_64, aarch64."""
    cpu_model: Fact[str] = UNREAD
    cpu_flags: Fact[tuple[str, ...]] = UNREAD
    cpu_count: Fact[int] = UNREAD
    """Logical processors that this process may use."""
    cpu_quota: Fact[float] = UNREAD
    """Processors that the control group grants; absent where it sets no limit."""
    memory_total_bytes: Fact[int] = UNREAD
    memory_limit_bytes: Fact[int] = UNREAD
    """Limit of the control group; absent where there is none."""
    shm_bytes: Fact[int] = UNREAD
    """Size of /dev/shm."""
    container: Fact[str] = UNREAD
    """docker, podman, containerd, kubernetes, lxc, systemd-nspawn, apptainer, singularity, or container where the
    engine does not show itself; absent outside containers."""
    container_gpu: Fact[str] = UNREAD
    """How the container was given the driver's files: nvidia-runtime, cdi, or mounts (by something else); absent where
    it was given none, and outside containers."""
    power_source: Fact[str] = UNREAD
    """mains or battery; absent on a machine without a battery."""
    cpu_nodes: Fact[tuple[int, ...]] = UNREAD
    """NUMA nodes of the processors that this process may use; absent where there is one node only."""
    wsl: Fact[str] = UNREAD
    """Kernel release of WSL; absent outside WSL."""
    tegra: Fact[str] = UNREAD
    """Model of a board whose GPU is part of the chip (Jetson): it is on no PCI bus; absent on other machines."""
    secure_boot: Fact[bool] = UNREAD
    pci_gpus: Fact[tuple[PciDevice, ...]] = UNREAD
    """NVIDIA display and 3D controllers on the PCI bus; an empty tuple means scanned, none there."""
    system_packages: Fact[tuple[SystemPackage, ...]] = UNREAD
    """Those of NVIDIA's driver, CUDA and containers that a text names; others may be installed as well."""


class Api(enum.Enum):
    """How a driver library answered when it was started."""

    OK = "ok"
    ERROR = "error"
    NO_LIBRARY = "no-library"
    NO_ANSWER = "no-answer"
    CRASHED = "crashed"


class ApiAnswer(Group, frozen=True, kw_only=True):
    """Answer of nvmlInit or cuInit."""

    outcome: Api
    code: int | None = None
    """Number that the library returned."""
    name: str = ""
    """The library's name of the code: CUDA_ERROR_NO_DEVICE."""
    detail: str = ""
    """A sentence for the user: what it means, or what was seen (deadline, signal, loader message)."""


class LibcudaKind(enum.Enum):
    """What a libcuda.so.1 is."""

    DRIVER = "driver"
    STUB = "stub"
    COMPAT = "compat"
    WSL = "wsl"


class DeviceNode(Group, frozen=True, kw_only=True):
    """One /dev/nvidia* file."""

    path: str
    mode: str
    """Octal, as stat prints it: 0666."""
    accessible: bool
    """This user may open it for reading and writing."""


class KernelModule(Group, frozen=True, kw_only=True):
    """One NVIDIA kernel module on disk, for whichever kernel."""

    kernel: str
    """Release of the kernel that it is built for."""
    version: str | None = None
    """Of the driver, None where the place does not tell."""
    made_by: str = ""
    """dkms, package (as of linux-modules-nvidia-*), akmods, or empty."""


class GpuPair(Group, frozen=True, kw_only=True):
    """How two GPUs, by NVML's numbers, reach each other."""

    first: int
    second: int
    distance: str | None = None
    """internal, single (one switch), multiple (several), hostbridge, node, system (across sockets)."""
    reads: bool | None = None
    """One can read the other's memory directly."""
    obstacle: str | None = None
    """Why it cannot: chipset, gpu, bridge (of the processor), switched-off, not-supported."""


class DriverFacts(Group, frozen=True, kw_only=True):
    """Kernel module, NVML and libcuda: three things that can disagree."""

    version: Fact[str] = UNREAD
    """Version of the driver; `also` holds what other sources say."""
    cuda_version: Fact[str] = UNREAD
    """Highest CUDA version that the driver serves."""
    kernel_module_version: Fact[str] = UNREAD
    """Of the loaded module; absent if none is loaded."""
    kernel_module_kind: Fact[str] = UNREAD
    """open or proprietary."""
    kernel_module_on_disk: Fact[str] = UNREAD
    """Path of a module for the running kernel; absent if there is none."""
    kernel_modules_built: Fact[tuple[KernelModule, ...]] = UNREAD
    """Modules on disk for any kernel; read only where there is none for the running one."""
    kernel_headers: Fact[bool] = UNREAD
    """The headers of the running kernel are installed, without which no module can be built; read as above."""
    modules_loaded: Fact[tuple[str, ...]] = UNREAD
    """Of nvidia, nvidia_uvm, nvidia_modeset, nvidia_drm, nouveau."""
    device_nodes: Fact[tuple[DeviceNode, ...]] = UNREAD
    library_files: Fact[tuple[str, ...]] = UNREAD
    """libcuda and libnvidia-ml files in the usual folders."""
    nvml: Fact[ApiAnswer] = UNREAD
    nvml_version: Fact[str] = UNREAD
    """Driver version as NVML's library tells it."""
    nvml_device_count: Fact[int] = UNREAD
    cuda_init: Fact[ApiAnswer] = UNREAD
    libcuda_file: Fact[PathText] = UNREAD
    libcuda_kind: Fact[LibcudaKind] = UNREAD
    libcuda_version: Fact[str] = UNREAD
    """From its file name: libcuda.so.535.183.01."""
    cuda_device_count: Fact[int] = UNREAD
    """Devices that a CUDA program sees in this environment."""
    cuda_device_count_unmasked: Fact[int] = UNREAD
    """The same without CUDA_VISIBLE_DEVICES and its like."""
    topology: Fact[tuple[GpuPair, ...]] = UNREAD
    kernel_events: Fact[tuple[LogEvent, ...]] = UNREAD
    """What the kernel's log of this start tells of the GPU and its driver."""


class ProcessKind(enum.Enum):
    """How a process uses a GPU."""

    COMPUTE = "compute"
    GRAPHICS = "graphics"
    MPS = "mps"


class ProcessSight(enum.Enum):
    """What can be seen of a process that the driver lists."""

    SEEN = "seen"
    DEFUNCT = "defunct"
    """It has ended, and its parent has not collected it."""
    GONE = "gone"
    """No process has its number any more."""
    UNSEEN = "unseen"
    """The number is one of another PID namespace, or 0."""


class GpuProcess(Group, frozen=True, kw_only=True):
    """One process on one GPU."""

    pid: int
    kind: ProcessKind
    memory_bytes: int | None = None
    """None where the driver does not tell."""
    name: PathText | None = None
    """Name of the program; None where the process cannot be seen from here."""
    command_line: CommandLine | None = None
    user: UserName | None = None
    sight: ProcessSight | None = None
    """None where nobody looked, as in a text."""
    own: bool | None = None
    """It belongs to the user who runs gpudoctor."""
    parent_pid: int | None = None
    parent_name: PathText | None = None
    age_seconds: int | None = None
    container: str | None = None
    """docker, podman, containerd, kubernetes, lxc or slurm, from its control group."""
    control_group: PathText | None = None
    notebook: PathText | None = None
    """Notebook whose kernel it is, where Jupyter told it."""
    framework: str | None = None
    """tensorflow, torch or jax, from the libraries in its memory."""
    utilization_percent: int | None = None
    """Part of the last seconds in which it computed on the GPU, where NVML samples it."""
    mig_instance: str | None = None
    """UUID of the MIG instance that it runs on; None where MIG is off or not told."""


class Gpu(Group, frozen=True, kw_only=True):
    """One GPU, merged from all sources by PCI address, then UUID, then name and ordinal."""

    name: Fact[str] = UNREAD
    uuid: Fact[str] = UNREAD
    pci_address: Fact[str] = UNREAD
    pci_id: Fact[str] = UNREAD
    """Device id, four hexadecimal digits, lower case."""
    compute_capability: Fact[str] = UNREAD
    visible: Fact[bool] = UNREAD
    """A CUDA program in this environment sees it."""
    memory_total_bytes: Fact[int] = UNREAD
    memory_used_bytes: Fact[int] = UNREAD
    memory_free_bytes: Fact[int] = UNREAD
    utilization_percent: Fact[int] = UNREAD
    temperature_celsius: Fact[int] = UNREAD
    power_mw: Fact[int] = UNREAD
    power_limit_mw: Fact[int] = UNREAD
    clock_sm_mhz: Fact[int] = UNREAD
    clock_sm_max_mhz: Fact[int] = UNREAD
    throttle_reasons: Fact[tuple[str, ...]] = UNREAD
    pcie_generation: Fact[int] = UNREAD
    pcie_generation_max: Fact[int] = UNREAD
    pcie_width: Fact[int] = UNREAD
    pcie_width_max: Fact[int] = UNREAD
    ecc: Fact[bool] = UNREAD
    mig: Fact[bool] = UNREAD
    compute_mode: Fact[str] = UNREAD
    """default, exclusive-thread, prohibited, exclusive-process."""
    persistence: Fact[bool] = UNREAD
    display_active: Fact[bool] = UNREAD
    driver_model: Fact[str] = UNREAD
    """WDDM, TCC, MCDM on Windows; absent elsewhere."""
    fault: Fact[str] = UNREAD
    """lost (it fell off the bus) or needs-reset; absent where the GPU answers."""
    ecc_uncorrected: Fact[int] = UNREAD
    """Memory errors since the driver was started that could not be corrected."""
    pages_pending: Fact[bool] = UNREAD
    """Pages of its memory are to be retired at the next start."""
    rows_pending: Fact[bool] = UNREAD
    """Rows of its memory are to be remapped at the next reset."""
    rows_failed: Fact[bool] = UNREAD
    """A row could not be remapped: the memory is worn out."""
    mig_instances: Fact[tuple[str, ...]] = UNREAD
    """UUIDs of the MIG instances, as CUDA_VISIBLE_DEVICES takes them; absent where MIG is off."""
    virtualization: Fact[str] = UNREAD
    """none, passthrough, vgpu, host-vgpu, host-vsga."""
    licensed: Fact[bool] = UNREAD
    """Of a virtual GPU; absent for others."""
    bar1_total_bytes: Fact[int] = UNREAD
    bar1_used_bytes: Fact[int] = UNREAD
    nvlink_recoveries: Fact[int] = UNREAD
    """How often its NVLinks had to be trained anew since the driver was loaded; not read by `check --quick`."""
    fabric: Fact[str] = UNREAD
    """State of the NVSwitch fabric for this GPU: not-started, in-progress, completed, failed; absent without one."""
    nvlinks_up: Fact[int] = UNREAD
    nvlinks: Fact[int] = UNREAD
    """All, up or not."""
    numa_node: Fact[int] = UNREAD
    processes: Fact[tuple[GpuProcess, ...]] = UNREAD


class Library(Group, frozen=True, kw_only=True):
    """One CUDA library file that a program may ask for by its soname."""

    name: str
    """Without lib and version: cudart, cublas, cublasLt, cudnn, cudnn_ops, nvJitLink, ..."""
    soname: str = ""
    """The name by which programs ask for it: libcudart.so.12."""
    version: Fact[str] = UNREAD
    cuda_major: int | None = None
    """CUDA major version that the file belongs to; None where nothing tells."""
    path: PathText = ""
    origin: str = ""
    """wheel, conda, toolkit, wsl, system or other: where the file lies."""
    found_by: str = ""
    """What leads the loader there: RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache, default folders; empty: nothing."""
    wins: bool = False
    """The loader takes this file, of all with the same soname."""


class LibraryFacts(Group, frozen=True, kw_only=True):
    """CUDA libraries in the order in which TensorFlow finds them, and what XLA compiles with."""

    found: Fact[tuple[Library, ...]] = UNREAD
    """In the order of the loader's search; then those that lie where it does not look."""
    told: Fact[tuple[Library, ...]] = UNREAD
    """Those that a text names, as files or by packages of the system; others may be there as well."""
    told_whole: Fact[bool] = UNREAD
    """The text holds the whole list of the loader's cache: what is not in it, the loader finds by no default."""
    ptxas: Fact[PathText] = UNREAD
    """The first that XLA looks at; absent if there is none where it looks."""
    ptxas_version: Fact[str] = UNREAD
    libdevice: Fact[PathText] = UNREAD
    """Folder with libdevice.10.bc; absent if there is none where XLA looks."""


class Package(Group, frozen=True, kw_only=True):
    """One installed distribution."""

    name: str
    """Normalised: lower case, hyphens."""
    version: str
    location: PathText = ""
    installer: str | None = None
    empty: bool = False
    """It has no files of its own: it only requires another package."""


class CondaPackage(Group, frozen=True, kw_only=True):
    """One package in conda's own list."""

    name: str
    version: str
    build: str
    """cpu_py311h1fea92c_3: tells the variant."""


class Conflict(Group, frozen=True, kw_only=True):
    """One declared requirement of TensorFlow's family that the environment does not fulfil."""

    package: str
    """Who requires: tensorflow."""
    version: str
    name: str
    """What is required: numpy."""
    specifier: str
    """As the metadata write it: <2.0.0,>=1.23.5; empty where any version will do."""
    installed: str | None = None
    """None where it is not installed."""


class PackageProblem(Group, frozen=True, kw_only=True):
    """One thing wrong with the installed distributions."""

    kind: str
    """duplicate, leftover, broken-metadata, files-missing, hollow (a folder without code), unrecorded (files
    without metadata), shadowed (by a file on the search path), shadowed-here (by one in the current folder)."""
    name: str
    detail: PathText = ""


class PythonFacts(Group, frozen=True, kw_only=True):
    """The interpreter that runs the user's script, not the one that runs gpudoctor."""

    executable: Fact[PathText] = UNREAD
    chosen_by: Fact[str] = UNREAD
    """--python, VIRTUAL_ENV, CONDA_PREFIX, or own (nobody named one)."""
    version: Fact[str] = UNREAD
    implementation: Fact[str] = UNREAD
    bits: Fact[int] = UNREAD
    """64 or 32."""
    environment_kind: Fact[str] = UNREAD
    """venv, conda, pyenv, system."""
    installer: Fact[str] = UNREAD
    """What installs packages into it: pip, uv, poetry; absent where there is none of them."""
    ensurepip: Fact[bool] = UNREAD
    """It can put pip into an environment; Debian and Ubuntu keep that apart, in the package python3-venv."""
    externally_managed: Fact[bool] = UNREAD
    """The system forbids pip to install into it (PEP 668)."""
    prefix: Fact[PathText] = UNREAD
    search_path: Fact[tuple[PathText, ...]] = UNREAD
    user_site: Fact[PathText] = UNREAD
    """Folder of the user's own packages where it is in use; absent where it is switched off."""
    packages: Fact[tuple[Package, ...]] = UNREAD
    problems: Fact[tuple[PackageProblem, ...]] = UNREAD
    conflicts: Fact[tuple[Conflict, ...]] = UNREAD
    conda_packages: Fact[tuple[CondaPackage, ...]] = UNREAD
    """Of conda's list those that concern TensorFlow and CUDA; absent outside conda."""
    horovod_extensions: Fact[tuple[str, ...]] = UNREAD
    """Frameworks for which the installed Horovod is built: tensorflow, torch; absent without Horovod."""
    conda_program: Fact[str] = UNREAD
    """conda, mamba or micromamba: what is there to change this environment; absent outside conda, or without any."""
    conda_virtual_packages: Fact[tuple[CondaPackage, ...]] = UNREAD
    """What conda makes of the machine when it resolves: __cuda, __glibc; absent outside conda."""
    libstdcxx: Fact[tuple[str, ...]] = UNREAD
    """The newest symbol versions of the C++ library that TensorFlow gets: GLIBCXX_3.4.30, CXXABI_1.3.13."""
    libstdcxx_file: Fact[PathText] = UNREAD
    """That library; the source tells what leads the loader there."""
    horovod_operations: Fact[tuple[str, ...]] = UNREAD
    """By what the installed Horovod exchanges gradients of TensorFlow: nccl, mpi, gloo; absent without Horovod."""
    keras_json_backend: Fact[str] = UNREAD
    """Back-end that keras.json names; absent without such a file."""
    environment: Fact[dict[str, PathText]] = UNREAD
    """Variables that change what Python and CUDA find, from the environment that the child saw."""


class RunOutcome(enum.Enum):
    """How the child that starts TensorFlow ended."""

    OK = "ok"
    EXCEPTION = "exception"
    SIGNAL = "signal"
    NO_ANSWER = "no-answer"
    EXIT = "exit"
    NOT_STARTED = "not-started"


class TensorFlowRun(Group, frozen=True, kw_only=True):
    """What came of importing TensorFlow."""

    outcome: RunOutcome
    stage: str = ""
    """How far it came: importing, listing devices, computing on GPU:0, done."""
    detail: PathText = ""
    """Signal name, exit status, limit, or the exception's last line."""
    seconds: float | None = None
    """Wall time of the import."""


class Device(Group, frozen=True, kw_only=True):
    """One device that TensorFlow lists."""

    name: str
    """GPU:0, CPU:0."""
    kind: str
    description: str = ""
    compute_capability: str | None = None
    pci_address: str | None = None


class Computation(Group, frozen=True, kw_only=True):
    """One small computation on one device, compared with known numbers."""

    device: str
    operation: str
    """matmul or conv2d."""
    correct: bool | None = None
    """None if it raised."""
    detail: PathText = ""
    """The error's first line, or how far the numbers are off."""


class LogEvent(Group, frozen=True, kw_only=True):
    """One message that the log reader knows."""

    message: str
    """Id of the row in the message table."""
    line: int
    """Counted from 1."""
    source: str = ""
    """Name of the text, or of the child that printed it."""
    parameters: dict[str, LogText] = {}


class TensorFlowFacts(Group, frozen=True, kw_only=True):
    """TensorFlow as installed, as built, and as it ran."""

    distribution: Fact[str] = UNREAD
    """Package that provides `import tensorflow`; absent if none does."""
    version: Fact[str] = UNREAD
    location: Fact[PathText] = UNREAD
    cuda_build: Fact[bool] = UNREAD
    built_with_cuda: Fact[str] = UNREAD
    """As in build_info.py: 12.5.1, 64_112."""
    built_with_cudnn: Fact[str] = UNREAD
    compute_capabilities: Fact[tuple[str, ...]] = UNREAD
    """As in build_info.py: sm_60, compute_90."""
    symbol_versions: Fact[tuple[str, ...]] = UNREAD
    """The newest that its own libraries need of the system's: GLIBC_2.27, GLIBCXX_3.4.22, CXXABI_1.3.11."""
    cuda_requirements: Fact[tuple[str, ...]] = UNREAD
    """Requirements of the extra and-cuda, from the wheel's own metadata."""
    keras_version: Fact[str] = UNREAD
    keras_generation: Fact[int] = UNREAD
    """Which Keras tf.keras is: 2 or 3."""
    run: Fact[TensorFlowRun] = UNREAD
    """Unknown where nobody started it (`--quick`): then nothing here shows that the GPU works."""
    devices: Fact[tuple[Device, ...]] = UNREAD
    computations: Fact[tuple[Computation, ...]] = UNREAD
    events: Fact[tuple[LogEvent, ...]] = UNREAD
    log_tail: Fact[LogText] = UNREAD


class TrainingRun(Group, frozen=True, kw_only=True):
    """One of several runs of the same training that a text compares."""

    gpus: int | None = None
    """How many GPUs it used; 0 on the CPU; None where that is not told."""
    device: str = ""
    """cpu or gpu, where that is told."""
    step_seconds: float
    steps: int | None = None
    """Of an epoch; None where that is not told."""
    line: str = ""
    """Where in the text: log.txt:12."""


class TrainingFacts(Group, frozen=True, kw_only=True):
    """A measured or reported training."""

    step_seconds: Fact[float] = UNREAD
    """Median of the steady state."""
    first_step_seconds: Fact[float] = UNREAD
    first_epoch_seconds: Fact[float] = UNREAD
    batch_size: Fact[int] = UNREAD
    images_per_second: Fact[float] = UNREAD
    compute_only_images_per_second: Fact[float] = UNREAD
    input_only_images_per_second: Fact[float] = UNREAD
    data_wait_share: Fact[float] = UNREAD
    """0 to 1: part of the step that waits for data."""
    gpu_utilization_percent: Fact[float] = UNREAD
    cpu_utilization_percent: Fact[float] = UNREAD
    memory_peak_bytes: Fact[int] = UNREAD
    process_cpu_percent: Fact[float] = UNREAD
    """Processor time of the training's own process; 100 is one core."""
    later_epoch_seconds: Fact[float] = UNREAD
    """Median of the epochs after the first."""
    steps_per_epoch: Fact[int] = UNREAD
    parameters: Fact[int] = UNREAD
    """Of the model."""
    runs: Fact[tuple[TrainingRun, ...]] = UNREAD
    """Runs that a text compares: with other numbers of GPUs, or on the CPU."""
    device: Fact[str] = UNREAD
    """cpu or gpu."""
    input_pipeline: Fact[str] = UNREAD
    """ImageDataGenerator or tf.data."""
    augmentation: Fact[str] = UNREAD
    """none, flip, or full: turned, shifted, sheared and zoomed as well."""
    precision: Fact[str] = UNREAD
    """float32, float16 or bfloat16: what the layers compute in."""
    limit: Fact[str] = UNREAD
    """What a measurement of the parts found: input-bound, compute-bound, balanced, launch-bound."""
    gain_without_input: Fact[float] = UNREAD
    """How many times as fast it would be if input cost nothing."""
    profile_shares: Fact[dict[str, float]] = UNREAD
    """Time of all threads over the time of a profiled window: python, decode, augment, read."""
    cpu_images_per_second: Fact[float] = UNREAD
    """The best rate of the same training on this machine's CPU."""


class Facts(Group, frozen=True, kw_only=True, omit_defaults=False):
    """All that is known of one machine at one time."""

    schema: int = 1
    host: HostFacts = msgspec.field(default_factory=HostFacts)
    driver: DriverFacts = msgspec.field(default_factory=DriverFacts)
    gpus: tuple[Gpu, ...] = ()
    libraries: LibraryFacts = msgspec.field(default_factory=LibraryFacts)
    python: PythonFacts = msgspec.field(default_factory=PythonFacts)
    tensorflow: TensorFlowFacts = msgspec.field(default_factory=TensorFlowFacts)
    training: TrainingFacts = msgspec.field(default_factory=TrainingFacts)
