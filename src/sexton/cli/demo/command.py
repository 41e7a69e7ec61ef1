"""`sexton demo`: start everything with example data, and print the link that signs a browser in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE, REFUSED
from sexton.cli.demo.directory import demo_directory
from sexton.cli.engine.options import Port, Workers
from sexton.cli.engine.up import announce, explain
from sexton.cli.local import with_database
from sexton.config import Settings, load
from sexton.engine.logs import set_up_logging
from sexton.errors import InvalidField, SextonError
from sexton.postgres.database import Database
from sexton.printable import counted

APP = "sexton.cli.demo.example_app:app"


def demo(
    *,
    data: Annotated[
        Path | None, Parameter(help="Directory of its own private PostgreSQL. Default: beside yours.")
    ] = None,
    port: Port = None,
    workers: Workers = None,
) -> int:
    """Start Sexton with example data, to look around.

    Jobs with some days of history, failures, dead letters, a calendar of content
    and a campaign that goes out, in a data directory of its own: yours is not
    touched. When started again, it continues with the existing data. Ctrl-C stops
    it.
    """
    from sexton.engine.up.machine import supervise

    set_up_logging()
    try:
        directory = (data or demo_directory()).absolute()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        given = {"data": directory, "app": APP, "port": port, "workers": workers}
        settings = load(given)
        if settings.database_url is not None:
            raise InvalidField(
                "bad_usage",
                "sexton demo uses its own private PostgreSQL, and SEXTON_DATABASE_URL names another",
                field="database_url",
                hint="unset it for this command",
            )
        made = with_database(None, directory, _fill)
        if made:
            print(f"{counted(made, 'job')} with their history, dead letters, content and a campaign made")
            print("Some of them fail on purpose: their errors are shown below, too")
        other = asyncio.run(
            supervise(settings, given=given, announce=lambda running, link: announce(running, settings, link))
        )
    except SextonError as error:
        explain(error, None)
        return REFUSED if isinstance(error, InvalidField) else NOT_DONE
    if other is not None:
        print(f"The demo is already running: process {other.pid}, {other.address}")
    return DONE


async def _fill(database: Database, settings: Settings) -> int:
    from sexton.cli.demo.example_data import make_example

    return await make_example(database, shards=settings.shards)
