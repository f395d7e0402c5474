"""Who imports whom, and what is not imported until it is needed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.compat.rows import TYPES

PACKAGE = Path(__file__).parent.parent / "gpudoctor"
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))

# What each part may import of gpudoctor; itself is understood. The longest name that fits a module counts.
# A new part needs a line here: that is a decision.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "child": (),
    "facts.model": (),
    "facts": ("logs", "compat"),
    "logs": ("facts.model",),
    "compat": ("compat_tables", "facts.model"),
    "plan": ("compat", "facts.model"),
    "findings": ("facts.model",),
    "processes": ("facts.model",),
    "policy.model": ("findings",),
    "policy": ("facts.model", "findings", "rules.registry"),
    # Of logs only the table of messages, which is data: what kind of message an event is.
    "rules": (
        *("facts.model", "facts.paths", "findings", "compat", "plan", "policy.model", "processes"),
        *("logs.message", "logs.messages"),
    ),
    "verdict": ("facts.model", "findings", "rules"),
    "engine": ("facts.model", "facts.paths", "findings", "rules", "policy", "verdict"),
    "report": (
        "facts.model",
        "facts.codec",
        "findings",
        "rules.registry",
        "benchmark.results",
        "compat",
        "plan",
        "processes",
    ),
    "benchmark": ("facts", "findings", "compat", "child", "engine", "rules.registry", "logs"),
    "cli": (
        "facts",
        "findings",
        "rules",
        "engine",
        "report",
        "compat",
        "plan",
        "logs",
        "benchmark",
        "policy",
        "processes",
        "judging",
        "verdict",
    ),
    "judging": ("facts.model", "findings", "rules", "engine", "compat", "policy", "benchmark.stored"),
    "api": ("facts", "findings", "policy", "judging", "verdict", "report"),
    "pytest_plugin": ("api", "facts", "findings", "policy", "judging", "rules", "engine"),
    "__main__": ("cli",),
    "__init__": ("api",),
}


def module_of(path: Path) -> str:
    name = ".".join(path.with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported_by(path: Path) -> set[str]:
    """Return the modules of gpudoctor that a file imports anywhere in it, without the package's own name."""
    tree = ast.parse((PACKAGE / path).read_text("utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.update(f"{module}.{alias.name}" if is_package(module) else module for alias in node.names)
    return {name.removeprefix("gpudoctor.") for name in found if name.split(".")[0] == "gpudoctor"}


def is_package(module: str) -> bool:
    return (PACKAGE.parent / Path(*module.split("."))).is_dir()


def is_within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def part_of(module: str) -> str:
    return max((part for part in MAY_IMPORT if is_within(module, part)), key=len, default="")


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    module = module_of(path)
    part = part_of(module)
    assert part, f"{module} belongs to no part that this test knows"
    for name in imported_by(path) - {"__version__", "gpudoctor"}:
        assert any(is_within(name, other) for other in (part, *MAY_IMPORT[part])), f"{module} imports {name}"


def test_the_model_stands_alone_and_children_are_of_the_standard_library() -> None:
    assert imported_by(Path("facts/model.py")) == set()
    for path in FILES:
        if path.parts[0] == "child":
            tree = ast.parse((PACKAGE / path).read_text("utf-8"))
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names
            assert foreign <= {"tensorflow", "numpy", "keras", "pynvml", "imp"}, path


def test_this_test_sees_an_import_that_goes_the_wrong_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.py").write_text("def f():\n    from gpudoctor.report import text\n    import gpudoctor.cli\n")
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    assert imported_by(Path("bad.py")) >= {"cli"}
    assert any(name.startswith("report") for name in imported_by(Path("bad.py")))


def modules_after(program: str, *arguments: str) -> set[str]:
    """Return the names of all modules that a program has imported at its end, in an interpreter of its own."""
    code = (
        "import os, sys, json\nown = os.dup(1)\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
        f"sys.argv[:] = ['gpudoctor', *{list(arguments)!r}]\n"
        f"try:\n    {program}\nexcept SystemExit as end:\n    assert end.code in (None, 0, 1, 3), end.code\n"
        "finally:\n    os.write(own, json.dumps(sorted(sys.modules)).encode())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=PACKAGE.parent)
    return set(json.loads(done.stdout))


MAIN = "from gpudoctor.cli import main; main()"
HEAVY = ("tensorflow", "numpy", "pynvml", "psutil", "pydantic", "asyncio", "importlib.metadata", "urllib.request")
JUDGING = ("gpudoctor.engine", "gpudoctor.rules", "gpudoctor.plan", "gpudoctor.compat", "gpudoctor.report", "packaging")


def found(modules: set[str], names: tuple[str, ...]) -> set[str]:
    return {name for name in names if any(is_within(module, name) for module in modules)}


def test_importing_the_package_imports_nothing() -> None:
    modules = modules_after("import gpudoctor")
    assert found(modules, ("typer", "rich", "msgspec", "gpudoctor.cli", "gpudoctor.facts")) == set()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_neither_probes_nor_judges(option: str) -> None:
    modules = modules_after(MAIN, option)
    reading = ("gpudoctor.facts.collect", "gpudoctor.facts.probes", "gpudoctor.logs", "gpudoctor.benchmark")
    assert found(modules, (*HEAVY, *JUDGING, *reading, "rich.console", "rich.progress")) == set()


def test_a_quick_check_imports_only_what_it_needs() -> None:
    modules = modules_after(MAIN, "check", "--quick")
    unneeded = ("gpudoctor.logs", "gpudoctor.benchmark", "gpudoctor.report.json", "rich.progress", "rich.markdown")
    assert found(modules, (*HEAVY, *unneeded)) == set()


def test_rules_are_listed_without_probes() -> None:
    modules = modules_after(MAIN, "rules")
    assert found(modules, (*HEAVY, "gpudoctor.facts.collect", "gpudoctor.engine", "rich")) == set()


def test_a_healthy_machine_needs_few_tables() -> None:
    """Large tables are for remedies: the check of a GPU that works decodes those of code and drivers alone."""
    facts = Path(__file__).parent / "facts_base" / "desktop-rtx4090.json"
    program = (
        "from gpudoctor.cli import main\n    try:\n        main()\n    finally:\n"
        "        from gpudoctor.compat import bundle\n"
        "        sys.modules.update({f'loaded {kind.__name__}': sys for kind in bundle._loaded})"
    )
    modules = modules_after(program, "check", "--facts", str(facts))
    loaded = {name.removeprefix("loaded ") for name in modules if name.startswith("loaded ")}
    assert loaded < {kind.__name__ for kind in TYPES.values()}
    assert not loaded & {"Gpu", "KerasRow", "OfficialBuild", "Horovod", "Platform"}
