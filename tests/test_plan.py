"""The smallest solver: what it recommends, what it prints, and an oracle that agrees on what is feasible."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from gpudoctor import compat
from gpudoctor.compat import GpuCode, Os, Trust
from gpudoctor.plan import (
    Excluded,
    Installer,
    Machine,
    Plan,
    Provider,
    Stack,
    install_commands,
    new_environment_commands,
    newest_tensorflow,
    python_for,
)
from gpudoctor.plan.stack import build_stack, requirements


def linux(cc: str | None, driver: str | None, *pythons: str, glibc: str | None = None) -> Machine:
    return Machine(
        os=Os.LINUX, compute_capabilities=(cc,) if cc else (), driver=driver, pythons=pythons or None, glibc=glibc
    )


def stack_of(plan: Plan) -> Stack:
    assert plan.stack is not None
    return plan.stack


class TestExamples:
    def test_a_maxwell_gpu_under_an_old_driver(self) -> None:
        plan = newest_tensorflow(linux("5.0", "470.57.02", "3.11"))
        stack = stack_of(plan)
        assert (stack.tensorflow, stack.cuda, stack.cudnn, stack.keras) == ("2.14.1", "11.8", "8.7", 2)
        assert (stack.gpu_code, stack.driver_min, stack.provided_by) == (GpuCode.NATIVE, "450.80.02", Provider.PIP)
        assert stack.pythons_at_hand == ("3.11",)
        assert plan.excluded[-1] == Excluded(
            "2.15.0",
            "driver-too-old-for-cuda",
            "driver 470.57.02 is older than 525.60.13, the minimum for CUDA 12.2",
        )
        assert plan.excluded[0] == Excluded(
            "2.21.0", "gpu-arch-too-old-for-wheel", "tensorflow 2.21.0 has code for 6.0, 7.0, 8.0, 8.9, 9.0 only"
        )
        assert install_commands(stack, "/opt/my env/bin/python") == (
            "'/opt/my env/bin/python' -m pip install tensorflow==2.14.1 nvidia-cublas-cu11==11.11.3.6 "
            "nvidia-cuda-cupti-cu11==11.8.87 nvidia-cuda-nvcc-cu11==11.8.89 nvidia-cuda-runtime-cu11==11.8.89 "
            "nvidia-cudnn-cu11==8.7.0.84 nvidia-cufft-cu11==10.9.0.58 nvidia-curand-cu11==10.3.0.86 "
            "nvidia-cusolver-cu11==11.4.1.48 nvidia-cusparse-cu11==11.7.5.86 nvidia-nccl-cu11==2.16.5",
        )

    def test_the_same_with_a_newer_driver(self) -> None:
        plan = newest_tensorflow(linux("5.0", "535.183.01", "3.11"))
        assert stack_of(plan).requirements == ("tensorflow[and-cuda]==2.16.2",)
        assert plan.excluded[-1].tensorflow == "2.17.0"
        assert plan.excluded[-1].because == "gpu-arch-too-old-for-wheel"
        old = newest_tensorflow(linux("5.0", "470.57.02", "3.11")).with_other_driver
        assert old is not None
        assert (old.tensorflow, old.driver_min) == ("2.16.2", "525.60.13")

    def test_a_driver_of_its_major_release_serves_a_newer_minor_one(self) -> None:
        plan = newest_tensorflow(linux("8.9", "535.183.01", "3.11"))
        assert stack_of(plan).requirements == ("tensorflow[and-cuda]==2.21.0",)
        assert plan.excluded == ()
        assert plan.with_other_driver is None

    @pytest.mark.parametrize("cc", ["6.0", "6.1", "7.0", "7.2"])
    def test_a_gpu_that_the_newest_cudnn_dropped_gets_an_older_one(self, cc: str) -> None:
        stack = stack_of(newest_tensorflow(linux(cc, "580.65.06")))
        assert stack.requirements == ("tensorflow[and-cuda]==2.21.0", "nvidia-cudnn-cu12<9.11")
        assert any(e.claim == "cuDNN 9.11.0 has no code below compute capability 7.5" for e in stack.evidence)

    def test_a_gpu_that_the_newest_cudnn_serves_gets_no_pin(self) -> None:
        assert stack_of(newest_tensorflow(linux("7.5", "580.65.06"))).requirements == ("tensorflow[and-cuda]==2.21.0",)

    def test_kepler_gets_the_cudnn_that_still_has_its_code(self) -> None:
        stack = stack_of(newest_tensorflow(linux("3.7", "470.57.02")))
        assert stack.tensorflow == "2.14.1"
        assert "nvidia-cudnn-cu11==8.7.0.84" in stack.requirements

    def test_two_gpus_need_a_wheel_for_both(self) -> None:
        machine = Machine(os=Os.LINUX, compute_capabilities=("8.9", "5.0"), driver="535.183.01")
        assert stack_of(newest_tensorflow(machine)).tensorflow == "2.16.2"

    def test_blackwell_has_no_published_wheel(self) -> None:
        plan = newest_tensorflow(linux("12.0", "580.65.06", "3.12"))
        assert (plan.stack, plan.with_other_python, plan.with_other_driver) == (None, None, None)
        assert plan.excluded[0] == Excluded(
            "2.21.0",
            "gpu-arch-too-new-for-wheel",
            "tensorflow 2.21.0 has only PTX for 9.0, which is reported to fail on this GPU",
        )

    def test_ptx_counts_only_where_the_driver_compiles_it(self) -> None:
        """A wheel with a part of its kernels as PTX of CUDA 12.5 is out under a driver of CUDA 12.2."""
        plan = newest_tensorflow(linux("9.0", "535.183.01"))
        assert stack_of(plan).tensorflow == "2.16.2"
        assert stack_of(plan).gpu_code is GpuCode.NATIVE_PARTIAL
        assert stack_of(plan).driver_min == "530.30.02"
        assert {entry.because for entry in plan.excluded} == {"driver-too-old-for-cuda"}
        assert stack_of(newest_tensorflow(linux("9.0", "555.42.06"))).tensorflow == "2.21.0"
        assert stack_of(newest_tensorflow(linux("9.0", "550.54.15"))).tensorflow == "2.18.1"

    def test_an_unknown_python_that_does_not_fit_gets_a_second_answer(self) -> None:
        plan = newest_tensorflow(linux("5.0", "470.57.02", "3.13"))
        assert plan.stack is None
        assert plan.with_other_python is not None
        assert plan.with_other_python.pythons == ("3.9", "3.10", "3.11")
        commands = new_environment_commands(plan.with_other_python)
        assert commands[0] == "python3.11 -m venv tf-env"
        assert commands[1].startswith("tf-env/bin/python -m pip install tensorflow==2.14.1 nvidia-cublas-cu11==")
        assert next(e.detail for e in plan.excluded if e.because == "python-version-unsupported") == (
            "no wheel for Python 3.13; there is one for 3.9 to 3.11"
        )

    def test_of_several_pythons_the_newest_that_fits_is_taken(self) -> None:
        stack = stack_of(newest_tensorflow(linux("5.0", "470.57.02", "3.13.0", "3.10.13", "3.9.18")))
        assert (stack.pythons_at_hand, python_for(stack)) == (("3.9", "3.10"), "3.10")

    def test_an_older_python_allows_less_and_says_what_another_would(self) -> None:
        plan = newest_tensorflow(linux("8.9", "580.65.06", "3.8"))
        assert stack_of(plan).tensorflow == "2.13.1"
        assert plan.with_other_python is not None
        assert plan.with_other_python.tensorflow == "2.21.0"

    def test_where_pip_cannot_provide_cuda_it_says_so(self) -> None:
        stack = stack_of(newest_tensorflow(linux("8.6", "450.80.02", "3.8")))
        assert (stack.provided_by, stack.requirements) == (
            Provider.CONDA,
            ("tensorflow==2.7.4", "numpy<2"),
        )
        assert stack.manual == (
            "Install CUDA 11.2 and cuDNN 8.1 where the loader finds them: pip cannot provide them.",
        )

    def test_pins_that_old_wheels_lack(self) -> None:
        by_release = {
            wheel.tensorflow: requirements(wheel, ())
            for wheel in compat.cuda_wheels("linux-x86_64")
            if wheel.package == "tensorflow"
        }
        assert by_release["2.10.1"] == ("tensorflow==2.10.1", "numpy<2")
        assert by_release["2.14.0"][-1] == "numpy<2"
        assert "numpy<2" not in by_release["2.14.1"]
        assert by_release["2.12.0"] == ("tensorflow==2.12.0",)
        assert "protobuf<3.20" in by_release["2.8.1"]
        assert "protobuf<3.20" not in by_release["2.8.2"]
        assert by_release["2.18.1"] == ("tensorflow[and-cuda]==2.18.1",)
        assert not [text for texts in by_release.values() for text in texts if "tensorrt" in text]

    def test_old_glibc_rules_out_new_wheels(self) -> None:
        plan = newest_tensorflow(linux("8.9", "580.65.06", glibc="2.17"))
        assert stack_of(plan).tensorflow == "2.20.0"
        assert plan.excluded == (
            Excluded("2.21.0", "glibc-or-libstdcxx-too-old", "glibc 2.17 is older than 2.27, which the wheel needs"),
        )
        assert stack_of(newest_tensorflow(linux("8.9", "580.65.06", glibc="2.27"))).tensorflow == "2.21.0"

    def test_what_is_not_known_rules_nothing_out(self) -> None:
        stack = stack_of(newest_tensorflow(Machine(os=Os.LINUX)))
        assert (stack.tensorflow, stack.gpu_code, stack.pythons_at_hand) == ("2.21.0", None, ())


class TestPlatforms:
    def test_windows(self) -> None:
        machine = Machine(os=Os.WINDOWS, compute_capabilities=("7.5",), driver="537.13", pythons=("3.11",))
        plan = newest_tensorflow(machine)
        assert plan.stack is None
        assert plan.excluded[0] == Excluded("2.21.0", "native-windows-no-gpu", "no CUDA build for Windows outside WSL2")
        assert plan.with_other_python is not None
        assert new_environment_commands(plan.with_other_python) == (
            "py -3.10 -m venv tf-env",
            'tf-env\\Scripts\\python.exe -m pip install tensorflow==2.10.1 "numpy<2"',
        )
        assert plan.with_other_python.manual == (
            "Install CUDA 11.2 and cuDNN 8.1 where the loader finds them: pip cannot provide them.",
        )

    def test_wsl2_runs_linux_wheels_over_the_windows_driver(self) -> None:
        machine = Machine(os=Os.WSL2, compute_capabilities=("8.9",), driver="560.94", pythons=("3.12",))
        stack = stack_of(newest_tensorflow(machine))
        assert (stack.tensorflow, stack.route, stack.driver_min) == ("2.21.0", Os.WSL2, "528.33")
        assert install_commands(stack, "python")[0] == "python -m pip install 'tensorflow[and-cuda]==2.21.0'"

    def test_under_wsl2_a_linux_number_is_not_held_against_the_machine(self) -> None:
        machine = Machine(os=Os.WSL2, compute_capabilities=("8.9",), driver="525.60.13")
        assert stack_of(newest_tensorflow(machine)).tensorflow == "2.21.0"

    @pytest.mark.parametrize(
        ("os_name", "arch", "because"),
        [
            (Os.MACOS, "arm64", "macos-no-gpu"),
            (Os.MACOS, "x86_64", "macos-no-gpu"),
            (Os.LINUX, "aarch64", "cpu-only-tensorflow"),
        ],
    )
    def test_platforms_without_any_cuda_wheel(self, os_name: Os, arch: str, because: str) -> None:
        plan = newest_tensorflow(Machine(os=os_name, machine=arch, compute_capabilities=("8.7",)))
        assert plan.stack is None
        assert {entry.because for entry in plan.excluded} == {because}


class TestCommands:
    def test_uv(self) -> None:
        stack = stack_of(newest_tensorflow(linux("6.1", "580.65.06", "3.12")))
        assert install_commands(stack, "/venv/bin/python", Installer.UV) == (
            "uv pip install --python /venv/bin/python 'tensorflow[and-cuda]==2.21.0' 'nvidia-cudnn-cu12<9.11'",
            'export LD_LIBRARY_PATH="$(/venv/bin/python -c \'import sysconfig; print(sysconfig.get_path("purelib"))\')'
            '/nvidia/cusolver/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
        )
        assert new_environment_commands(stack, Installer.UV)[0] == "uv venv --python 3.12 tf-env"

    def test_a_windows_interpreter_with_a_space(self) -> None:
        machine = Machine(os=Os.WINDOWS, compute_capabilities=("7.5",), pythons=("3.10",))
        command = install_commands(stack_of(newest_tensorflow(machine)), r"C:\Program Files\Python310\python.exe")[0]
        assert command.startswith(r'& "C:\Program Files\Python310\python.exe" -m pip install tensorflow==2.10.1')

    @given(data=st.data())
    def test_every_posix_command_is_what_the_shell_reads(self, data: st.DataObject) -> None:
        wheel = data.draw(st.sampled_from(list(compat.cuda_wheels("linux-x86_64"))))
        machine = linux(data.draw(st.sampled_from(["3.7", "6.1", "8.9"])), None)
        interpreter = data.draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
        stack = build_stack(wheel, None, machine, ())
        command, *loader = install_commands(stack, interpreter)
        assert bool(loader) == (wheel.tensorflow == "2.21.0")
        # A file whose name looks like an option is named as the file that it is.
        word = f"./{interpreter}" if interpreter.startswith("-") else interpreter
        assert shlex.split(command) == [word, "-m", "pip", "install", *stack.requirements]
        assert all(Requirement(text) for text in stack.requirements)


def test_no_recommendation_rests_on_a_row_of_low_confidence() -> None:
    for os_name in (Os.LINUX, Os.WINDOWS):
        for cc in ("3.0", "3.7", "5.0", "5.2", "6.1", "7.5", "8.6", "9.0", "12.0"):
            plan = newest_tensorflow(Machine(os=os_name, compute_capabilities=(cc,)))
            if plan.stack is not None:
                assert all(edge.confidence is not Trust.LOW and edge.source for edge in plan.stack.evidence)


def test_a_driver_text_that_is_no_version_gives_no_recommendation() -> None:
    plan = newest_tensorflow(linux("8.9", "unknown"))
    assert plan.stack is None
    assert plan.excluded[0] == Excluded("2.21.0", "low-confidence", "'unknown' is not a version")
