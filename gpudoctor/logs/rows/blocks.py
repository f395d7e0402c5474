"""What readers of formats make of several lines, or of an answer with its question: no line alone says it."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

BLOCKS = (
    Message(
        "keras-backend-told",
        _K.USAGE,
        (),
        "",
        "Keras says with which library it computes.",
        "Keras",
        example=">>> keras.backend.backend()\n'jax'",
    ),
)
"""Their literals are empty; an example has several lines."""
