"""Starting TensorFlow: the real one once, and stand-ins that do what broken ones do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpudoctor.facts.host import LOG_TAIL_BYTES, Host
from gpudoctor.facts.model import (
    Absent,
    Computation,
    Device,
    Known,
    RunOutcome,
    TensorFlowFacts,
    TensorFlowRun,
    Unknown,
)
from gpudoctor.facts.probes.target import Target
from gpudoctor.facts.probes.tensorflow_run import join, run_tensorflow
from tests.environments import Environment, make_environment, write

TIMEOUT = 120.0
# The little of TensorFlow that the child uses, over plain lists. Devices, versions and faults are put in by the test.
STUB = """
import os, sys, types
__version__ = VERSION
NAMES = DEVICES
current = ["CPU:0"]

class Tensor:
    def __init__(self, numbers, shape=()):
        self.numbers, self.shape = list(numbers), shape
        self.device = "/job:localhost/replica:0/task:0/device:" + RUNS_ON(current[0])
    def numpy(self): return self
    def ravel(self): return self.numbers
    def __add__(self, number): return Tensor(FAULT("elementwise", [n + number for n in self.numbers]))

class device:
    def __init__(self, name): self.name = name
    def __enter__(self): current[0] = self.name.strip("/")
    def __exit__(self, *_): current[0] = "CPU:0"

def constant(numbers, shape): return Tensor(numbers, shape)

def matmul(a, b):
    n = a.shape[0]
    cells = [(r, c) for r in range(n) for c in range(n)]
    return Tensor(FAULT("matmul", [sum(a.numbers[r*n+k] * b.numbers[k*n+c] for k in range(n)) for r, c in cells]))

def conv2d(image, kernel, strides, padding):
    assert strides == [1, 1, 1, 1] and padding == "VALID"
    (_, h, w, ci), (kh, kw, _, co) = image.shape, kernel.shape
    def at(y, x, o):
        return sum(image.numbers[((y+i)*w + x+j)*ci + c] * kernel.numbers[((i*kw + j)*ci + c)*co + o]
                   for i in range(kh) for j in range(kw) for c in range(ci))
    numbers = [at(y, x, o) for y in range(h-kh+1) for x in range(w-kw+1) for o in range(co)]
    return Tensor(FAULT("conv2d", numbers))

nn = types.SimpleNamespace(relu=lambda t: Tensor([max(n, 0.0) for n in t.numbers]), conv2d=conv2d)
test = types.SimpleNamespace(is_built_with_cuda=lambda: True)
sysconfig = types.SimpleNamespace()
listed = [types.SimpleNamespace(name="/physical_device:" + n, device_type=n.split(":")[0]) for n in NAMES]
details = lambda d: {"device_name": "GeForce " + d.name[-1], "compute_capability": (8, 9)}
config = types.SimpleNamespace(list_physical_devices=lambda: listed,
                               experimental=types.SimpleNamespace(get_device_details=details))
