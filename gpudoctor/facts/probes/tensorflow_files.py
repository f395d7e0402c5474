"""Facts of an installed TensorFlow from its files: which package it is, how it was built, which Keras goes with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudoctor.facts.model import Absent, Fact, Known, TensorFlowFacts, Unknown

if TYPE_CHECKING:
    from gpudoctor.facts.probes.answers import Answer

BUILD_FIELDS = ("cuda_build", "built_with_cuda", "built_with_cudnn", "compute_capabilities", "cuda_requirements")
# Distributions that install the folder `tensorflow` (or depend on one that does), the usual one first.
PROVIDERS = re.compile(
    r"(tensorflow|tf-nightly|intel-tensorflow)(-(cpu|gpu|intel|macos|rocm|aarch64|cpu-aws|avx512))?$"
)
KERAS_3_SINCE = (2, 16)
KERAS_APART_SINCE = (2, 6)
KERAS = ("keras", "keras-nightly", "tf-keras", "tf-keras-nightly")
LEGACY_VALUES = ("true", "True", "1")


def read(answer: Answer) -> TensorFlowFacts:
    """Return what the files tell; the fields of a started TensorFlow stay unread. answer: of inspect_python."""
    imported, told = answer.at("imports").at("tensorflow"), answer.at("tensorflow")
    found = providers(answer)
    version = _version(found, told)
    if not imported.has("origin"):
        return _not_importable()
    build = told.at("build_info")
    values = build.at("values")
    cuda = values.flag("is_cuda_build")
    return TensorFlowFacts(
        distribution=_distribution(found, imported, told),
        version=version,
        location=Known(imported.text("origin"), "search path"),
        cuda_build=Known(cuda, "build_info.py") if cuda is not None else _no_build_info(build),
        built_with_cuda=_built_with(build, ("cuda_version", "cuda_version_number")),
        built_with_cudnn=_built_with(build, ("cudnn_version", "cudnn_version_number")),
        compute_capabilities=_capabilities(build),
        cuda_requirements=_cuda_requirements(found),
        keras_version=_keras_version(answer, version),
        keras_generation=_keras_generation(answer, version),
    )


def _not_importable() -> TensorFlowFacts:
    nothing = Absent("the interpreter finds no tensorflow on its search path")
    return TensorFlowFacts(
        distribution=nothing,
        version=nothing,
        location=nothing,
        cuda_build=nothing,
        built_with_cuda=nothing,
        built_with_cudnn=nothing,
        compute_capabilities=nothing,
        cuda_requirements=nothing,
        keras_version=Unknown("TensorFlow is not installed"),
        keras_generation=Unknown("TensorFlow is not installed"),
    )


def providers(answer: Answer) -> list[Answer]:
    """Return the distributions that lie where `import tensorflow` finds it, best first: files present, plain name."""
    folder = answer.at("imports").at("tensorflow").text("folder")
    found = [p for p in answer.items("packages") if PROVIDERS.match(p.text("name")) and p.text("folder") == folder]
    in_files = release_numbers(answer.at("tensorflow").text("version_in_files"))
    return sorted(
        found,
        key=lambda p: (
            bool(p.text("problem")),
            bool(in_files) and release_numbers(p.text("version")) != in_files,
            p.text("name") != "tensorflow",
            p.text("name"),
        ),
    )


def _distribution(providers: list[Answer], imported: Answer, told: Answer) -> Fact[str]:
    if not providers:
        if told.has("native"):
            return Unknown(f"{imported.text('origin')} has no package metadata beside it")
        return Unknown(f"{imported.text('origin')} is not a TensorFlow package")
    first, *others = providers
    also = tuple((p.text("name"), p.text("entry")) for p in others if p.text("name") != first.text("name"))
    return Known(first.text("name"), first.text("entry"), also)


def _version(providers: list[Answer], told: Answer) -> Fact[str]:
    in_files = told.text("version_in_files")
    told_by = [(p.text("version"), p.text("entry")) for p in providers if p.text("version")]
    if not told_by:
        return Known(in_files, "TensorFlow's files") if in_files else Unknown("neither metadata nor files tell it")
    (value, source), *others = told_by
    also = [(v, s) for v, s in others if v != value]
    if in_files and release_numbers(in_files) != release_numbers(value):
        also.append((in_files, "TensorFlow's files"))
    return Known(value, source, tuple(also))


def release_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a release, (2, 21, 0) of 2.21.0rc1; empty for a text that does not begin with one."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in match.group().split(".")) if match else ()


def _no_build_info(build: Answer) -> Unknown:
    if build.has("path"):
        return Unknown("build_info.py does not tell")
    return Unknown(build.text("error") or "there is no build_info.py")


def _built_with(build: Answer, keys: tuple[str, ...]) -> Fact[str]:
    values = build.at("values")
    if values.flag("is_cuda_build") is False:
        return Absent("build_info.py: no CUDA build")
    for key in keys:
        if values.text(key):
            return Known(values.text(key), "build_info.py")
    return _no_build_info(build)


def _capabilities(build: Answer) -> Fact[tuple[str, ...]]:
    values = build.at("values")
    if values.flag("is_cuda_build") is False:
        return Absent("build_info.py: no CUDA build")
    found = values.texts("cuda_compute_capabilities")
    if not found:  # own builds carry the text given to configure
        found = tuple(re.findall(r"[\w.]+", values.text("cuda_compute_capabilities")))
    return Known(found, "build_info.py") if found else _no_build_info(build)


def _cuda_requirements(providers: list[Answer]) -> Fact[tuple[str, ...]]:
    """Return the requirements of the extra and-cuda, without their markers."""
    if not providers:
        return Unknown("TensorFlow has no package metadata")
    found = []
    for requirement in providers[0].texts("requires"):
        what, _, marker = requirement.partition(";")
        if re.search(r"extra\s*==\s*['\"]and-cuda['\"]", marker):
            found.append(re.sub(r"[\s()]", "", what))
    if not found:
        return Absent(f"{providers[0].text('entry')} has no extra and-cuda")
    return Known(tuple(found), providers[0].text("entry"))


def _keras_version(answer: Answer, version: Fact[str]) -> Fact[str]:
    """Return the version of the package that tf.keras is."""
    numbers = release_numbers(version.get() or "")
    if not numbers:
        return Unknown("TensorFlow's version is not known")
    if numbers < KERAS_APART_SINCE:
        return Absent("Keras is a part of TensorFlow before 2.6")
    legacy = numbers >= KERAS_3_SINCE and _wants_legacy(answer)
    names = ("tf-keras", "tf-keras-nightly") if legacy else ("keras", "keras-nightly")
    for package in answer.items("packages"):
        if package.text("name") in names and package.text("version"):
            return Known(package.text("version"), package.text("entry"))
    return Absent(f"no package {names[0]}")


def _keras_generation(answer: Answer, version: Fact[str]) -> Fact[int]:
    """Return which Keras tf.keras is, by TensorFlow's version and the variable that brings Keras 2 back."""
    numbers = release_numbers(version.get() or "")
    if not numbers:
        return Unknown("TensorFlow's version is not known")
    if numbers < KERAS_3_SINCE:
        return Known(2, "TensorFlow before 2.16")
    if _wants_legacy(answer):
        return Known(2, "TF_USE_LEGACY_KERAS")
    return Known(3, "TensorFlow 2.16 or newer")


def _wants_legacy(answer: Answer) -> bool:
    return answer.at("variables").text("TF_USE_LEGACY_KERAS") in LEGACY_VALUES
