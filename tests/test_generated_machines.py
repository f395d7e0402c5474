"""Every published CUDA release of TensorFlow on GPUs and drivers that the tables call enough: no false alarm.

And each with one thing broken: then exactly that is the root cause. What is right is read from the tables' JSON here,
never asked of gpudoctor.compat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from packaging.version import Version

from gpudoctor import engine
from gpudoctor.facts.model import Facts
from gpudoctor.findings import Outcome, Role, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.machine import (
    LINUX,
    admits,
    cuda_of_driver,
    cuda_of_release,
    machine,
    official_build,
    pins,
    release,
    rows,
    started,
    wheel,
)

CARDS = {
    "3.5": "Tesla K40c",
    "3.7": "Tesla K80",
    "5.0": "NVIDIA GeForce 940MX",
    "5.2": "NVIDIA GeForce GTX 980",
    "6.0": "Tesla P100 PCIe 16GB",
    "6.1": "NVIDIA GeForce GTX 1080 Ti",
    "7.0": "Tesla V100 PCIe 16GB",
    "7.5": "NVIDIA GeForce RTX 2080 Ti",
    "8.0": "NVIDIA A100-SXM4-40GB",
    "8.6": "NVIDIA GeForce RTX 3090",
    "8.9": "NVIDIA GeForce RTX 4090",
    "9.0": "NVIDIA H100 PCIe",
    "12.0": "NVIDIA GeForce RTX 5090",
}
# The last driver for a family (Kepler, then Maxwell to Volta), else the newest of the tables.
NEWEST_DRIVER = ((release("3.9"), "470.256.02"), (release("7.4"), "580.95.05"), (release("99"), "620.10.01"))
# 1.13 is linked to its libraries, and 1.14 asks for a Python that is older than the oldest that can be asked.
FIRST = Version("1.15")
KERAS_3 = Version("2.16")


def releases() -> list[tuple[str, str]]:
    """Return release and package of the published CUDA wheels for Linux, newest first; one package for each."""
    found: dict[str, str] = {}
    for row in rows("tensorflow_wheels"):
        if row["platform"] == LINUX and row.get("cuda_build") and row["kind"] == "full":
            version, package = row["tensorflow"], row["package"]
            if package in ("tensorflow", "tensorflow-gpu") and Version(version) >= FIRST:
                found[version] = min(package, found.get(version, package))
    return sorted(found.items(), key=lambda item: Version(item[0]), reverse=True)


RELEASES = releases()
# Their wheels say nothing of CUDA, and there is no tested build: see tests/test_combinations.py.
SILENT = [version for version, _ in RELEASES if Version(version).is_prerelease]
KNOWN = [item for item in RELEASES if item[0] not in SILENT]
IDS = [version for version, _ in KNOWN]


def code(version: str) -> dict[str, str]:
    """Return for each compute capability that a card stands for how the wheel serves it."""
    row = next(row for row in rows("gpu_code") if (row["tensorflow"], row["platform"]) == (version, LINUX))
    kinds = ("native", "native_partial", "ptx", "ptx_foreign", "ptx_known_to_fail", "none")
    return {cc: kind for kind in kinds for cc in row.get(kind, ()) if cc in CARDS}


def least_driver(version: str, package: str) -> str:
    """Return the least driver for the CUDA release of a wheel, minor-version compatibility counted."""
    cuda = release(cuda_of_release(version, package))
    row = [row for row in rows("cuda_drivers") if release(row["cuda"]) == cuda][-1]
    return str(row.get("minor_linux") or row["toolkit_linux"])


def newest_driver(cc: str) -> str:
    return next(driver for bound, driver in NEWEST_DRIVER if release(cc) <= bound)


def one_below(driver: str) -> str:
    """Return a number just below a driver's: 525.60.12 of 525.60.13; 418.38 of 418.39."""
    head, _, last = driver.rpartition(".")
    return f"{head}.{int(last) - 1:02}"


def pythons(row: Mapping[str, Any]) -> list[str]:
    tags = [tag[2:] for tag in row["pythons"] if tag.startswith("cp3")]
    return [f"3.{tag[1:]}" for tag in tags if int(tag[1:]) >= 6]  # the child needs 3.6


def built(version: str, package: str, cc: str, **words: Any) -> Facts:
    libraries = "wheels" if pins(version) else "system"
    choice: dict[str, Any] = {"python": pythons(wheel(version, package))[-1], "driver": newest_driver(cc), **words}
    return machine((CARDS[cc],), tensorflow=version, package=package, libraries=choice.pop("libraries", libraries),
                   **choice)  # fmt: skip


def told(facts: Facts) -> list[str]:
    """Return the root causes at warning or above, in the order of the report."""
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.FACTS))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    found = [f for f in report.findings if f.severity >= Severity.WARNING and f.role is Role.ROOT_CAUSE]
    return list(dict.fromkeys(finding.rule for finding in found))


def native(version: str) -> list[str]:
    return [cc for cc, kind in code(version).items() if kind == "native"]


def healthy(version: str, package: str) -> Iterator[tuple[str, Facts]]:
    """Yield each card with native code, on the least driver and the newest, with each Python in turn."""
    turns = pythons(wheel(version, package))
    for number, cc in enumerate(native(version)):
        for turn, driver in enumerate((least_driver(version, package), newest_driver(cc))):
            python = turns[(number + turn) % len(turns)]
            facts = built(version, package, cc, driver=driver, python=python)
            yield f"{CARDS[cc]}, driver {driver}, Python {python}", facts


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_healthy(version: str, package: str) -> None:
    seen = {name: (told(facts), told(started(facts))) for name, facts in healthy(version, package)}
    assert len(seen) >= 2 * 5
    assert {name: found for name, found in seen.items() if any(found)} == {}


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_each_python(version: str, package: str) -> None:
    for python in pythons(wheel(version, package)):
        assert told(built(version, package, "7.5", python=python)) == []


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_driver_one_step_too_old(version: str, package: str) -> None:
    old = one_below(least_driver(version, package))
    for cc in native(version):
        assert told(built(version, package, cc, driver=old)) == ["driver-too-old-for-cuda"], CARDS[cc]


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_gpu_without_code(version: str, package: str) -> None:
    kinds = code(version)
    for cc in (cc for cc, kind in kinds.items() if kind == "none"):
        # The last driver for a Kepler card does not serve CUDA 12: two faults, neither mended by mending the other.
        old = Version(newest_driver(cc)) < Version(least_driver(version, package))
        expected = [*(["driver-too-old-for-cuda"] if old else []), "gpu-arch-too-old-for-wheel"]
        assert told(built(version, package, cc)) == expected, CARDS[cc]
    assert kinds["12.0"] == "ptx_known_to_fail"
    assert told(built(version, package, "12.0")) == ["gpu-arch-too-new-for-wheel"]


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_by_ptx_only(version: str, package: str) -> None:
    for cc in (cc for cc, kind in code(version).items() if kind in ("ptx", "ptx_foreign")):
        # In 2.11 XLA also takes the toolkit's ptxas, and that of CUDA 11.2 knows no Hopper.
        ptxas = ["ptxas-missing-or-old"] if release(version) == (2, 11) and cc == "9.0" else []
        assert told(built(version, package, cc)) == ["gpu-arch-too-new-for-wheel", *ptxas], CARDS[cc]


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_cudnn_one_minor_version_too_old(version: str, package: str) -> None:
    major, minor = release(str(official_build(version)["cudnn"]))
    if minor == 0:
        pytest.skip("cuDNN x.0 has no older minor version")
    assert told(built(version, package, "7.5", cudnn=f"{major}.{minor - 1}.1")) == ["cudnn-too-old"]
    assert told(built(version, package, "7.5", cudnn=f"{major}.{minor}.0")) == []


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_no_libraries(version: str, package: str) -> None:
    assert told(built(version, package, "7.5", libraries="none")) == ["cuda-libs-missing"]


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_only_cudnn_missing(version: str, package: str) -> None:
    assert told(built(version, package, "7.5", libraries="system", cudnn="")) == ["cudnn-missing"]


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_numpy_too_new(version: str, package: str) -> None:
    expected = ["numpy-abi-mismatch"] if Version(version) < Version("2.18") else []
    assert told(built(version, package, "7.5", packages={"numpy": "2.0.2"})) == expected


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_protobuf_4(version: str, package: str) -> None:
    # 2.20 and newer are made with a protoc whose code checks the package's version: 4 is too old for them.
    fits = Version("2.12") <= Version(version) < Version("2.20")
    expected = [] if fits else ["protobuf-mismatch"]
    assert told(built(version, package, "7.5", packages={"protobuf": "4.25.8"})) == expected


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_keras_of_the_other_generation(version: str, package: str) -> None:
    python = pythons(wheel(version, package))[-1]
    requirement = str(wheel(version, package).get("keras", ""))
    if not requirement:
        pytest.skip("Keras is a part of this TensorFlow")
    other = "2.15.0" if Version(version) >= KERAS_3 else "3.5.0"
    # Seen: 2.15 works with Keras 3; 2.5 still has a Keras of its own.
    bears = Version("2.15") <= Version(version) < KERAS_3 or Version(version) < Version("2.6")
    assert bears or not admits(requirement, other, python)
    expected = [] if bears else ["keras-version-mismatch"]
    assert told(built(version, package, "7.5", packages={"keras": other})) == expected


@pytest.mark.parametrize(("version", "package"), KNOWN, ids=IDS)
def test_c_library_one_step_too_old(version: str, package: str) -> None:
    need = str(wheel(version, package)["glibc"])
    major, minor = release(need)
    assert told(built(version, package, "7.5", glibc=need)) == []
    assert told(built(version, package, "7.5", glibc=f"{major}.{minor - 1}")) == ["glibc-or-libstdcxx-too-old"]


@pytest.mark.parametrize("version", SILENT)
def test_release_whose_wheel_says_nothing_of_cuda(version: str) -> None:
    for cc in ("6.0", "7.5", "8.9"):
        facts = built(version, "tensorflow", cc)
        cudnn = "9.10.2" if cc == "6.0" else "9.28.0"
        assert told(built(version, "tensorflow", cc, cudnn=cudnn)) == told(started(facts)) == []


def test_cards_are_those_of_the_tables() -> None:
    facts = machine(tuple(CARDS.values()))
    assert [card.compute_capability.get() for card in facts.gpus] == list(CARDS)
    assert cuda_of_driver("535.183.01") == "12.2"
