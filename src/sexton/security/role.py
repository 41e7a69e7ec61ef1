"""What a caller may do. Each role includes the roles before it; `worker` stands apart.

Every route names the role that it needs (the tables `routes.py` of `api/`), and the documentation shows the
same table.
"""

from __future__ import annotations

from enum import StrEnum

#: Stands for all namespaces where a credential names one.
EVERY_NAMESPACE = "*"


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    EDITOR = "editor"
    ADMIN = "admin"
    WORKER = "worker"

    def allows(self, needed: Role) -> bool:
        """Whether this role includes the needed one. An admin may also do what workers do."""
        if self is needed or self is Role.ADMIN:
            return True
        return self is not Role.WORKER and needed is not Role.WORKER and RANKS[self] >= RANKS[needed]


RANKS = {Role.VIEWER: 0, Role.OPERATOR: 1, Role.EDITOR: 2, Role.ADMIN: 3, Role.WORKER: -1}

MEANINGS = {
    Role.VIEWER: "see jobs, runs, history, dead letters and queues",
    Role.OPERATOR: "run, pause, resume, reschedule, cancel, redrive and discard as well",
    Role.EDITOR: "make, change and delete jobs and the limits of queues as well",
    Role.ADMIN: "manage keys, namespaces, secrets and quotas as well",
    Role.WORKER: "claim runs, report what became of them and keep them alive; nothing else",
}
