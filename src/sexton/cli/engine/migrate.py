"""`sexton migrate`: bring the database's tables up to date."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE
from sexton.cli.local import Data, DatabaseUrl, with_database
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json
from sexton.config import Settings, load
from sexton.errors import InvalidField
from sexton.postgres.database import Database, in_schema
from sexton.postgres.migrate import migrate as apply
from sexton.postgres.migrate import migrations, pending, require_shards


def migrate(
    *,
    check: Annotated[
        bool, Parameter(help="Only list the missing steps. Exit code 1 if there are any.")
    ] = False,
    shards: Annotated[int | None, Parameter(help="Number of shards in a new database. Default: 64.")] = None,
    print_: Annotated[bool, Parameter(name="--print", help="Only print the SQL of all steps.")] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Bring the database's tables up to date.

    Safe to repeat, and to run from several machines at once.
    """
    if check and print_:
        raise InvalidField(
            "bad_usage", "--check and --print are given together", field="check", hint="give one"
        )
    if print_:
        schema = load({}).schema
        for step in migrations():
            print(f"-- {step.number:04} {step.name}\n{in_schema(step.text, schema).strip()}\n")
        return DONE

    async def work(database: Database, settings: Settings) -> list[str]:
        steps = await pending(database) if check else await apply(database, shards=settings.shards)
        if shards is not None and not check:
            await require_shards(database, shards)
        return [f"{step.number:04} {step.name}" for step in steps]

    names = with_database(database_url, data, work, shards=shards)
    if json:
        write_json({"pending" if check else "applied": names})
    else:
        out = console()
        for name in names:
            write(out, f"{'to do' if check else 'applied'}  {name}")
        if not names:
            write(out, "The database is up to date.", "green")
        elif check:
            write(console(error=True), "run: sexton migrate", "yellow")
    return NOT_DONE if check and names else DONE
