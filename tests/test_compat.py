"""Look-ups over the tables: boundaries, texts as they come, and what is not covered."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpudoctor import compat
from gpudoctor.compat import NotCovered, Os, Trust
from gpudoctor.facts.model import FactUnavailable


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


@pytest.mark.parametrize("text", ["9" * 5000, "1." + "9" * 5000, "1.2." * 1500 + "1"])
@pytest.mark.parametrize("look", [compat.version, compat.cuda_release, compat.capability])
def test_a_number_of_thousands_of_digits_is_not_covered(look: Callable[[str], object], text: str) -> None:
    with pytest.raises(NotCovered, match="is not a") as caught:
        look(text)
    assert len(str(caught.value)) < 300
