"""Make the JSON Schemas in gpudoctor/schemas/ from the types that encode facts, reports, plans, processes, benchmarks.

Run `python tools/make_schemas.py` after a change of a fact or of the report; `--check` compares and writes nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.benchmark import results  # noqa: E402 (found by the line above)
from gpudoctor.facts import codec  # noqa: E402
from gpudoctor.policy import keys  # noqa: E402
from gpudoctor.report import json as report  # noqa: E402
from gpudoctor.report import plan_json, processes_json  # noqa: E402

OUTPUT = ROOT / "gpudoctor" / "schemas"


def schemas() -> dict[str, str]:
    """Return the text of each schema file by its name."""
    made = {
        "bench.schema.json": results.json_schema(),
        "facts.schema.json": codec.json_schema(),
        "policy.schema.json": keys.json_schema(),
        "plan.schema.json": plan_json.json_schema(),
        "processes.schema.json": processes_json.json_schema(),
        "report.schema.json": report.json_schema(),
    }
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in made.items()}


def main() -> int:
    """Write the files, or compare them; the exit status is 1 when one differs."""
    differing = []
    for name, text in schemas().items():
        path = OUTPUT / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        differing.append(name)
        if "--check" not in sys.argv[1:]:
            OUTPUT.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    for name in differing if "--check" in sys.argv[1:] else ():
        print(f"gpudoctor/schemas/{name} differs from its types: run `python tools/make_schemas.py`", file=sys.stderr)
    return 1 if differing and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