"""


def stub(environment: Environment, **values: str) -> None:
    """Write the stand-in package. values: text for VERSION, DEVICES, FAULT, RUNS_ON; EXTRA: code at its end."""
    given = {
        "VERSION": "'2.21.0'",
        "DEVICES": "['CPU:0']",
        "FAULT": "lambda operation, numbers: numbers",
        "RUNS_ON": "lambda name: name",
        **values,
    }
    extra = given.pop("EXTRA", "")
    head = "".join(f"{name} = {text}\n" for name, text in given.items())
    write(environment.site / "tensorflow/__init__.py", head + STUB + extra)


def broken(environment: Environment, code: str) -> None:
    write(environment.site / "tensorflow/__init__.py", code)


def start(environment: Environment, timeout: float = TIMEOUT) -> TensorFlowFacts:
    return run_tensorflow(environment.host(), environment.target, timeout)


def run_of(facts: TensorFlowFacts) -> TensorFlowRun:
    return facts.run.require()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path)


@pytest.fixture(scope="session")
def real() -> TensorFlowFacts:
    """Start the real TensorFlow once for all tests."""
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    target = Target(path=sys.executable, chosen_by="own", reason="")
    return run_tensorflow(Host(environ=environ), target, TIMEOUT)


def test_real_tensorflow_computes_on_the_cpu(real: TensorFlowFacts) -> None:
    run = run_of(real)
    assert (run.outcome, run.stage, run.detail) == (RunOutcome.OK, "done", "")
    assert run.seconds is not None
    assert run.seconds > 0
    assert real.version.require().startswith("2.21.")
    assert [d.name for d in real.devices.require()] == ["CPU:0"]
    assert real.computations.require() == tuple(
        Computation(device="CPU:0", operation=name, correct=True) for name in ("matmul", "conv2d", "elementwise")
    )


def test_real_tensorflow_log_is_whole_whatever_the_user_set(real: TensorFlowFacts) -> None:
    assert "cpu-features-notice" in {e.message for e in real.events.require()}
    assert "This TensorFlow binary is optimized" in real.log_tail.require()


def test_gpus_with_details_and_addresses_from_the_log(environment: Environment) -> None:
    line = (
        "Created device /job:localhost/replica:0/task:0/device:GPU:1 with 9558 MB memory:  -> device: 1, "
        "name: NVIDIA GeForce RTX 4090, pci bus id: 0000:02:00.0, compute capability: 8.9"
    )
    stub(environment, DEVICES="['CPU:0', 'GPU:0', 'GPU:1']", EXTRA=f"print({line!r}, file=sys.stderr)\n")
    facts = start(environment)
    assert facts.devices.require() == (
        Device(name="CPU:0", kind="CPU"),
        Device(name="GPU:0", kind="GPU", description="GeForce 0", compute_capability="8.9"),
        Device(name="GPU:1", kind="GPU", description="GeForce 1", compute_capability="8.9", pci_address="0000:02:00.0"),
    )
    computed = facts.computations.require()
    assert [c.device for c in computed] == ["GPU:0"] * 3 + ["GPU:1"] * 3 + ["CPU:0"] * 3
    assert all(c.correct for c in computed)


@pytest.mark.parametrize("minor", [6, 7, 13])
def test_old_and_new_interpreters(tmp_path: Path, minor: int) -> None:
    environment = make_environment(tmp_path, minor)
    stub(environment)
    assert run_of(start(environment)).outcome is RunOutcome.OK


def test_tensorflow_115_lists_by_its_experimental_name(environment: Environment) -> None:
    extra = """
