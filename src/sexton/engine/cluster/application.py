"""Which application a worker belongs to, and whether it may.

Workers of one application share its jobs, so two programs must not have one name without meaning to. A name
that was given, `Sexton(name="shop")`, is taken at its word: old and new versions of an application run side
by side, wherever their files are. One that was not given is that of a file, and many files are called `main`:
while one of them runs, another one on the same machine is another program. Paths on other machines prove
nothing, so a warning has to do there. docs/design/0005-applications.md says more.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from sexton.config import Settings
from sexton.errors import Conflict
from sexton.postgres.database import Connection, Database
from sexton.postgres.locks import APPLICATION_SEED
from sexton.postgres.transaction import NAMESPACE


@dataclass(frozen=True, slots=True)
class Application:
    """An application as its workers show it to the other nodes. `file` is what made it; `given`: its name was
    given, and is not just that of the file."""

    name: str
    file: str
    given: bool
    #: Where its jobs are; None: none was given, and they are in the default one.
    namespace: str | None = None

    def serves(self, settings: Settings) -> Settings:
        """The settings of its workers: one with a namespace of its own serves that alone, unless it is told
        to serve others."""
        if settings.namespaces is None and self.namespace is not None:
            return msgspec.structs.replace(settings, namespaces=self.namespace)
        return settings

    async def check(self, database: Database, connection: Connection, host: str) -> str | None:
        """Raise `Conflict` if another program on this host has the name. No other worker joins under this
        name until the caller's transaction ends. Answers with a warning, if there is one."""
        await database.execute(
            "cluster/lock_application", on=connection, app=self.name, seed=APPLICATION_SEED
        )
        if self.given:
            return None
        rows = await database.fetch(
            "cluster/list_namesakes",
            on=connection,
            app=self.name,
            namespace=self.namespace or NAMESPACE,
            file=self.file,
        )
        for row in rows:
            where, process, _ = row["name"].rsplit(":", 2)
            if where == host:
                raise Conflict(
                    "application_taken",
                    f"another program on this machine is the application {self.name}:"
                    f" {row['app_file']}, process {process}; this one is {self.file}",
                    hint='give this one a name of its own, Sexton(name="…"); or give both the same one, if'
                    " they are versions of one application",
                )
        if not rows:
            return None
        return (
            f"the application {self.name} runs from {rows[0]['app_file']} on"
            f" {rows[0]['name'].rsplit(':', 2)[0]}, too, and from {self.file} here: if they are two, give"
            ' each a name, Sexton(name="…"), for they share their jobs'
        )
