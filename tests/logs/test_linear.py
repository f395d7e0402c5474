"""The work for a text grows with its length, not faster, whatever stands in it: CPU times are compared."""

from __future__ import annotations

import re
import time

import pytest

from tests.logs.attacks import Pattern, attacks, patterns

SHORT, FACTOR = 1024, 4
# Of linear work four times the text takes four times as long; of quadratic work, sixteen times.
MOST = 8.0
# The time of a search that looks at 80 characters from each place: what takes no longer needs no second look.
NEAR = re.compile(r"\w{1,80}!", re.ASCII)


def text_of(pattern: Pattern, attack: tuple[str, str], size: int) -> str | bytes:
    before, body = attack
    text = (before + body * (size // len(body) + 1))[:size] + "\x01"
    return text.encode("utf-8", "replace") if isinstance(pattern.text, bytes) else text


def seconds(pattern: re.Pattern[str] | re.Pattern[bytes], text: str | bytes, *, anchored: bool, rounds: int) -> float:
    """Return the CPU time of a search through a whole text, the least of some rounds."""
    found = []
    for _ in range(rounds):
        started = time.thread_time()
        if anchored:
            pattern.match(text)  # type: ignore[arg-type]
        else:
            for _match in pattern.finditer(text):  # type: ignore[arg-type]
                pass
        found.append(time.thread_time() - started)
    return min(found)


def slow_ways(pattern: Pattern, size: int = SHORT) -> list[tuple[str, str, float]]:
    """Return the attacks that work, with how many times longer four times the text takes."""
    compiled = re.compile(pattern.text, pattern.flags)
    usual = seconds(NEAR, "a" * size, anchored=False, rounds=5)
    found = []
    for attack in attacks(pattern):
        short, long = (text_of(pattern, attack, length) for length in (size, size * FACTOR))
        if seconds(compiled, short, anchored=pattern.anchored, rounds=1) <= usual:
            continue
        for _ in range(3):  # another program may have slowed one of the two down
            once = seconds(compiled, short, anchored=pattern.anchored, rounds=3)
            ratio = seconds(compiled, long, anchored=pattern.anchored, rounds=2) / max(once, usual)
            if ratio <= MOST:
                break
        else:
            found.append((*attack, ratio))
            break
    return found


@pytest.mark.parametrize("package", ["logs", "row", "sentence", "facts", "rules", "report", "compat", "processes"])
def test_no_expression_takes_the_square_of_a_text(package: str) -> None:
    own = [item for item in patterns() if item.where.startswith((f"gpudoctor.{package}.", f"{package} "))]
    assert own
    found = {(item.where, item.text): slow for item in own if (slow := slow_ways(item))}
    assert not found


@pytest.mark.parametrize(
    "text", [r"(?:\d+:)?(\d+(?:\.\d+){1,3})", r"[-\w]*token[-\w]*=", r"a*a*c", r"/app[^ ]*/[^ ]+ .*--type", r"\s+\Z"]
)
def test_attacks_find_what_does(text: str) -> None:
    assert slow_ways(Pattern(text, re.ASCII, "here"), size=256)
