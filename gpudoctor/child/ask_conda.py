"""Child program: asks conda (mamba, micromamba) for its virtual packages, which it makes of the machine.

Runs in gpudoctor's own interpreter (`-I -S -B`). Request: {"conda": path of the program}. It writes one JSON object:
{"virtual": ["__cuda=12.2=0", ...]}, or {"error": what went wrong}. All else that conda tells of a user's set-up stays
here. Whoever started this ends conda with it.
"""

from __future__ import annotations

import sys

sys.path[:] = [entry for entry in sys.path if entry]

import json
import os
import subprocess

# conda calls it by the first name, mamba 2 and micromamba by the second.
KEYS = ("virtual_pkgs", "virtual packages")


def text(item: object) -> str | None:
    """Return a virtual package as name=version=build: conda writes a list, mamba that text."""
    if isinstance(item, list) and all(isinstance(part, str) for part in item):
        return "=".join(item)
    return item if isinstance(item, str) else None


def ask(program: str) -> dict[str, object]:
    """Run the program and return the answer."""
    done = subprocess.run(
        [program, "info", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        return {"error": f"ended with exit status {done.returncode}"}
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return {"error": "gave no readable answer"}
    listed = (
        next((told[key] for key in KEYS if isinstance(told.get(key), list)), None) if isinstance(told, dict) else None
    )
    if listed is None:
        return {"error": "names no virtual packages; it may be too old for them"}
    return {"virtual": [found for found in map(text, listed) if found is not None]}


def main() -> None:
    """Answer one request."""
    descriptor, request = int(sys.argv[1]), json.loads(sys.argv[2])
    try:
        answer = ask(request["conda"])
    except OSError as exc:
        answer = {"error": f"could not be started: {exc.strerror or exc}"}
    os.write(descriptor, json.dumps(answer).encode("ascii") + b"\n")


main()
