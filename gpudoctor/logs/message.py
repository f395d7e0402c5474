"""What a row of the message table is."""

from __future__ import annotations

import enum

from msgspec import Struct


class EventKind(enum.Enum):
    """What a message tells of the program that printed it."""

    HARMLESS = "harmless"
    GPU_USED = "gpu-used"
    GPU_UNUSABLE = "gpu-unusable"
    OPERATION_FAILED = "operation-failed"
    OUT_OF_MEMORY = "out-of-memory"
    DEGRADED = "degraded"
    IMPORT_FAILED = "import-failed"
    USAGE = "usage"
    HARDWARE = "hardware"
    SLOW = "slow"


class Message(Struct, frozen=True):
    """One message.

    literals: fixed parts, of which each occurrence of the message holds at least one. pattern: regular expression with
    the parameters as named groups; empty where the literal is the message. printed_by: program or source file.
    tensorflow: releases that print it, as a version specifier; empty where TensorFlow's release does not matter.
    example: a line that the row recognises.
    """

    id: str
    kind: EventKind
    literals: tuple[str, ...]
    pattern: str
    meaning: str
    printed_by: str
    tensorflow: str = ""
    example: str = ""