enabled = []
compat = types.SimpleNamespace(v1=types.SimpleNamespace(enable_eager_execution=lambda: enabled.append(1)))
config = types.SimpleNamespace(experimental=types.SimpleNamespace(list_physical_devices=lambda: listed * len(enabled)))
"""
    stub(environment, VERSION="'1.15.0'", EXTRA=extra)
    facts = start(environment)
    assert run_of(facts).outcome is RunOutcome.OK
    assert [d.name for d in facts.devices.require()] == ["CPU:0"]


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        ("[n + 1 for n in numbers]", "wrong by 1 where the largest right number is "),
        ("[0.0] * len(numbers)", "wrong by "),
        ("[float('nan')] * len(numbers)", "wrong by nan where"),
        ("numbers[1:]", "numbers instead of"),
    ],
)
@pytest.mark.parametrize("operation", ["matmul", "conv2d", "elementwise"])
def test_wrong_numbers_on_one_gpu(environment: Environment, operation: str, fault: str, detail: str) -> None:
    condition = f"operation == {operation!r} and current[0] == 'GPU:0'"
    stub(
        environment,
        DEVICES="['CPU:0', 'GPU:0']",
        FAULT=f"lambda operation, numbers: {fault} if {condition} else numbers",
    )
    (wrong,) = [c for c in start(environment).computations.require() if not c.correct]
    assert (wrong.device, wrong.operation, wrong.correct) == ("GPU:0", operation, False)
    assert detail in wrong.detail


def test_rounding_is_not_wrong(environment: Environment) -> None:
    stub(environment, FAULT="lambda operation, numbers: [n * 1.0005 for n in numbers]")
    assert all(c.correct for c in start(environment).computations.require())


def test_computation_that_ran_elsewhere_shows_nothing(environment: Environment) -> None:
    stub(environment, DEVICES="['GPU:0']", RUNS_ON="lambda name: 'CPU:0'")
    for computation in start(environment).computations.require():
        assert computation.correct is None
        assert computation.detail == "ran on /job:localhost/replica:0/task:0/device:CPU:0"


def test_computation_that_raises(environment: Environment) -> None:
    text = "no kernel image is available for execution on the device\\nsecond line"
    fault = f"lambda operation, numbers: (_ for _ in ()).throw(RuntimeError({text!r}.replace('\\\\n', chr(10))))"
    stub(environment, DEVICES="['GPU:0']", FAULT=fault)
    facts = start(environment)
    assert run_of(facts).outcome is RunOutcome.OK
    first = facts.computations.require()[0]
    assert first.correct is None
    assert first.detail == "RuntimeError: no kernel image is available for execution on the device"
    assert "no-kernel-image" in {e.message for e in facts.events.require()}  # the trace is in the log


def test_crash_while_computing_keeps_what_came_before(environment: Environment) -> None:
    fault = "lambda operation, numbers: os.abort() if operation == 'conv2d' else numbers"
    stub(environment, DEVICES="['CPU:0', 'GPU:0']", FAULT=fault)
    facts = start(environment)
    run = run_of(facts)
    assert (run.outcome, run.stage, run.detail) == (RunOutcome.SIGNAL, "computing on GPU:0", "SIGABRT")
    assert run.seconds is not None
    assert facts.computations.require() == (Computation(device="GPU:0", operation="matmul", correct=True),)
    assert len(facts.devices.require()) == 2
    assert "Fatal Python error: Aborted" in facts.log_tail.require()  # faulthandler is on


@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        ("import os; os.abort()", RunOutcome.SIGNAL, "SIGABRT"),
        ("import os; os.kill(os.getpid(), 4)", RunOutcome.SIGNAL, "SIGILL"),
        ("import os; os.kill(os.getpid(), 9)", RunOutcome.SIGNAL, "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", RunOutcome.SIGNAL, "SIGSEGV"),
        ("import os; os._exit(7)", RunOutcome.EXIT, "ended with exit status 7"),
        ("import os; os._exit(0)", RunOutcome.EXIT, "ended with exit status 0 before it was done"),
        ("raise SystemExit(5)", RunOutcome.EXCEPTION, "SystemExit: 5"),
        ("raise ImportError('libcudart.so.10.0: no')", RunOutcome.EXCEPTION, "ImportError: libcudart.so.10.0: no"),
        ("raise ValueError", RunOutcome.EXCEPTION, "ValueError"),
        ("def f(): f()\nf()", RunOutcome.EXCEPTION, "RecursionError: maximum recursion depth exceeded"),
        ("raise ValueError(chr(0xdc80) + chr(27))", RunOutcome.EXCEPTION, "ValueError: \\udc80\x1b"),
        (
            "import sys; sys.stdout.close(); sys.stderr.close(); 1/0",
            RunOutcome.EXCEPTION,
            "ZeroDivisionError: division by",
        ),
    ],
)
def test_broken_at_import(environment: Environment, code: str, outcome: RunOutcome, detail: str) -> None:
    broken(environment, code)
    facts = start(environment)
    run = run_of(facts)
    assert (run.outcome, run.stage) == (outcome, "importing")
    assert run.detail.startswith(detail)
    assert isinstance(facts.devices, Unknown)
    assert isinstance(facts.computations, Unknown)
    assert facts.devices.reason.startswith("TensorFlow did not come to that: ")
    assert facts.devices.reason.endswith("while importing")


def test_not_installed(environment: Environment) -> None:
    facts = start(environment)
    assert run_of(facts).detail == "ModuleNotFoundError: No module named 'tensorflow'"
    assert [e.parameters for e in facts.events.require() if e.message == "no-module"] == [{"module": "tensorflow"}]


def test_hangs(environment: Environment) -> None:
    broken(environment, "import time; time.sleep(60)")
    facts = start(environment, timeout=1.0)
    assert (run_of(facts).outcome, run_of(facts).stage) == (RunOutcome.NO_ANSWER, "importing")
    reason = "TensorFlow did not come to that: it did not answer within 1 s while importing"
    assert facts.devices == facts.version == Unknown(reason)


def test_prints_without_measure(environment: Environment) -> None:
    stub(environment, EXTRA="line = 'noise' * 20 + chr(10)\nfor _ in range(1000): sys.stdout.write(line * 1000)\n")
    facts = start(environment)
    assert run_of(facts).outcome is RunOutcome.OK
    assert 0 < len(facts.log_tail.require()) <= LOG_TAIL_BYTES


def test_package_without_anything_in_it(environment: Environment) -> None:
    broken(environment, "")
    run = run_of(start(environment))
    assert (run.outcome, run.stage) == (RunOutcome.EXCEPTION, "importing")
    assert run.detail.startswith("AttributeError: module 'tensorflow' has no attribute")


def test_interpreter_that_cannot_be_asked() -> None:
    target = Target(path="/nowhere", chosen_by="--python", reason="", problem="there is no /nowhere")
    facts = run_tensorflow(Host(), target)
    assert run_of(facts) == TensorFlowRun(outcome=RunOutcome.NOT_STARTED, detail="there is no /nowhere")
    assert facts.devices == facts.events == Unknown("there is no /nowhere")


@pytest.mark.parametrize(
    "said", ["-X is reserved for implementation-specific arguments", "SyntaxError: invalid syntax"]
)
def test_interpreter_that_is_too_old(tmp_path: Path, said: str) -> None:
    path = write(tmp_path / "python", f"#!/bin/sh\necho '{said}'\nexit 2\n")
    path.chmod(0o755)
    facts = run_tensorflow(Host(), Target(path=str(path), chosen_by="--python", reason=""), TIMEOUT)
    reason = f"{path} is older than Python 3.6, the oldest that can be asked"
    assert run_of(facts) == TensorFlowRun(outcome=RunOutcome.NOT_STARTED, detail=reason)
    assert facts.devices == Unknown(f"TensorFlow did not come to that: {reason}")


def test_interpreter_that_cannot_be_started(tmp_path: Path) -> None:
    path = write(tmp_path / "python", "not a program\n")
    path.chmod(0o755)
    facts = run_tensorflow(Host(), Target(path=str(path), chosen_by="--python", reason=""), TIMEOUT)
    assert run_of(facts).outcome is RunOutcome.NOT_STARTED
    assert "could not be started" in run_of(facts).detail


def test_join_keeps_both_versions() -> None:
    files = TensorFlowFacts(version=Known("2.19.0", "metadata"), cuda_build=Known(True, "build_info.py"))
    ran = TensorFlowFacts(version=Known("2.21.0", "import tensorflow"), devices=Known((), "start"))
    joined = join(files, ran)
    assert joined.version == Known("2.21.0", "import tensorflow", (("2.19.0", "metadata"),))
    assert joined.cuda_build == files.cuda_build
    assert joined.devices == ran.devices


@pytest.mark.parametrize("files", [Unknown("not told"), Absent("none"), Known("2.21.0", "metadata")])
def test_join_version(files: Known[str] | Absent | Unknown) -> None:
    ran = TensorFlowFacts(version=Known("2.21.0", "import tensorflow"))
    assert join(TensorFlowFacts(version=files), ran).version.require() == "2.21.0"
    assert join(TensorFlowFacts(version=files), TensorFlowFacts()).version == files


LEAVES = "import os, tempfile; open(tempfile.mkstemp()[1], 'w').write(tempfile.gettempdir()); "


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "raise ImportError('no')"])
def test_what_tensorflow_writes_goes_with_it(tmp_path: Path, end: str) -> None:
    environment = make_environment(tmp_path)
    write(environment.site / "tensorflow" / "__init__.py", LEAVES + end + "\n")
    place = tmp_path / "temporary"
    place.mkdir()
    run_tensorflow(environment.host(TMPDIR=str(place)), environment.target, TIMEOUT)
    assert list(place.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_used_is_left_to_tensorflow(tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    told = "import os; raise ImportError(os.environ['TMPDIR'])\n"
    write(environment.site / "tensorflow" / "__init__.py", told)
    facts = run_tensorflow(environment.host(TMPDIR="/nowhere at all"), environment.target, TIMEOUT)
    assert "/nowhere at all" in facts.run.require().detail
