"""An action that tests plan: a post is published on a morning in Berlin."""

from __future__ import annotations

from typing import Any

from sexton.content.model import Action
from sexton.content.spec import ScheduleSpec


def spec(**fields: Any) -> ScheduleSpec:
    given: dict[str, Any] = {
        "entity_type": "post",
        "entity_id": "1",
        "action": Action.PUBLISH,
        "created_by": "ann",
        "local_time": "2027-03-02 09:00",
        "timezone": "Europe/Berlin",
    }
    return ScheduleSpec(**{**given, **fields})
