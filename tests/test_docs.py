"""Documents agree with the program: generated pages, shown output, commands, links, the contract."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.options import FailOn
from gpudoctor.report.json import ReportOut
from gpudoctor.rules.registry import load_rules
from tools import make_docs

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "ci").glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ANCHOR = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_rule_pages_are_those_of_the_rules() -> None:
    assert make_docs.stale() == []


def test_a_missing_old_or_left_over_page_is_noticed_and_mended(tmp_path: Path) -> None:
    make_docs.write(tmp_path)
    assert make_docs.stale(tmp_path) == []
    (tmp_path / "gpu-works.md").unlink()
    (tmp_path / "no-such-rule.md").write_text("# no-such-rule\n")
    (tmp_path / "driver-missing.md").write_text("# driver-missing\n")
    assert make_docs.stale(tmp_path) == ["driver-missing.md", "gpu-works.md", "no-such-rule.md"]
    make_docs.write(tmp_path)
    assert make_docs.stale(tmp_path) == []


def test_the_readme_shows_what_the_program_prints() -> None:
    assert make_docs.SHOWN.search(text("README.md"))
    assert text("README.md") == make_docs.readme()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (install, check) = re.findall(r"\.venv/bin/(pip install -e .*?|python tools/\S+)(?: &&|\n)", text("README.md"))
    ci = text(".ci/run")
    assert install.partition(" ")[2].removeprefix("install ") in ci
    assert f'/bin/python" {check.partition(" ")[2]}\n' in ci
    assert check in text("CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        if anchor:
            headings = ANCHOR.findall(file.read_text(encoding="utf-8"))
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, target


def test_the_contract_names_every_field_of_a_report() -> None:
    contract = text("docs/output-contract.md")
    fields = [field.encode_name for field in msgspec.structs.fields(ReportOut)]
    assert [name for name in fields if f'"{name}"' not in contract] == []


@pytest.mark.parametrize("page", ["README.md", "docs/output-contract.md"])
def test_the_exit_table_is_whole(page: str) -> None:
    assert re.findall(r"^\| (\d+) \|", text(page), re.MULTILINE) == ["0", "1", "2", "3", "130"]


def test_every_choice_of_fail_on_is_documented() -> None:
    assert [item.value for item in FailOn if f"`{item.value}`" not in text("README.md")] == []


def test_rules_named_in_documents_exist() -> None:
    for page in PAGES:
        for rule in re.findall(r"gpudoctor rules ([\w-]+)", page.read_text(encoding="utf-8")):
            assert rule in load_rules()


def test_changelog_lines_complete_the_sentence() -> None:
    lines = [line for line in text("CHANGELOG.md").splitlines() if line.startswith("- ")]
    assert lines
    assert [line for line in lines if not line[2].islower() or line.endswith(".")] == []
