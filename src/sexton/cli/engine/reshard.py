"""`sexton reshard`: change the number of shards."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from sexton.cli import DONE
from sexton.cli.local import Data, DatabaseUrl, Reason, with_context
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json, seconds
from sexton.config import Settings
from sexton.engine.cluster.reshard import Resharded
from sexton.engine.cluster.reshard import reshard as apply
from sexton.postgres.transaction import Context
from sexton.printable import counted


def reshard(
    shards: Annotated[int, Parameter(help="The new number of shards.")],
    *,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Change the number of shards.

    Nothing fires while the timers are rewritten, about half a minute for a million
    jobs; then firing continues, and jobs that fell due meanwhile fire late.
    """

    async def work(context: Context, _settings: Settings) -> Resharded:
        return await apply(context, shards, progress=lambda text: print(text, file=sys.stderr, flush=True))

    done = with_context(database_url, data, work, reason=reason)
    if json:
        write_json(asdict(done))
    elif done.before == done.after:
        write(console(), f"It already has {counted(done.after, 'shard')}.")
    else:
        took = seconds(done.seconds)
        write(
            console(),
            f"{counted(done.after, 'shard')} instead of {done.before}: "
            f"{done.moved:,} of {done.timers:,} timers moved in {took}",
        )
    return DONE
