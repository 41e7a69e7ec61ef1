"""`sexton up`."""

from __future__ import annotations

import sys

from sexton.cli import NOT_DONE


def up() -> int:
    """Start Sexton on this machine. Not yet: the engine that stores and fires jobs is still to come."""
    print(
        "sexton up: not yet. This version reads schedules; it does not fire jobs.\n"
        "What works today:\n"
        '  sexton next "0 9 * * 1-5" --timezone Europe/Berlin    when a schedule fires\n'
        '  sexton diff "0 9 * * *" "0 9 * * 1-5"                 where two schedules differ\n'
        "  from sexton.schedules import parse                    the same in Python",
        file=sys.stderr,
    )
    return NOT_DONE
