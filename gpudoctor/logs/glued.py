"""What was printed behind a progress bar, on the same line: the bar ends without a line feed."""

from __future__ import annotations

from gpudoctor.logs.seen import compiled

# Keras prints metrics with four decimals, so that what follows a number without a space can be told from it.
_METRICS = (
    r"(?: - (?:ETA: \d[\d:]{0,8}s?|\d{1,6}s(?: \d{1,6}[mu]?s/\w{4,6})?"
    r"|[\w/ ]{1,40}: (?:-?\d{1,12}\.\d{4}(?:e[+-]\d\d)?|nan|-?inf)))"
)
_KERAS_2 = r"\s{0,8}\d{1,9}/(?:\d{1,9}|Unknown) \[[=>.]{4,60}\]" + _METRICS + "{0,24}"
_KERAS_3 = (
    r"\s{0,8}\d{1,9}/(?:\d{1,9}|Unknown) \u2501{1,60} \d{1,6}(?::\d\d){0,2}s? \d{1,6}[mun]?s/step" + _METRICS + "{0,24}"
)
_TQDM = r"[^|\r\n]{0,60}\d{1,3}%\|[^|\r\n]{0,120}\| {0,4}\d{1,9}/\d{1,9} \[[^\]\r\n]{4,60}\]"
_SIGNS = (("[=", _KERAS_2), ("[>", _KERAS_2), ("[..", _KERAS_2), ("\u2501 ", _KERAS_3), ("%|", _TQDM))


def lines_of(text: str) -> tuple[str, ...]:
    """Return a bar and what stands behind it as two lines; any other line as it is."""
    for sign, pattern in _SIGNS:
        if sign in text:
            match = compiled(pattern).match(text)
            rest = text[match.end() :] if match is not None else ""
            # What belongs to the bar in other words begins with a space or a comma; wider is the margin of a table.
            if rest.strip() and (rest[0] not in " ,:-" or rest.startswith("    ")):
                return text.removesuffix(rest), rest
            return (text,)
    return (text,)
