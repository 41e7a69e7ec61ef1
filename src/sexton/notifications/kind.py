"""The target kind `notification`: sends due messages, or the chunk of a campaign that the payload names."""

from __future__ import annotations

from typing import Any, ClassVar

from sexton.notifications.spec import NotificationTarget
from sexton.targets.base import OpenKind, TargetKind, TargetServices


class NotificationKind(TargetKind[NotificationTarget]):
    name = "notification"
    spec = NotificationTarget
    example: ClassVar[Any] = {}

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.notifications.execution import OpenNotifications

        return OpenNotifications(services)
