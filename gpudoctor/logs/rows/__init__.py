"""Rows of the message table, one module an area; gpudoctor.logs.messages joins them."""

from __future__ import annotations

from gpudoctor.logs.rows import containers, devices, driver, harmless, installing, libraries, memory, python, training

FIRST = (*devices.ROWS, *containers.ROWS, *driver.ROWS, *libraries.ROWS, *memory.ROWS)
"""They name errors that rows of messages.py know in general only."""
LAST = (*installing.ROWS, *python.ROWS, *training.ROWS, *harmless.ROWS)
