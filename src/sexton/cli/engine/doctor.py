"""`sexton doctor`: the facts of the database, the bounds that follow from the settings, and what to fix."""

from __future__ import annotations

import msgspec

from sexton.cli import DONE, NOT_DONE
from sexton.cli.local import Data, DatabaseUrl, with_database
from sexton.cli.output import console, paragraph, write, write_json
from sexton.cli.remote import Json
from sexton.engine.cluster.examination import examine


def doctor(*, database_url: DatabaseUrl = None, data: Data = None, json: Json = False) -> int:
    """Examine the database and the settings, and say what to fix.

    Ends with 1 if something serious was found.
    """
    found = with_database(database_url, data, examine)
    facts, bounds, findings = found.facts, found.bounds, found.findings
    if json:
        write_json(msgspec.to_builtins(found))
    else:
        out = console()
        width = max(map(len, (*facts, *bounds)))
        for name, value in facts.items():
            write(out, f"{name.ljust(width)}  {value}")
        write(out, "")
        for name, value in bounds.items():
            write(out, f"{name.ljust(width)}  {value}")
        write(out, "")
        for each in findings:
            paragraph(
                out,
                f"{'fix' if each.serious else 'consider'}: {each.what}",
                "red" if each.serious else "yellow",
            )
            paragraph(out, f"  {each.fix}")
        if not findings:
            write(out, "Nothing to fix.", "green")
    return NOT_DONE if any(each.serious for each in findings) else DONE
