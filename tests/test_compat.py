"""Look-ups over the tables: boundaries, texts as they come, and what is not covered."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import compat
from gpudoctor.compat import GpuCode, NotCovered, Os, Trust
from gpudoctor.compat.gpucode import apply_rules, targets_of_list
from gpudoctor.facts.model import FactUnavailable

LIST_221 = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")


def test_not_covered_makes_a_rule_skip() -> None:
    assert issubclass(NotCovered, FactUnavailable)


class TestVersions:
    def test_a_newer_minor_release_with_two_digits_is_newer(self) -> None:
        assert compat.version("12.10") > compat.version("12.9")

    @pytest.mark.parametrize(
        ("text", "release", "readable"),
        [
            ("12.5.1", (12, 5, 1), "12.5.1"),
            ("12.5", (12, 5), "12.5"),
            ("10", (10,), "10"),
            ("64_112", (11, 2), "11.2"),
            ("64_101", (10, 1), "10.1"),
            ("64_8", (8,), "8"),
        ],
    )
    def test_cuda_texts(self, text: str, release: tuple[int, ...], readable: str) -> None:
        assert (compat.cuda_release(text), compat.cuda_text(text)) == (release, readable)

    @pytest.mark.parametrize("text", ["", "twelve", "12,5", "64_", "64_1234", "v"])
    def test_a_text_that_is_no_version_is_not_covered(self, text: str) -> None:
        with pytest.raises(NotCovered, match=re.escape(repr(text))):
            compat.cuda_release(text)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("8.9", (8, 9)),
            ("sm_89", (8, 9)),
            ("compute_90", (9, 0)),
            ("sm_90a", (9, 0)),
            ("compute_120", (12, 0)),
            ("12.1", (12, 1)),
            ("sm_121", (12, 1)),
        ],
    )
    def test_compute_capabilities(self, text: str, expected: tuple[int, int]) -> None:
        assert compat.capability(text) == expected

    @pytest.mark.parametrize("text", ["", "8", "8.", ".9", "sm_", "8.9.1", "eight.nine", "8.x"])
    def test_a_text_that_is_no_capability_is_not_covered(self, text: str) -> None:
        with pytest.raises(NotCovered, match="is not a compute capability"):
            compat.capability(text)


class TestMinimumDriver:
    @pytest.mark.parametrize(
        ("cuda", "os", "minimum", "toolkit", "by_minor"),
        [
            ("12.5.1", Os.LINUX, "525.60.13", "555.42.06", True),
            ("12.5", Os.LINUX, "525.60.13", "555.42.02", True),
            ("12.0", Os.LINUX, "525.60.13", "525.60.13", False),
            ("12.3", Os.WINDOWS, "528.33", "545.84", True),
            ("12.3", Os.WSL2, "528.33", "545.84", True),
            ("11.8", Os.LINUX, "450.80.02", "520.61.05", True),
            ("11.2", Os.LINUX, "450.80.02", "460.27.03", True),
            ("64_112", Os.WINDOWS, "452.39", "460.82", True),
            ("11.0", Os.LINUX, "450.36.06", "450.36.06", False),
            ("10.1", Os.LINUX, "418.39", "418.39", False),
            ("10.1.243", Os.LINUX, "418.39", "418.39", False),
            ("9.0", Os.LINUX, "384.81", "384.81", False),
            ("13.0", Os.LINUX, "580.65.06", "580.65.06", False),
            ("13.1", Os.LINUX, "580.65.06", "590.44.01", True),
            ("13.3", Os.LINUX, "580.65.06", None, True),
        ],
    )
    def test_by_release(self, cuda: str, os: Os, minimum: str, toolkit: str | None, by_minor: bool) -> None:
        need = compat.min_driver_for_cuda(cuda, os)
        assert (need.minimum, need.toolkit_driver, need.minor_compatibility) == (minimum, toolkit, by_minor)
        assert need.confidence is Trust.HIGH
        assert need.source

    def test_the_raw_text_is_kept(self) -> None:
        assert compat.min_driver_for_cuda("11.2", Os.LINUX).minimum == "450.80.02"
        assert str(compat.version("450.80.02")) == "450.80.2"  # which no driver page mentions

    def test_the_boundary_of_cuda_12(self) -> None:
        need = compat.version(compat.min_driver_for_cuda("12.5.1", Os.LINUX).minimum)
        assert compat.version("525.60.12") < need <= compat.version("525.60.13")
        assert compat.version("535.183.01") >= need  # CUDA 12.2 of its own, and well for a wheel of 12.5
        assert compat.version("470.57.02") < need

    def test_a_major_number_alone_means_the_least_that_it_can(self) -> None:
        need = compat.min_driver_for_cuda("10", Os.LINUX)
        assert (need.minimum, need.confidence) == ("410.48", Trust.MEDIUM)
        assert compat.min_driver_for_cuda("12", Os.LINUX).minimum == "525.60.13"

    def test_where_only_a_branch_is_published_the_answer_is_less_certain(self) -> None:
        need = compat.min_driver_for_cuda("13.0", Os.WINDOWS)
        assert (need.minimum, need.toolkit_driver, need.confidence) == ("580", None, Trust.MEDIUM)

    def test_a_row_of_low_confidence_says_so(self) -> None:
        assert compat.min_driver_for_cuda("13.5", Os.LINUX).confidence is Trust.LOW

    @pytest.mark.parametrize("cuda", ["12.10", "12.7", "14.0", "6.5"])
    def test_a_release_without_a_row_is_not_covered(self, cuda: str) -> None:
        with pytest.raises(NotCovered, match=rf"CUDA {re.escape(cuda)} is not in the tables of 2026-11-30"):
            compat.min_driver_for_cuda(cuda, Os.LINUX)

    def test_macos_is_not_covered(self) -> None:
        with pytest.raises(NotCovered, match="macOS"):
            compat.min_driver_for_cuda("12.5", Os.MACOS)


class TestDriverBranches:
    @pytest.mark.parametrize(
        ("driver", "os", "branch", "cuda"),
        [
            ("470.57.02", Os.LINUX, "470", "11.4"),
            ("535.183.01", Os.LINUX, "535", "12.2"),
            ("580.65.06", Os.LINUX, "580", "13.0"),
            ("450.80.02", Os.LINUX, "450", "11.0"),
            ("537.13", Os.WINDOWS, "535", "12.2"),
            ("528.33", Os.WINDOWS, "525", "12.0"),
            ("472.50", Os.WSL2, "470", "11.4"),
            ("560.94", Os.WSL2, "560", "12.6"),
        ],
    )
    def test_the_highest_cuda_release_of_a_driver(self, driver: str, os: Os, branch: str, cuda: str) -> None:
        served = compat.cuda_max_for_driver(driver, os)
        assert (served.driver, served.branch, served.cuda_max) == (driver, branch, cuda)
        assert served.confidence is Trust.HIGH

    def test_a_windows_number_that_was_only_seen_is_of_low_confidence(self) -> None:
        served = compat.cuda_max_for_driver("591.59", Os.WINDOWS)
        assert (served.cuda_max, served.confidence) == ("13.1", Trust.LOW)

    @pytest.mark.parametrize(("driver", "os"), [("537.13", Os.LINUX), ("700.10", Os.WINDOWS), ("331.20", Os.LINUX)])
    def test_a_driver_of_no_known_branch_is_not_covered(self, driver: str, os: Os) -> None:
        with pytest.raises(NotCovered, match=f"driver {driver} is of no branch"):
            compat.cuda_max_for_driver(driver, os)

    @pytest.mark.parametrize(
        ("family", "last"),
        [("Fermi", "390"), ("Kepler", "470"), ("Maxwell", "580"), ("Pascal", "580"), ("Volta", "580")],
    )
    def test_the_last_branch_of_a_family(self, family: str, last: str) -> None:
        row = compat.last_branch_for_architecture(family)
        assert row is not None
        assert row.branch == last

    def test_a_family_that_drivers_still_serve_has_no_last_branch(self) -> None:
        assert compat.last_branch_for_architecture("Turing") is None
        first = compat.first_branch_for_architecture("Ampere")
        assert first is not None
        assert first.branch == "450"

    def test_an_unknown_family_is_not_covered(self) -> None:
        with pytest.raises(NotCovered, match="'Rubin'"):
            compat.last_branch_for_architecture("Rubin")


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
