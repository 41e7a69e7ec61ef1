"""Options that `sexton up` and other commands share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter

Port = Annotated[int | None, Parameter(help="Port to listen on. Default: 7390, or the next free one.")]
Workers = Annotated[int | None, Parameter(help="Number of worker processes. Default: one less than cores.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """Each is the setting of the same name."""

    host: Annotated[str | None, Parameter(help="Address that the api listens on. Default: 127.0.0.1.")] = None
    roles: Annotated[
        str | None, Parameter(help="Roles, with commas: api, scheduler, worker. Default: all.")
    ] = None
    queues: Annotated[str | None, Parameter(help="Queues that workers serve, with commas. Default: all.")] = (
        None
    )
    namespaces: Annotated[
        str | None, Parameter(help="Namespaces that workers serve, with commas. Default: all.")
    ] = None
    concurrency: Annotated[
        int | None, Parameter(help="Runs at a time in each worker process. Default: 100.")
    ] = None
    app: Annotated[
        str | None, Parameter(help="The application with your jobs and handlers: module:name.")
    ] = None
    allow_shell: Annotated[bool, Parameter(help="Let workers run the commands of shell targets.")] = False
    shell_commands: Annotated[
        str | None, Parameter(help="Programs that shell targets may run, with commas.")
    ] = None
    shell_variables: Annotated[
        str | None, Parameter(help="Variables that jobs may set for these programs.")
    ] = None
    shell_user: Annotated[
        str | None, Parameter(help="The account that these programs run as. Needs root.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """The settings that were given."""
        return {**asdict(self), "allow_shell": self.allow_shell or None}


NONE = NodeOptions()
