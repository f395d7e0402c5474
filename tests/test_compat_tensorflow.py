"""Look-ups of GPU code, GPUs and TensorFlow releases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import compat
from gpudoctor.compat import GpuCode, NotCovered, Trust
from gpudoctor.compat.gpucode import apply_rules, targets_of_list

LIST_221 = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")


class TestGpuCode:
    @pytest.mark.parametrize(
        ("capabilities", "cc", "code"),
        [
            (("sm_86",), "8.9", GpuCode.NATIVE),
            (("sm_80",), "8.9", GpuCode.NATIVE),
            (("sm_80",), "8.0", GpuCode.NATIVE),
            (("sm_86",), "8.0", GpuCode.NONE),
            (("sm_80",), "9.0", GpuCode.NONE),
            (("sm_80", "compute_80"), "9.0", GpuCode.PTX),
            (("compute_90",), "9.0", GpuCode.NATIVE_PARTIAL),
            (LIST_221, "5.0", GpuCode.NONE),
            (LIST_221, "6.1", GpuCode.NATIVE),
            (LIST_221, "7.5", GpuCode.NATIVE),
            (LIST_221, "9.0", GpuCode.NATIVE_PARTIAL),
            (LIST_221, "12.0", GpuCode.PTX),
        ],
    )
    def test_by_the_list_alone(self, capabilities: tuple[str, ...], cc: str, code: GpuCode) -> None:
        answer = compat.gpu_code(capabilities, None, cc)
        assert answer.code is code
        assert answer.confidence is Trust.MEDIUM

    def test_blackwell_with_an_official_wheel_is_known_to_fail(self) -> None:
        answer = compat.gpu_code(LIST_221, "2.21.0", "12.0")
        assert answer.code is GpuCode.PTX_KNOWN_TO_FAIL
        assert answer.libraries_cover_gpu is False
        assert answer.reason == "tensorflow 2.21.0 has only PTX for 9.0"

    def test_a_capability_that_the_table_does_not_name_is_answered_by_the_rules(self) -> None:
        assert compat.gpu_code(LIST_221, "2.21.0", "11.0").code is GpuCode.PTX_KNOWN_TO_FAIL
        assert compat.gpu_code(LIST_221, "2.21.0", "8.8").code is GpuCode.NATIVE
        assert compat.gpu_code(LIST_221, "2.21.0", "6.2").code is GpuCode.NATIVE

    def test_a_release_newer_than_the_tables_is_answered_from_its_list(self) -> None:
        answer = compat.gpu_code(("sm_80", "sm_120", "compute_120"), "2.30.0", "12.1")
        assert (answer.code, answer.confidence) == (GpuCode.NATIVE, Trust.MEDIUM)
        assert compat.gpu_code(LIST_221, "2.30.0", "12.0").code is GpuCode.PTX  # nobody reported that one to fail

    def test_a_build_of_ones_own_is_judged_by_its_own_list(self) -> None:
        assert compat.gpu_code(("sm_50",), "2.21.0", "5.0").code is GpuCode.NATIVE

    def test_without_a_list_the_release_is_looked_up(self) -> None:
        with pytest.raises(NotCovered, match="names no compute capabilities"):
            compat.gpu_code((), "2.22.0rc0", "8.9")
        answer = compat.gpu_code_of_release("2.22.0rc0", "linux-x86_64", "8.9")
        assert (answer.code, answer.confidence, answer.ptx_cuda) == (GpuCode.NATIVE, Trust.HIGH, None)
        assert compat.gpu_code_of_release("2.22.0rc0", "linux-x86_64", "5.2").code is GpuCode.NONE

    @pytest.mark.parametrize(
        ("release", "cc", "code"),
        [
            ("2.3.4", "5.0", GpuCode.NONE),  # registered by TensorFlow (lowest 3.5), and then without a kernel
            ("2.2.3", "5.0", GpuCode.PTX),
            ("2.14.1", "5.0", GpuCode.NATIVE),
            ("2.16.2", "5.0", GpuCode.NATIVE),
            ("2.17.0", "5.0", GpuCode.NONE),
            ("2.14.1", "3.7", GpuCode.NATIVE),
            ("2.15.0", "3.7", GpuCode.NONE),
            ("2.15.1", "8.6", GpuCode.NATIVE_PARTIAL),
            ("2.7.4", "8.6", GpuCode.NATIVE),
            ("2.16.2", "8.6", GpuCode.NATIVE),
        ],
    )
    def test_of_published_linux_wheels(self, release: str, cc: str, code: GpuCode) -> None:
        assert compat.gpu_code_of_release(release, "linux-x86_64", cc).code is code

    def test_ptx_may_be_older_than_the_wheels_cuda(self) -> None:
        assert compat.gpu_code_of_release("2.16.2", "linux-x86_64", "9.0").ptx_cuda == "12.1"
        assert compat.gpu_code_of_release("2.21.0", "linux-x86_64", "9.0").ptx_cuda == "12.5"
        assert compat.gpu_code_of_release("2.10.1", "win-amd64", "8.6").ptx_cuda == "11.2"

    def test_libraries_older_than_the_gpus_family(self) -> None:
        assert compat.gpu_code_of_release("2.3.4", "linux-x86_64", "8.6").libraries_cover_gpu is False
        assert compat.gpu_code_of_release("2.13.1", "linux-x86_64", "9.0").libraries_cover_gpu is True

    def test_a_platform_without_cuda_wheels_is_not_covered(self) -> None:
        with pytest.raises(NotCovered, match=r"no CUDA wheel of tensorflow 2\.21\.0 for win-amd64"):
            compat.gpu_code_of_release("2.21.0", "win-amd64", "8.9")

    @given(
        native=st.lists(st.sampled_from(["3.5", "5.0", "5.2", "6.1", "7.0", "7.5", "8.0", "8.6", "9.0"])),
        ptx=st.lists(st.sampled_from(["5.0", "7.0", "8.0", "9.0"])),
        cc=st.sampled_from(["3.0", "3.7", "5.0", "5.3", "6.0", "7.2", "7.5", "8.0", "8.7", "8.9", "9.0", "12.0"]),
    )
    def test_more_code_in_a_wheel_never_serves_a_gpu_worse(self, native: list[str], ptx: list[str], cc: str) -> None:
        entries = [f"sm_{e.replace('.', '')}" for e in native] + [f"compute_{e.replace('.', '')}" for e in ptx]
        order = list(GpuCode)
        whole = order.index(apply_rules(targets_of_list(entries), cc)[0])
        for index in range(len(entries)):
            part = apply_rules(targets_of_list(entries[:index] + entries[index + 1 :]), cc)[0]
            assert whole <= order.index(part)


class TestGpus:
    @pytest.mark.parametrize(
        ("name", "cc"),
        [
            ("NVIDIA GeForce RTX 4090", "8.9"),
            ("GeForce RTX 4090", "8.9"),
            ("NVIDIA A100-SXM4-80GB", "8.0"),
            ("GeForce 940M", "5.0"),
            ("NVIDIA GeForce 940M", "5.0"),
            ("Tesla K80", "3.7"),
            ("NVIDIA H200", "9.0"),
            ("nvidia geforce rtx  2070 super", "7.5"),
            ("NVIDIA GeForce RTX 2070 Super", "7.5"),
            ("NVIDIA GeForce RTX 5090", "12.0"),
        ],
    )
    def test_by_name(self, name: str, cc: str) -> None:
        assert compat.compute_capability_of(name).compute_capability == cc

    @pytest.mark.parametrize("pci_id", ["2684", "0x2684", "10de:2684", "0x268410DE", "10DE:0x2684"])
    def test_by_pci_id_in_each_spelling(self, pci_id: str) -> None:
        answer = compat.compute_capability_of(None, pci_id)
        assert (answer.name, answer.compute_capability, answer.architecture) == (
            "GeForce RTX 4090",
            "8.9",
            "Ada Lovelace",
        )

    def test_an_ambiguous_name_names_its_candidates(self) -> None:
        with pytest.raises(NotCovered) as caught:
            compat.compute_capability_of("NVIDIA GeForce GT 730")
        assert str(caught.value) == (
            "NVIDIA GeForce GT 730 exists with more than one compute capability: 2.1 (GF108); 3.0 (GK107); 3.5 (GK208B)"
        )

    def test_the_pci_id_decides_an_ambiguous_name(self) -> None:
        assert compat.compute_capability_of("GeForce GT 730", "1287").compute_capability == "3.5"
        assert compat.compute_capability_of("GeForce GT 730", "0F02").compute_capability == "2.1"

    def test_an_unknown_pci_id_leaves_the_name(self) -> None:
        assert compat.compute_capability_of("GeForce RTX 4090", "ffff").compute_capability == "8.9"

    @pytest.mark.parametrize(
        ("name", "pci_id", "text"),
        [
            ("GeForce RTX 9090", None, "GPU 'GeForce RTX 9090' is not in the tables"),
            (None, "ffff", "PCI device ffff is not in the tables"),
            (None, None, "GPU without name and PCI id is not in the tables"),
        ],
    )
    def test_an_unknown_gpu_is_not_covered(self, name: str | None, pci_id: str | None, text: str) -> None:
        with pytest.raises(NotCovered, match=text):
            compat.compute_capability_of(name, pci_id)

    def test_the_last_driver_branch(self) -> None:
        assert compat.compute_capability_of("Tesla K80").last_driver_branch == "470"
        assert compat.compute_capability_of("GeForce 940M").last_driver_branch == "580"
        assert compat.compute_capability_of("GeForce RTX 4090").last_driver_branch is None

    def test_a_row_of_low_confidence_says_so(self) -> None:
        assert compat.compute_capability_of("Quadro M620").confidence is Trust.LOW


class TestReleases:
    def test_stable_releases_come_newest_first(self) -> None:
        found = list(compat.releases())
        assert found[:3] == ["2.21.0", "2.20.0", "2.19.1"]
        assert "2.15.0.post1" in found
        assert "2.22.0rc0" not in found
        assert next(compat.releases(prereleases=True)) == "2.22.0rc0"
        assert found[-1] == "1.13.1"  # no release of a plug-in is taken for one of TensorFlow

    def test_newer_than_the_tables(self) -> None:
        assert compat.is_newer_than_tables("2.21.1")
        assert compat.is_newer_than_tables("2.22.0rc0")
        assert not compat.is_newer_than_tables("2.21.0")
        assert compat.tables_date() == "2026-11-30"
        with pytest.raises(NotCovered, match=r"2\.23\.0 for linux-x86_64 .*; it is newer than the tables"):
            compat.wheel("2.23.0", "tensorflow", "linux-x86_64")

    def test_a_row_by_package_and_platform(self) -> None:
        assert compat.wheel("2.10.1", "tensorflow", "win-amd64").cuda_raw == "64_112"
        assert compat.wheel("2.0.4", "tensorflow", "linux-x86_64").cuda_build is False
        assert compat.wheel("2.15.0", "tensorflow", "win-amd64").stub_target == "tensorflow-intel==2.15.0"

    def test_pythons_of_a_wheel(self) -> None:
        assert compat.pythons_of(compat.wheel("2.14.1", "tensorflow", "linux-x86_64")) == ("3.9", "3.10", "3.11")
        assert compat.pythons_of(compat.wheel("1.13.1", "tensorflow-gpu", "linux-x86_64"))[:2] == ("2.7", "3.3")

    def test_and_cuda_pins(self) -> None:
        pins = {pin.package: pin.specifier for pin in compat.and_cuda_pins("2.14.1")}
        assert pins["nvidia-cudnn-cu11"] == "==8.7.0.84"
        assert pins["tensorrt"] == "==8.5.3.1"
        with pytest.raises(NotCovered, match=r"tensorflow 2\.13\.1 has no extra and-cuda"):
            compat.and_cuda_pins("2.13.1")

    def test_keras(self) -> None:
        assert compat.keras_for("2.16.2").generation == 3
        assert compat.keras_for("2.15.1").generation == 2
        assert compat.keras_for("2.4.4").built_in
        with pytest.raises(NotCovered, match=r"2\.99\.0"):
            compat.keras_for("2.99.0")

    def test_tested_builds(self) -> None:
        assert (compat.tested_build("2.14.1", "linux").cudnn, compat.tested_build("2.14.1", "linux").cuda) == (
            "8.7",
            "11.8",
        )
        with pytest.raises(NotCovered):
            compat.tested_build("2.14.1", "windows")

    def test_how_cuda_from_pip_is_found(self) -> None:
        assert not compat.pip_route("2.13.1").nvidia_runpath
        assert compat.pip_route("2.14.1").nvidia_runpath
        assert not compat.pip_route("2.14.1").extra_installs
        assert not compat.pip_route("2.16.1").nvidia_runpath
        assert compat.pip_route("2.21.0").extra_installs
        with pytest.raises(NotCovered):
            compat.pip_route("2.22.0")
