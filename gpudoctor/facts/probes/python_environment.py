"""Facts of the target interpreter's environment, told by a child that reads files and imports nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from gpudoctor.facts.host import ChildOutcome
from gpudoctor.facts.model import (
    Absent,
    CondaPackage,
    Fact,
    Known,
    Package,
    PackageProblem,
    PythonFacts,
    TensorFlowFacts,
    Unknown,
)
from gpudoctor.facts.probes import conda, requirements, tensorflow_files
from gpudoctor.facts.probes.answers import Answer
from gpudoctor.facts.probes.driver_answers import program

if TYPE_CHECKING:
    from gpudoctor.facts.host import ChildRun, Host
    from gpudoctor.facts.probes.target import Target

TIMEOUT_SECONDS = 20.0
SOURCE = "the interpreter"
OF_TENSORFLOW = ("tensorflow", "tf-nightly", "keras")
CONDA_PARTS = 3  # name-version-build


class PythonAnswer(Struct, frozen=True):
    """Both groups that one look at the files of an environment fills."""

    python: PythonFacts
    tensorflow: TensorFlowFacts


def read_python(host: Host, target: Target, timeout: float = TIMEOUT_SECONDS) -> PythonAnswer:
    """Ask the target interpreter what its environment holds. Never raises for anything that it answers."""
    chosen = PythonFacts(
        executable=Known(target.path, target.chosen_by), chosen_by=Known(target.chosen_by, target.reason)
    )
    if target.problem:
        return _unread(chosen, target.problem)
    run = host.run_child(program("inspect_python"), {}, timeout=timeout, python=target.path)
    if run.outcome is not ChildOutcome.OK or run.result is None:
        return _unread(chosen, _reason(target, run))
    answer = Answer(run.result)
    python = structs.replace(
        chosen,
        version=answer.text_fact("version", SOURCE),
        implementation=answer.text_fact("implementation", SOURCE),
        bits=_bits(answer),
        environment_kind=answer.at("environment").text_fact("kind", SOURCE),
        installer=_installer(answer),
        conda_program=conda.program_name(host, target),
        ensurepip=_ensurepip(answer),
        externally_managed=_externally_managed(answer),
        prefix=answer.text_fact("prefix", SOURCE),
        search_path=Known(answer.texts("path"), "sys.path"),
        user_site=_user_site(answer.at("user_site")),
        packages=_packages(answer),
        problems=_problems(answer),
        conflicts=requirements.conflicts(answer),
        conda_packages=_conda_packages(answer),
        horovod_extensions=_horovod_extensions(answer),
        horovod_operations=_horovod_operations(answer),
        keras_json_backend=_keras_json_backend(answer),
        environment=Known(answer.text_map("variables"), "environment"),
    )
    return PythonAnswer(python, tensorflow_files.read(answer))


def _unread(chosen: PythonFacts, reason: str) -> PythonAnswer:
    """Every fact that the child would have told is unknown, for one reason."""
    unknown = Unknown(reason)
    names = [name for name in PythonFacts.__struct_fields__ if name not in ("executable", "chosen_by")]
    static = (
        "distribution",
        "version",
        "location",
        *tensorflow_files.BUILD_FIELDS,
        "keras_version",
        "keras_generation",
    )
    return PythonAnswer(
        structs.replace(chosen, **dict.fromkeys(names, unknown)), TensorFlowFacts(**dict.fromkeys(static, unknown))
    )


def _reason(target: Target, run: ChildRun) -> str:
    if "SyntaxError" in run.log:
        return f"{target.path} is older than Python 3.6, the oldest that can be asked"
    if run.outcome is ChildOutcome.NOT_STARTED:
        return run.reason
    last = next((line.strip() for line in reversed(run.log.splitlines()) if line.strip()), "")
    return f"{target.path} {run.reason}" + (f" ({last[:200]})" if last else "")


def _user_site(answer: Answer) -> Fact[str]:
    folder = answer.text("folder")
    if not answer.flag("enabled"):
        return Absent("switched off in this environment")
    if not folder or not answer.flag("on_path"):
        return Absent("no folder of the user's own packages")
    return Known(folder, "site")


def _packages(answer: Answer) -> Fact[tuple[Package, ...]]:
    problem = answer.at("packages").text("error")
    if problem:
        return Unknown(f"the package metadata could not be read ({problem})")
    found = tuple(
        Package(
            name=item.text("name"),
            version=item.text("version"),
            location=item.text("folder"),
            installer=item.text("installer") or None,
            empty=item.flag("empty") is True,
        )
        for item in answer.items("packages")
    )
    return Known(found, "package metadata")


def _problems(answer: Answer) -> Fact[tuple[PackageProblem, ...]]:
    """List what is wrong with the installed distributions, in the order of the search path."""
    error = answer.at("packages").text("error")
    if error:
        return Unknown(f"the package metadata could not be read ({error})")
    found: list[PackageProblem] = []
    copies: dict[str, list[str]] = {}
    for item in answer.items("packages"):
        name, folder, entry = item.text("name"), item.text("folder"), item.text("entry")
        copies.setdefault(name, []).append(f"{item.text('version')} in {folder}")
        if item.text("problem") in ("no-metadata", "no-version"):
            found.append(PackageProblem(kind="broken-metadata", name=name, detail=f"{folder}/{entry}"))
        elif item.text("problem") == "files-missing":
            detail = f"{folder}/{entry} is there, the files that it lists are not"
            found.append(PackageProblem(kind="files-missing", name=name, detail=detail))
    for name, places in copies.items():
        if len(places) > 1:
            found.append(PackageProblem(kind="duplicate", name=name, detail="; ".join(places)))
    found.extend(
        PackageProblem(kind="leftover", name=path.rsplit("/", 1)[-1], detail=path) for path in answer.texts("leftovers")
    )
    found.extend(_shadows(answer))
    found.extend(_hollow(answer, {p.detail for p in found if p.kind == "shadowed"}))
    return Known(tuple(found), "package metadata")


def _shadows(answer: Answer) -> list[PackageProblem]:
    """Tell of files that hide a package. On the search path only the first of a name hides the others."""
    found = []
    for item in answer.items("shadows"):
        name, path = item.text("name"), item.text("path")
        if not item.flag("on_path"):
            found.append(PackageProblem(kind="shadowed-here", name=name, detail=path))
        elif answer.at("imports").at(name).text("origin") == path:
            found.append(PackageProblem(kind="shadowed", name=name, detail=path))
    return found


def _hollow(answer: Answer, known: set[str]) -> list[PackageProblem]:
    """Tell of a folder that `import tensorflow` takes and that is not as pip leaves it: without library or metadata."""
    imported = answer.at("imports").at("tensorflow")
    origin = imported.text("origin")
    if imported.text("kind") == "namespace":
        return [PackageProblem(kind="hollow", name="tensorflow", detail=origin)]
    native = answer.at("tensorflow").has("native")
    if native and not tensorflow_files.providers(answer):
        return [PackageProblem(kind="unrecorded", name="tensorflow", detail=origin)]
    if imported.text("kind") == "package" and origin not in known and not native:
        # Of a package that pip installed, the rest was removed or never arrived.
        kind = "hollow" if tensorflow_files.providers(answer) else "shadowed"
        return [PackageProblem(kind=kind, name="tensorflow", detail=origin)]
    return []


def _bits(answer: Answer) -> Fact[int]:
    bits = answer.number("bits")
    return Known(int(bits), SOURCE) if bits else Unknown(f"{SOURCE} did not tell")


def _installer(answer: Answer) -> Fact[str]:
    """Return what installs packages: Poetry keeps a list of its own, uv makes environments without pip."""
    for item in answer.items("packages"):
        if item.text("name").startswith(OF_TENSORFLOW) and item.text("installer").lower().startswith("poetry"):
            return Known("poetry", f"the metadata of {item.text('name')}")
    if any(item.text("name") == "pip" for item in answer.items("packages")):
        return Known("pip", "package metadata")
    if answer.at("environment").text("made_by") == "uv":
        return Known("uv", "pyvenv.cfg")
    return Absent("package metadata: no pip")


def _ensurepip(answer: Answer) -> Fact[bool]:
    there = answer.at("environment").flag("ensurepip")
    return Unknown(f"{SOURCE} did not tell") if there is None else Known(there, "the standard library")


def _externally_managed(answer: Answer) -> Fact[bool]:
    """A virtual environment may be written to, whatever its base forbids."""
    environment = answer.at("environment")
    forbidden = environment.flag("externally_managed")
    if forbidden is None:
        return Unknown(f"{SOURCE} did not tell")
    return Known(forbidden and environment.text("kind") != "venv", SOURCE)


def _conda_packages(answer: Answer) -> Fact[tuple[CondaPackage, ...]]:
    """Return conda's list from its file names: name-version-build."""
    environment = answer.at("environment")
    if not environment.has("kind"):
        return Unknown(f"{SOURCE} did not tell")
    if environment.text("kind") != "conda":
        return Absent("no conda environment")
    parts = [entry.rsplit("-", 2) for entry in environment.texts("conda")]
    found = [CondaPackage(name=part[0], version=part[1], build=part[2]) for part in parts if len(part) == CONDA_PARTS]
    return Known(tuple(found), "conda-meta")


def _horovod_extensions(answer: Answer) -> Fact[tuple[str, ...]]:
    if not answer.at("imports").at("horovod").has("origin"):
        return Absent("the interpreter finds no horovod on its search path")
    return Known(answer.texts("horovod"), "Horovod's folder")


def _horovod_operations(answer: Answer) -> Fact[tuple[str, ...]]:
    if not answer.at("imports").at("horovod").has("origin"):
        return Absent("the interpreter finds no horovod on its search path")
    ways = answer.texts("horovod_operations")
    return Known(ways, "Horovod's library") if ways else Unknown("Horovod's library does not tell how it exchanges")


def _keras_json_backend(answer: Answer) -> Fact[str]:
    config = answer.at("keras_config")
    if config.text("error"):
        return Unknown(f"keras.json could not be read ({config.text('error')})")
    if not config.text("backend"):
        return Absent(config.text("path") or "there is no keras.json")
    return Known(config.text("backend"), config.text("path"))
