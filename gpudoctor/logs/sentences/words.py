"""Groups of parts of words that rows for gpudoctor.logs.sentences share, in small letters."""

from __future__ import annotations

# Other languages stand in this order: Chinese and Japanese, Russian; German, Portuguese, Spanish, French, Korean.
CARDS = (
    *("gpu", "device", "\u663e\u5361", "\u9854\u5361", "\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442"),
    *("grafikkarte", "placa de v", "tarjeta gr", "carte graphique", "\uadf8\ub798\ud53d\uce74\ub4dc"),
)


def parts(text: str) -> tuple[str, ...]:
    """Return the parts of words of a group, which stand with commas between them."""
    return tuple(text.split(","))
