"""Which application a worker belongs to, and whether it may join under that name.

Workers of one application share its jobs, so two programs must not have the same name by accident. Sexton
accepts a name that was given, `Sexton(name="shop")`: old and new versions of an application run side by side,
wherever their files are. Without a given name the application is named after its file, and many files are
called `main`: then a second file of that name on the same machine is another program. Paths on other machines
prove nothing, so there Sexton only warns. docs/design/0005-applications.md says more.
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
    """An application as other nodes see it. `file` is the file that made it; `given`: its name was given, and
    is not the name of the file."""

    name: str
    file: str
    given: bool
    #: The namespace of its jobs; None: the default namespace.
    namespace: str | None = None

    def serves(self, settings: Settings) -> Settings:
        """The settings of its workers: with its own namespace, it serves only that one, unless the settings
        name others."""
        if settings.namespaces is None and self.namespace is not None:
            return msgspec.structs.replace(settings, namespaces=self.namespace)
        return settings

    async def check(self, database: Database, connection: Connection, host: str) -> str | None:
        """Raise `Conflict` if another program on this host has the name. No other worker joins under this
        name until the caller's transaction ends. Returns a warning, if there is one."""
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
