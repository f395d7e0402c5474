"""A child's JSON answer, read without trust: what is missing or of another type is empty, nothing raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.facts.model import Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Answer:
    """One JSON object of a child."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self._content = content

    def at(self, key: str) -> Answer:
        """Return the object at a key, an empty one if there is none."""
        value = self._content.get(key)
        return Answer(value if isinstance(value, dict) else {})

    def items(self, key: str) -> list[Answer]:
        """Return the objects of the list at a key."""
        value = self._content.get(key)
        return [Answer(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def has(self, key: str) -> bool:
        """Whether there is something at a key that is not empty, zero or false."""
        return bool(self._content.get(key))

    def text(self, key: str) -> str:
        """Return the text at a key, empty if there is none."""
        value = self._content.get(key)
        return value if isinstance(value, str) else ""

    def flag(self, key: str) -> bool | None:
        """Return the truth value at a key, None if there is none."""
        value = self._content.get(key)
        return value if isinstance(value, bool) else None

    def number(self, key: str) -> float | None:
        """Return the number at a key, None if there is none."""
        value = self._content.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of the list at a key."""
        value = self._content.get(key)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def text_map(self, key: str) -> dict[str, str]:
        """Return the object at a key as texts, sorted by key."""
        value = self._content.get(key)
        items = value.items() if isinstance(value, dict) else ()
        return {name: item for name, item in sorted(items) if isinstance(item, str)}

    def text_fact(self, key: str, source: str) -> Fact[str]:
        """Return the text at a key as a fact."""
        text = self.text(key)
        return Known(text, source) if text else Unknown(f"{source} did not tell")
