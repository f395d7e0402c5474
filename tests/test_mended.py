"""Remedies work: carried out on the facts of a machine, they leave none of the findings that they claim to fix.

The commands that gpudoctor prints are interpreted here, as far as facts can show what comes of them: pip and conda that
install, pip that uninstalls, variables that are set, a driver that is updated. pip takes the newest version that fits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from packaging.requirements import Requirement

from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts, Known, Library, Package
from gpudoctor.findings import Remedy, Severity
from tests.machine import (
    CHOICES,
    cuda_of_driver,
    cuda_of_release,
    from_system,
    from_wheels,
    packages_for,
    pins,
    python_facts,
    tensorflow_facts,
    wheel,
)
from tests.test_combinations import ROWS, facts_of_row, judge, name_of
from tests.test_machines import MACHINES, path_of, quick

# Versions of cuDNN for pip to choose from, newest first.
CUDNNS = ("9.28.0.42", "9.10.2.21", "9.5.1.17", "9.3.0.75", "8.9.7.29", "8.9.4.25", "8.7.0.84", "8.6.0.163", "8.1.0.77")
# Remedies that say in prose what a person has to do: no facts can follow from them. By how their summary begins.
IN_PROSE = (
    "Install NVIDIA's TensorFlow for Jetson",
    "No published TensorFlow wheel to",
    "Install WSL2",
    "On a Mac with an Apple chip",
    "Train on the CPU",
    "Use a container or a newer distribution",
    "Or keep TensorFlow",
    "Take the folder compat",
    "No published TensorFlow wheel has code",
)
SITE = re.compile(r"(.*)/tensorflow\Z")


class NotUnderstood(Exception):
    """A command that this interpreter does not know."""


class Mended:
    """A machine while a remedy is carried out on it."""

    def __init__(self, facts: Facts) -> None:
        self.facts = quick(facts)
        python = facts.python.version.get() or "3.11.9"
        self.python = ".".join(python.split(".")[:2])

    @property
    def site(self) -> str:
        match = SITE.match(self.facts.tensorflow.location.get() or "")
        return match[1] if match else f"~/tf/lib/python{self.python}/site-packages"

    def carry_out(self, remedy: Remedy) -> Facts:
        """Return the facts after all commands. Raises NotUnderstood."""
        driver = re.match(r"Update the NVIDIA driver to (\S+) or newer", remedy.summary)
        if driver:
            self._drive(driver[1])
        elif not remedy.commands:
            raise NotUnderstood(remedy.summary)
        for command in () if driver else remedy.commands:
            self._run(command)
        by_hand = re.search(r"Install CUDA (\S+) and cuDNN (\S+) where the loader finds them", remedy.summary)
        if by_hand:
            self._libraries_of_system(by_hand[1], by_hand[2])
        return self.facts

    def _run(self, command: str) -> None:
        words = shlex.split(command)
        match words:
            case [_, "-m", "venv", _]:
                self._new_environment(re.search(r"3\.\d+", words[0]), words[-1])
            case [_, "-m", "ensurepip"]:
                pass
            case [_, "-m", "pip", "install", *wanted]:
                self._install([Requirement(word) for word in wanted])
            case [_, "-m", "pip", "uninstall", "-y", *names]:
                self._uninstall(names)
            case ["conda", "install", "-p", _, "-c", "nvidia", "cuda-nvcc"]:
                pass  # what it brings counts where XLA is led to it
            case ["export", setting]:
                self._export(*setting.split("=", 1))
            case ["unset", name]:
                left = {key: value for key, value in self.facts.python.environment.require().items() if key != name}
                self._python(environment=Known(left, "environment"))
            case ["mkdir" | "cp", *_]:
                pass
            case _:
                raise NotUnderstood(command)

    def _python(self, **fields: object) -> None:
        self.facts = replace(self.facts, python=replace(self.facts.python, **fields))

    def _tensorflow(self, **fields: object) -> None:
        self.facts = replace(self.facts, tensorflow=replace(self.facts.tensorflow, **fields))

    def _libraries(self, **fields: object) -> None:
        self.facts = replace(self.facts, libraries=replace(self.facts.libraries, **fields))

    def _drive(self, version: str) -> None:
        wsl = isinstance(self.facts.host.wsl, Known)
        cuda = "12.0" if wsl else cuda_of_driver(version)
        driver = replace(self.facts.driver, version=Known(version, "NVML"), cuda_version=Known(cuda, "libcuda"))
        self.facts = replace(self.facts, driver=driver)

    def _new_environment(self, python: re.Match[str] | None, name: str) -> None:
        self.python = python[0] if python else self.python
        location = f"~/{name}/lib/python{self.python}/site-packages"
        self._tensorflow(location=Known(f"{location}/tensorflow", "search path"))
        self.facts = replace(self.facts, python=python_facts(self.python, {}))

    def _install(self, wanted: list[Requirement]) -> None:
        names = {item.name: item for item in wanted}
        provider = next((name for name in names if re.match(r"(tensorflow(-gpu|-cpu)?|tf-nightly)\Z", name)), None)
        chosen = {
            name: next(v for v in CHOICES[name] if item.specifier.contains(v)) for name, item in names.items()
            if name in ("numpy", "protobuf", "keras")
        }  # fmt: skip
        if provider is not None:
            self._install_tensorflow(provider, names, chosen)
        elif chosen:
            self._repack(self._row_of_installed(), {**self._versions(), **chosen})
        for name, item in names.items():
            if name.startswith("nvidia-cudnn-") and provider is None:
                self._replace_cudnn(next(v for v in CUDNNS if item.specifier.contains(v)))
            elif name.startswith("nvidia-cuda-nvcc-") and provider is None:
                folder = f"{self.site}/nvidia/cuda_nvcc"
                self._libraries(
                    ptxas=Known(f"{folder}/bin/ptxas", "folders"), ptxas_version=Known("12.9", "metadata"),
                    libdevice=Known(f"{folder}/nvvm/libdevice", "folders"),
                )  # fmt: skip

    def _install_tensorflow(self, provider: str, names: dict[str, Requirement], chosen: dict[str, str]) -> None:
        version = next(iter(names[provider].specifier)).version
        row = wheel(version, provider)
        self._repack(row, chosen)
        self.facts = replace(self.facts, tensorflow=replace(tensorflow_facts(row, self._versions(), self.site)))
        bare = [name for name in names if name.startswith("nvidia-") and not name.startswith("nvidia-cudnn-")]
        if "and-cuda" in names[provider].extras or bare:
            asked = next(name for name in pins(version) if name.startswith("nvidia-cudnn-"))
            own = Requirement(f"{asked}{pins(version)[asked]}").specifier
            extra = names[asked].specifier if asked in names else own
            cudnn = next(v for v in CUDNNS if own.contains(v) and extra.contains(v))
            made, packages = from_wheels(version, cuda_of_release(version, provider), self.site, cudnn)
            # What 2.21.0 leaves out of its search path is found where the variable is set.
            made.found = [self._unled(item) for item in made.found]
            self.facts = replace(self.facts, libraries=made.facts())
            self._repack(row, {**self._versions(), **packages})

    @staticmethod
    def _unled(item: Library) -> Library:
        return replace(item, wins=False, found_by="") if item.found_by == "LD_LIBRARY_PATH" else item

    def _libraries_of_system(self, cuda: str, cudnn: str) -> None:
        self.facts = replace(self.facts, libraries=from_system(cuda, cudnn, self.site).facts())

    def _versions(self) -> dict[str, str]:
        return {item.name: item.version for item in self.facts.python.packages.get() or () if item.name != "pip"}

    def _row_of_installed(self) -> dict[str, object]:
        facts = self.facts.tensorflow
        return wheel(facts.version.require(), facts.distribution.require())

    def _repack(self, row: dict[str, object], own: dict[str, str]) -> None:
        own = {name: version for name, version in own.items() if name != row["package"]}
        have, conflicts = packages_for(row, self.python, own)
        found = tuple(Package(name=n, version=v, location=self.site, installer="pip") for n, v in have.items())
        self._python(packages=Known(found, "metadata"), conflicts=Known(tuple(conflicts), "metadata"))

    def _uninstall(self, names: list[str]) -> None:
        left = tuple(item for item in self.facts.python.packages.require() if item.name not in names)
        self._python(packages=Known(left, "metadata"))

    def _replace_cudnn(self, version: str) -> None:
        others = [item for item in self.facts.libraries.found.require() if item.name != "cudnn"]
        major = version.split(".", maxsplit=1)[0]
        cuda = next((item.cuda_major for item in others if item.cuda_major), None)
        path = f"{self.site}/nvidia/cudnn/lib/libcudnn.so.{major}"
        made = Library(name="cudnn", soname=f"libcudnn.so.{major}", version=Known(version, "metadata"), wins=True,
                       cuda_major=cuda, path=path, origin="wheel", found_by="RUNPATH")  # fmt: skip
        self._libraries(found=Known((*others, made), "files"))

    def _export(self, name: str, value: str) -> None:
        self._python(environment=Known({**self.facts.python.environment.require(), name: value}, "environment"))
        if name == "XLA_FLAGS" and "--xla_gpu_cuda_data_dir=" in value:
            self._libraries(libdevice=Known(f"{value.partition('=')[2]}/nvvm/libdevice", "XLA_FLAGS"))
        elif name == "LD_LIBRARY_PATH" and isinstance(self.facts.libraries.found, Known):
            found = tuple(
                replace(item, wins=True, found_by=name)
                if "/nvidia/" in item.path and f"/nvidia/{item.path.split('/nvidia/')[1].split('/')[0]}/lib" in value
                else item
                for item in self.facts.libraries.found.require()
            )
            self._libraries(found=Known(found, "files"))


def in_prose(remedy: Remedy) -> bool:
    return remedy.summary.startswith(IN_PROSE)


def cases() -> Iterator[tuple[str, Facts]]:
    for row in ROWS:
        if row["roots"]:
            yield name_of(row), facts_of_row(row)
    for name, expected in MACHINES.items():
        if expected.roots:
            yield name, quick(codec.read(path_of(name)))


CASES = list(cases())
REMEDIES = [
    pytest.param(facts, remedy, id=f"{name}: {remedy.summary[:60]}")
    for name, facts in CASES
    for remedy in judge(facts).remedies
    if not in_prose(remedy) and facts.host.os.get() == "linux"
]


@pytest.mark.parametrize(("facts", "remedy"), REMEDIES)
def test_remedy_fixes_what_it_claims(facts: Facts, remedy: Remedy) -> None:
    mended = Mended(facts).carry_out(remedy)
    left = {finding.rule for finding in judge(mended).findings if finding.severity >= Severity.WARNING}
    assert not left & set(remedy.fixes), (remedy.commands, remedy.summary)


@pytest.mark.parametrize(("name", "facts"), CASES, ids=[name for name, _ in CASES])
def test_what_comes_first_leaves_nothing_wrong(name: str, facts: Facts) -> None:
    """The leading remedy of all root causes leaves no fault; where there are several causes, all leading ones do."""
    report = judge(facts)
    todo, mended = set(report.remedies[0].fixes), Mended(facts)
    if in_prose(report.remedies[0]):
        pytest.skip("its remedy is for a person")
    mended.carry_out(report.remedies[0])
    for remedy in report.remedies[1:]:
        if not set(remedy.fixes) <= todo and not in_prose(remedy):
            mended.carry_out(remedy)
            todo |= set(remedy.fixes)
    left = [finding.rule for finding in judge(mended.facts).findings if finding.severity is Severity.ERROR]
    assert left == [], report.remedies


def test_a_remedy_that_does_nothing_is_noticed() -> None:
    facts = next(facts for name, facts in CASES if "940M" in name)
    idle = Remedy(summary="Do nothing.", commands=("unset NOTHING",), fixes=("gpu-arch-too-old-for-wheel",))
    left = {finding.rule for finding in judge(Mended(facts).carry_out(idle)).findings}
    assert left & set(idle.fixes)


def test_most_remedies_are_interpreted() -> None:
    prose = [remedy.summary for _, facts in CASES for remedy in judge(facts).remedies if in_prose(remedy)]
    assert len(REMEDIES) > 2 * len(prose)
    assert len({summary[:20] for summary in prose}) >= 5
