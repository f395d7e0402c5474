"""Check the whole project: format, lint, types, generated files, tests. The one command of README and CI.

All steps run, also after a failure, so that one run tells all. Further arguments go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPED = ("gpudoctor", "tests", "tools", "bench/micro")
WORKERS = "2"
COVERED_PERCENT = "90"


def steps(pytest_arguments: list[str]) -> dict[str, list[str]]:
    """Return the command of each step, for this interpreter."""
    run = [sys.executable, "-m"]
    # Groups keep tests that share something slow (a build, a started TensorFlow) on one worker.
    tests = [
        "pytest",
        "-q",
        "-n",
        WORKERS,
        "--dist",
        "loadgroup",
        "--cov",
        "--cov-branch",
        "--cov-report=term:skip-covered",
    ]
    return {
        "format": [*run, "ruff", "format", "--check"],
        "lint": [*run, "ruff", "check"],
        "types": [*run, "mypy", *TYPED],
        "tables": [sys.executable, "tools/make_tables.py", "--check"],
        "docs": [sys.executable, "tools/make_docs.py", "--check"],
        "tests": [*run, *tests, f"--cov-fail-under={COVERED_PERCENT}", *pytest_arguments],
    }


def main() -> int:
    """Run all steps; the exit status is 1 when one of them failed."""
    failed = []
    for name, command in steps(sys.argv[1:]).items():
        print(f"== {name}", flush=True)
        started = time.monotonic()

        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(
            f"== {name}: {'ok' if status == 0 else f'failed ({status})'}, {time.monotonic() - started:.0f} s",
            flush=True,
        )
        if status:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
