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
MOST_BYTES = 4 << 20
KEYS = ("virtual_pkgs", "virtual packages")


def text(item: object) -> str | None:
    """Return a virtual package as name=version=build: conda writes a list, mamba that text."""
    if isinstance(item, list) and all(isinstance(part, str) for part in item):
        return "=".join(item)
    return item if isinstance(item, str) else None


def ask(program: str) -> dict[str, object]:
    """Run the program and return the answer."""
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen([program, "info", "--json"], stdin=nothing, stdout=pipe, stderr=nothing) as process:
        text_told = process.stdout.read(MOST_BYTES + 1) if process.stdout else b""
        if len(text_told) > MOST_BYTES:  # it would fill the memory before its time is over
            process.kill()
            return {"error": "prints without end"}
    if process.returncode != 0:
        return {"error": f"ended with exit status {process.returncode}"}
    try:
        told = json.loads(text_told)
    except (ValueError, RecursionError):
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
