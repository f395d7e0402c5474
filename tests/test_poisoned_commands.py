"""Whatever stands in the facts, a printed command takes it for text: nothing of it can end a word or begin a command.

Facts come from logs that somebody else wrote, too. Each text in them that a command of a rule case shows is poisoned
with all that a shell takes for more than text, and the commands are read as a shell reads them.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpudoctor import engine
from gpudoctor.compat import Os
from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts
from gpudoctor.plan.commands import TO_FILL_IN, in_quotes, quote
from gpudoctor.rules.registry import load_rules
from tests.rule_case import facts_of
from tests.test_rule_cases import CASES

# Stands before each sign of the poison, so that its signs can be told from those that a rule wrote.
MARK = "\u03be"
SIGNS = ";|&<>()$`'\"\\ \n*?{}[]~#!%"
POISON = "".join(MARK + sign for sign in SIGNS)
# In words of their own; between double quotes fewer are.
POSIX_ACTIVE = set(";|&<>()$` \n*?{}[]!")
WINDOWS_ACTIVE = set(";|&<>(){} '")
# What no shell of Windows knows is meant for that of WSL.
FOR_WSL = ("export ", "rm ")
TOLD = ("state", "source", "reason", "schema")
WORD = re.compile(r"\w{3,}")


def taken_for_text(command: str) -> str:
    """Return a command as a POSIX shell reads it: without quoting, and \\0 for each sign that means something."""
    text, within, place = "", [""], 0
    while place < len(command):
        sign, state, two = command[place], within[-1], command[place : place + 2]
        place += 1
        if state == "'":
            within = within[:-1] if sign == "'" else within
            text += "" if sign == "'" else sign
        elif sign == "\\":
            text += command[place : place + 1] if not state or command[place] in '"$`\\' else two
            place += 1
        elif two in ("$(", "${"):
            within.append({"$(": ")", "${": "}"}[two])
            text, place = text + "\0", place + 1
        elif sign == state:
            within.pop()
            text += "" if sign == '"' else "\0"
        elif sign == '"' or (sign == "'" and state != '"'):
            within.append(sign)
        else:
            text += "\0" if sign in ("$`!" if state == '"' else POSIX_ACTIVE) else sign
    return text if within == [""] else f"{MARK}\0 is never closed"


def windows_text(command: str) -> str:
    """Return a command with \\0 for what cmd or PowerShell takes for more than text."""
    text, inside = "", False
    for sign in command:
        inside ^= sign == '"'
        active = sign in '"$`%!\n' or (not inside and sign in WINDOWS_ACTIVE)
        text += "\0" if active else sign
    return text if not inside else f"{MARK}\0 is never closed"


def faults(command: str, windows: bool) -> list[str]:
    """Return what of the poison a shell would take for more than text."""
    text = windows_text(command) if windows else taken_for_text(command)
    found = re.findall(f"{MARK}(?:\0|{MARK}).{{0,20}}", text, re.DOTALL)
    return found + re.findall(rf"(?:^|[\0 ])--{MARK}.{{0,20}}", text)


def places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield where texts stand in facts, and the texts."""
    match node:
        case str():
            yield path, node
        case dict():
            for key, item in node.items():
                if key not in TOLD:
                    yield from places(item, (*path, key))
        case list():
            for number, item in enumerate(node):
                yield from places(item, (*path, number))


def before_name(text: str) -> str:
    folder, slash, name = text.rpartition("/")
    return folder + POISON + slash + name


WAYS: dict[str, Callable[[str], str]] = {
    "at the end": lambda text: text + POISON,
    "before the name": before_name,
    "as an option": lambda text: f"--{MARK}={text[:1]}",
}


def changed(tree: Any, path: tuple[str | int, ...], way: Callable[[str], str]) -> Facts | None:
    """Return facts with one text poisoned; None where they are refused."""
    tree = copy.deepcopy(tree)
    node = tree
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = way(node[path[-1]])
    try:
        return codec.decode(json.dumps(tree).encode())
    except codec.FactsFileError:
        return None


def commands_of(rule_id: str, facts: Facts) -> list[str]:
    found = engine.run_rule(load_rules()[rule_id], facts).findings
    return [command for finding in found for remedy in finding.remedies for command in remedy.commands]


def trees_of(rule_id: str) -> Iterator[tuple[Any, list[str]]]:
    """Yield facts on which the rule prints commands, as data, with these; each set of commands once, and on Windows."""
    shown = set()
    for other, case in CASES:
        if other != rule_id or case["expect"] not in ("fail", "note") or "policy" in case:
            continue
        changes = {key: case[key] for key in ("set", "also", "unknown", "absent") if key in case}
        for system in ({}, {"host.os": "windows"}):
            facts = facts_of(case["base"], **{**changes, "set": {**changes.get("set", {}), **system}})
            commands = commands_of(rule_id, facts)
            if commands and tuple(commands) not in shown:
                shown.add(tuple(commands))
                yield json.loads(codec.encode(facts)), commands


@pytest.mark.parametrize("rule_id", sorted({rule_id for rule_id, case in CASES if "policy" not in case}))
def test_a_command_takes_all_that_facts_hold_for_text(rule_id: str) -> None:
    found = set()
    for tree, commands in trees_of(rule_id):
        words = set(WORD.findall(" ".join(commands)))
        for path, text in places(tree):
            if not words & set(WORD.findall(text)):
                continue
            for name, way in WAYS.items():
                facts = changed(tree, path, way)
                if facts is None:
                    continue
                for command in commands_of(rule_id, facts):
                    windows = facts.host.os.get() == "windows" and not command.startswith(FOR_WSL)
                    if faults(command, windows):
                        found.add((".".join(map(str, path)), name, command))
    assert not found


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        (f"export A={POISON}", False),
        (f'export A="{POISON}"', False),
        (f"export A='{POISON}'", False),
        (f"pip install --{MARK}=1", False),
        (f"export A={quote(POISON, Os.LINUX)}", True),
        (f'export A="$(echo {quote(POISON, Os.LINUX)} | cat)/{in_quotes(POISON)}"', True),
    ],
)
def test_the_reading_of_commands_finds_what_is_not_text(command: str, whole: bool) -> None:
    assert (faults(command, windows=False) == []) is whole


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("word", [quote(POISON, Os.LINUX), f'"{in_quotes(POISON)}"'])
def test_a_shell_agrees(word: str) -> None:
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert done.stdout.decode() == POISON


@pytest.mark.parametrize("word", [*'$`%!"', "\u201d", "\n"])
def test_what_has_no_form_for_both_shells_of_windows_is_left_to_be_filled_in(word: str) -> None:
    assert quote(f"C:\\a{word}b", Os.WINDOWS) == TO_FILL_IN
    assert quote("C:\\Program Files (x86)\\python.exe", Os.WINDOWS) == '"C:\\Program Files (x86)\\python.exe"'


def test_a_home_folder_stays_one() -> None:
    assert (quote("~/a b", Os.LINUX), in_quotes("~/a b")) == ("~/'a b'", "$HOME/a b")
