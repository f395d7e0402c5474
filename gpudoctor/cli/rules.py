"""gpudoctor rules."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli.output import put, usage_error


def rules(
    rule_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Rule to explain.", show_default=False)] = None,
) -> None:
    """List all rules, or explain one.

    Example:

      gpudoctor rules driver-too-old-for-cuda

    Exit status: 0; 2 there is no such rule.
    """
    from gpudoctor.report import rule_page
    from gpudoctor.rules.registry import load_rules

    known = load_rules(policy=True)
    if rule_id is None:
        width = max(map(len, known))
        put("".join(f"{name.ljust(width)}  {rule_page.summary(found)}\n" for name, found in known.items()))
        return
    former = {old: found for found in known.values() for old in found.former_ids}
    found = known.get(rule_id) or former.get(rule_id)
    if found is None:
        import difflib

        near = difflib.get_close_matches(rule_id, known, 3)
        usage_error(f"there is no rule {rule_id!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    put(rule_page.render(found))
