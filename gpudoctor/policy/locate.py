"""Where in a TOML text something was set. Parsers keep no lines, so the text is parsed again, up to single lines.

Only done when an error has to be told, so that it costs nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Parse = Callable[[str], dict[str, object]]
_LONGEST_VALUE = 400


def line_of(text: str, keys: Sequence[str], item: int | None, parse: Parse, broken: type[ValueError]) -> int | None:
    """Return the line, counted from 1, on which the value under some keys begins; None where it cannot be told.

    keys: of tables, from the outermost. item: of that list. broken: what `parse` raises.
    """
    lines = text.splitlines()

    def tree_of(end: int, tail: str = "") -> dict[str, object] | None:
        try:
            return parse("\n".join(lines[:end]) + tail)
        except broken:
            return None

    first = next(
        (start for start, line in enumerate(lines) if keys[-1] in line and _begins(start, keys, tree_of)), None
    )
    if first is None or item is None:
        return None if first is None else first + 1
    for end in range(first + 1, min(len(lines), first + _LONGEST_VALUE) + 1):
        # A list that is still open is closed.
        found = _look_up(tree_of(end) or tree_of(end, "\n]"), keys)
        if isinstance(found, list) and item < len(found):
            return end
    return first + 1


def _begins(start: int, keys: Sequence[str], tree_of: Callable[[int], dict[str, object] | None]) -> bool:
    """Whether the value is there after this line, or after the first line at which a longer value is whole."""
    before = tree_of(start)
    if before is None or _look_up(before, keys) is not None:
        return False
    for end in range(start + 1, start + _LONGEST_VALUE):
        tree = tree_of(end)
        if tree is not None:
            return _look_up(tree, keys) is not None
    return False


def _look_up(tree: object, keys: Sequence[str]) -> object:
    for key in keys:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree
