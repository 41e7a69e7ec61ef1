"""The kinds of target beside handlers, and which of them a process can serve."""

from __future__ import annotations

from sexton.config import Settings
from sexton.connections.scheme import is_installed, servers
from sexton.postgres.database import Database
from sexton.security.secrets import Secrets
from sexton.targets.base import Filler, TargetKind
from sexton.targets.celery.step import CeleryTargetKind
from sexton.targets.http.outbound import Outbound
from sexton.targets.http.step import HttpTargetKind
from sexton.targets.message.step import MessageTargetKind, Pool
from sexton.targets.shell.step import ShellTargetKind
from sexton.targets.spec import lane_name

CELERY_BROKERS = ("redis", "rabbitmq")


def make_kinds(database: Database, settings: Settings, outbound: Outbound) -> dict[str, TargetKind]:
    """All but handlers. Close them before `outbound`, which is the caller's."""
    filler = Filler(database, Secrets(database, settings))
    private = settings.private_egress()
    return {
        "http": HttpTargetKind(outbound, filler, database),
        "message": MessageTargetKind(filler, Pool(private=private)),
        "celery": CeleryTargetKind(filler, Pool(private=private)),
        "shell": ShellTargetKind(filler, settings.allowed_commands()),
    }


def served(settings: Settings) -> list[str]:
    """What lanes a worker may claim from, beside those of its handlers."""
    installed = [broker for broker in servers("message") if is_installed(broker)]
    return [
        "http",
        *(lane_name("message", broker) for broker in installed),
        *(lane_name("celery", broker) for broker in installed if broker in CELERY_BROKERS),
        *(lane_name("shell", program) for program in settings.allowed_commands()),
    ]
