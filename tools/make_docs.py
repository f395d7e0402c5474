"""Make docs/rules/ from the rules, one page for each and a list, and the output shown in the README.

Run `python tools/make_docs.py` after a change of a rule or of a report; `--check` compares and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from gpudoctor.report import rule_page
from gpudoctor.rules.registry import load_rules

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "rules"
INDEX = "README.md"
README = ROOT / "README.md"
# A comment that names a command, and below it what the command prints.
SHOWN = re.compile(r"(<!-- run: gpudoctor (?P<arguments>[^\n]*) -->\n```text\n)(?P<output>.*?)(```\n)", re.DOTALL)


def pages() -> dict[str, str]:
    """Return the text of each page by file name."""
    rules = load_rules(policy=True)
    made = {f"{rule.id}.md": rule_page.render(rule) for rule in rules.values()}
    return {INDEX: rule_page.index(rules.values()), **made}


def stale(folder: Path = OUTPUT) -> list[str]:
    """Return the names of pages that are missing, old or without a rule."""
    made = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def write(folder: Path = OUTPUT) -> None:
    """Write all pages and remove those that no rule has any more."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def readme() -> str:
    """Return the README with the output of its commands as it is now."""

    def run(match: re.Match[str]) -> str:
        argv = [sys.executable, "-m", "gpudoctor", *match["arguments"].split()]
        environ = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(argv, cwd=ROOT, env=environ, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        return f"{match[1]}{done.stdout}{match[4]}"

    return SHOWN.sub(run, README.read_text(encoding="utf-8"))


def main() -> int:
    """Write or compare; the exit status is 1 when something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    if not parser.parse_args().check:
        write()
        README.write_text(readme(), encoding="utf-8")
        return 0
    names = [f"docs/rules/{name}" for name in stale()]
    if README.read_text(encoding="utf-8") != readme():
        names.append(README.name)
    for name in names:
        print(f"{name} is not as it would be made now: run `python tools/make_docs.py`", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
