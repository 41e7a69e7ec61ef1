"""Options that `sexton up` and `sexton node` share."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

Roles = Annotated[str | None, Parameter(help="Roles, with commas: api, scheduler, worker. Default: all.")]
Host = Annotated[str | None, Parameter(help="Address that the api listens on. Default: 127.0.0.1.")]
Queues = Annotated[str | None, Parameter(help="Queues that workers serve, with commas. Default: all.")]
Namespaces = Annotated[
    str | None, Parameter(help="Namespaces that workers serve, with commas. Default: all.")
]
Concurrency = Annotated[int | None, Parameter(help="Runs at a time in each worker process. Default: 100.")]
App = Annotated[str | None, Parameter(help="The application with your jobs and handlers: module:name.")]
AllowShell = Annotated[bool, Parameter(help="Let workers run the commands of shell targets.")]
ShellCommands = Annotated[str | None, Parameter(help="Programs that shell targets may run, with commas.")]
ShellVariables = Annotated[str | None, Parameter(help="Variables that jobs may set for these programs.")]
ShellUser = Annotated[str | None, Parameter(help="The account that these programs run as. Needs root.")]
