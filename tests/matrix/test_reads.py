"""All that is read of a machine, found by watching, and each of it broken in every way: none of it is listed by hand.

test_files.py holds the files of the host and the driver against false alarms, one by one. Here are all probes, with the
libraries, the processes and the files of a Python environment; a new probe is broken too, without a word here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.facts.collect import collect
from gpudoctor.facts.model import Facts, GpuProcess, Known, Package, ProcessKind, PythonFacts, TensorFlowFacts
from gpudoctor.facts.probes import driver_files, host_files
from gpudoctor.facts.probes.libraries import read_libraries
from gpudoctor.facts.probes.libraries_stdcxx import read_stdcxx
from gpudoctor.facts.probes.processes import Viewer
from gpudoctor.facts.probes.python_environment import read_python
from gpudoctor.facts.scratch import SHELL
from gpudoctor.rules.registry import load_rules
from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write
from tests.facts.test_libraries import SITE, cache_file, elf_file
from tests.matrix.judged import assert_judged
from tests.matrix.test_files import FAULTS, Watched, binary, empty, fifo, folder, huge, machine, missing

Fault = Callable[[Path], None]
SECONDS = 60.0
PROCESS = 77
CUDNN_HEADER = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 3\n#define CUDNN_PATCHLEVEL 0\n"


class Everything(Watched):
    """A host that notes also what is only asked for."""

    def exists(self, path: str) -> bool:
        self.seen.add(path)
        return super().exists(path)

    def access(self, path: str, mode: int) -> bool:
        self.seen.add(path)
        return super().access(path, mode)


def apply(fault: Fault, place: Path) -> bool:
    """Break a file; one that is not there on a healthy machine appears, broken. Return whether that can be."""
    try:
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x")
    except OSError:  # a file is where its folder would be
        return False
    fault(place)
    return True


def whole(root: Path) -> Path:
    """Make a folder that looks like / of a machine, with TensorFlow, CUDA libraries and a process."""
    machine(root)
    runpath = "$ORIGIN/../nvidia/cublas/lib:$ORIGIN/../nvidia/cudnn/lib"
    texts: dict[str, bytes | str] = {
        f"{SITE}/tensorflow/libtensorflow_framework.so.2": elf_file(runpath=runpath),
        f"{SITE}/tensorflow/python/_pywrap_tensorflow_internal.so": elf_file(),
        f"{SITE}/nvidia/cublas/lib/libcublas.so.12": elf_file(),
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": elf_file(),
        f"{SITE}/nvidia/cudnn/include/cudnn_version.h": CUDNN_HEADER,
        "/usr/local/cuda-12.5/lib64/libcudart.so.12.5.82": elf_file(),
        "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc": "x",
        "/usr/local/cuda/bin/ptxas": "x",
        "/etc/ld.so.cache": cache_file(("libcudart.so.12", "/usr/local/cuda-12.5/lib64/libcudart.so.12.5.82")),
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6": elf_file(),
        "/venv/bin/python": "x",
        "/dev/kmsg": "6,1,1,-;NVRM: Xid (PCI:0000:01:00): 31, pid=77\n",
        f"/proc/{PROCESS}/comm": "python3\n",
        "/usr/local/cuda/version.json": '{"cuda_nvcc": {"version": "12.5.82"}}',
        "/sys/class/power_supply/AC0/type": "Mains\n",
        "/sys/class/power_supply/AC0/online": "1\n",
        "/sys/class/power_supply/BAT0/type": "Battery\n",
        "/sys/class/power_supply/BAT0/status": "Discharging\n",
        "/sys/class/power_supply/BAT0/scope": "System\n",
        "/sys/devices/system/node/node0/cpulist": "0-3\n",
        "/proc/self/mountinfo": "1 1 0:1 / / rw - overlay overlay rw\n",
    }
    for path, text in texts.items():
        write(root / path.lstrip("/"), text)
    (root / "usr/local/cuda/bin/ptxas").chmod(0o755)
    return root


def read(host: Watched) -> Facts:
    """Return what all probes of files tell."""
    python = PythonFacts(
        executable=Known("/venv/bin/python", "test"),
        prefix=Known("/venv", "test"),
        search_path=Known((SITE,), "test"),
        packages=Known((Package(name="nvidia-cudnn-cu12", version="9.3.0.75", location=SITE),), "test"),
        environment=Known({"LD_LIBRARY_PATH": "/usr/local/cuda-12.5/lib64"}, "test"),
    )
    tensorflow = TensorFlowFacts(version=Known("2.21.0", "test"), location=Known(f"{SITE}/tensorflow", "test"))
    libraries = read_libraries(host, python, tensorflow)
    python, tensorflow = read_stdcxx(host, python, tensorflow)
    viewer = Viewer(host)
    viewer.same_pids = True
    process = viewer.look(GpuProcess(pid=PROCESS, kind=ProcessKind.COMPUTE, memory_bytes=1 << 30))
    assert process.pid == PROCESS
    return Facts(
        host=host_files.probe(host), driver=driver_files.probe(host), libraries=libraries, python=python,
        tensorflow=tensorflow,
    )  # fmt: skip


def touched(root: Path) -> list[str]:
    host = Everything(root)
    read(host)
    return sorted(path for path in host.seen if path.strip("/"))


def in_time(work: Callable[[], Facts]) -> Facts:
    """Return what work returns; one that blocks fails the test and not the whole run."""
    found: list[Facts | BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as exc:  # noqa: BLE001 (raised below)
            found.append(exc)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "it blocks"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def broken_by_turns(tmp_path: Path, paths: Iterable[str], faults: Sequence[Fault]) -> int:
    """Break each path of a fresh machine in each way, read and judge it; return the number of combinations."""
    everything, count = tuple(load_rules()), 0
    for path in paths:
        for fault in faults:
            root = whole(tmp_path / f"{count}")
            if not apply(fault, root / path.lstrip("/")):
                continue
            try:
                assert_judged(in_time(lambda root=root: read(Watched(root))), everything)  # type: ignore[misc]
            except (AssertionError, OSError) as exc:
                raise AssertionError(f"{path}, {fault.__name__}: {exc}") from exc
            count += 1
    return count


QUICK: tuple[Fault, ...] = (missing, binary, fifo)


def test_what_the_probes_read_is_much(tmp_path: Path) -> None:
    paths = touched(whole(tmp_path / "root"))
    there = [path for path in paths if (tmp_path / "root" / path.lstrip("/")).exists()]
    for part in (
        "/etc/ld.so.cache",
        "/dev/kmsg",
        f"/proc/{PROCESS}/comm",
        "cudnn_version.h",
        "nvvm/libdevice",
        "bin/ptxas",
    ):
        assert any(part in path for path in [*paths, *there]), part
    assert len(there) > 30 and len(paths) > 80


@pytest.mark.parametrize("faults", [QUICK, pytest.param(FAULTS, marks=pytest.mark.slow)], ids=["quick", "every"])
def test_each_file_that_any_probe_reads(
    tmp_path: Path, faults: Sequence[Fault], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = touched(whole(tmp_path / "root"))
    count = broken_by_turns(tmp_path, paths, faults)
    with capsys.disabled():
        print(f"\n{count} faults of {len(paths)} files and folders that the probes ask for", end=" ")
    assert count > 2 * len(paths)


@pytest.mark.parametrize(
    "faults",
    [(binary, fifo), pytest.param((missing, folder, huge), marks=pytest.mark.slow)],
    ids=["quick", "other"],
)
def test_replaced_while_it_is_read(tmp_path: Path, faults: Sequence[Fault]) -> None:
    """The first reading finds the file, and behind its back it becomes another one, a FIFO, or nothing."""
    everything = tuple(load_rules())
    for number, path in enumerate(touched(whole(tmp_path / "root"))):
        for fault in faults:
            root = whole(tmp_path / f"{number}-{fault.__name__}")

            def exchange(now: str, root: Path = root, path: str = path, fault: Fault = fault) -> None:
                place = root / path.lstrip("/")
                if now == path and os.path.lexists(place):
                    fault(place)

            assert_judged(in_time(lambda root=root, exchange=exchange: read(Watched(root, exchange))), everything)  # type: ignore[misc]


# Seen by the child that reads an environment, from its start.
SPY = """
import os, sys
def spy(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        os.write(FILE, (event + " " + arguments[0] + "\\n").encode("utf-8", "surrogateescape"))
    elif event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
        os.write(FILE, ("command " + str(arguments[0]) + "\\n").encode("utf-8", "surrogateescape"))
FILE = os.open(os.environ["GPUDOCTOR_TEST_SPY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(spy)
"""


def rich_environment(base: Path) -> Environment:
    made = make_environment(base)
    add_tensorflow(made.site)
    for name, version in (("numpy", "2.1.3"), ("keras", "3.12.0"), ("protobuf", "6.33.0"), ("horovod", "0.28.1"),
                          ("nvidia-cudnn-cu12", "9.3.0.75")):  # fmt: skip
        add_distribution(made.site, name, version)
    return made


def answer(made: Environment, **variables: str) -> PythonFacts:
    return read_python(made.host(**variables), made.target, SECONDS).python


def opened(base: Path) -> tuple[list[Path], list[str]]:
    """Return the files and folders of an environment that its child opens, and the commands that it starts."""
    made = rich_environment(base / "watched")
    write(base / "spy" / "sitecustomize.py", SPY)
    answer(made, PYTHONPATH=str(base / "spy"), GPUDOCTOR_TEST_SPY=str(base / "seen"))
    lines = [line.partition(" ") for line in (base / "seen").read_text("utf-8", "surrogateescape").splitlines()]
    own = Path(made.python).parents[1]
    files = {Path(path) for event, _, path in lines if event != "command" and Path(path).is_relative_to(own)}
    commands = [path for event, _, path in lines if event == "command"]
    return sorted(path.relative_to(own) for path in files if path != own), commands


def test_the_child_starts_no_command(tmp_path: Path) -> None:
    assert opened(tmp_path)[1] == []


ENVIRONMENT_QUICK: tuple[Fault, ...] = (missing, fifo)
ENVIRONMENT_FAULTS: tuple[Fault, ...] = (missing, empty, binary, huge, fifo, folder)


@pytest.mark.parametrize(
    "faults", [ENVIRONMENT_QUICK, pytest.param(ENVIRONMENT_FAULTS, marks=pytest.mark.slow)], ids=["quick", "every"]
)
def test_each_file_of_an_environment(
    tmp_path: Path, faults: Sequence[Fault], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [path for path in opened(tmp_path)[0] if path.parts[0] != "bin" and path.name != "pyvenv.cfg"]
    assert any(path.name == "METADATA" for path in paths) and any(path.name == "build_info.py" for path in paths)
    count = 0
    for path in paths:
        for fault in faults:
            made = rich_environment(tmp_path / f"{count}")
            if not apply(fault, Path(made.python).parents[1] / path):
                continue
            started = time.monotonic()
            told = answer(made)
            assert time.monotonic() - started < SECONDS, f"{path}, {fault.__name__}"
            assert told.version.get() == ".".join(map(str, sys.version_info[:3])), f"{path}, {fault.__name__}"
            count += 1
    with capsys.disabled():
        print(f"\n{count} faults of {len(paths)} files and folders of an environment", end=" ")


def test_no_command_is_run_but_interpreters(tmp_path: Path) -> None:
    """Whatever a whole check starts is a Python: what other programs print can change and hang."""
    made = rich_environment(tmp_path)
    write(made.site / "tensorflow" / "__init__.py", "__version__ = '2.21.0'\n")
    write(tmp_path / "spy" / "sitecustomize.py", SPY)
    variables = {"PYTHONPATH": str(tmp_path / "spy"), "GPUDOCTOR_TEST_SPY": str(tmp_path / "seen")}
    argv = [sys.executable, "-m", "gpudoctor", "check", "--format", "json", "--python", made.python]
    done = subprocess.run(argv, env={**os.environ, **variables}, capture_output=True, check=False)
    assert done.stdout.startswith(b"{")
    lines = (tmp_path / "seen").read_text("utf-8", "surrogateescape").splitlines()
    commands = {line.partition(" ")[2] for line in lines if line.startswith("command ")}
    assert commands == {sys.executable, made.python, SHELL}  # the shell sweeps the temporary folder up


def test_a_folder_in_place_of_a_machine_is_read_whole(tmp_path: Path) -> None:
    """The same through the front door: collect goes to its end on an empty folder too."""
    made = rich_environment(tmp_path / "environment")
    for root in (whole(tmp_path / "root"), tmp_path / "nothing"):
        root.mkdir(exist_ok=True)
        host = Watched(root)
        host.environ = {"PATH": os.environ["PATH"]}
        collected = collect(host, python=made.python, start_tensorflow=False)
        assert not collected.interrupted
        assert_judged(replace(collected.facts, gpus=()), tuple(load_rules()))
