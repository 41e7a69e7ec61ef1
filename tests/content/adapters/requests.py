"""How the CMS of these tests is described to the adapter `http`."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.content.adapters.http_config import HttpConfig

CONFIG: dict[str, Any] = {
    "auth": {"bearer": "${secret:cms}"},
    "state": {
        "path": "/{{entity_type}}/{{entity_id}}",
        "state": "post.status",
        "values": {"draft": ["draft"], "published": ["live"], "archived": ["gone"]},
        "held": ["scheduled"],
        "version": "post.version",
        "published_version": "post.published",
    },
    "publish": {
        "path": "/{{entity_type}}/{{entity_id}}/publish",
        "body": {"version": "{{version}}", "by": "{{actor}} at {{scheduled_at}}"},
        "confirm": {"post.status": "live"},
    },
    "unpublish": {"path": "/{{entity_type}}/{{entity_id}}/unpublish"},
    "archive": {"path": "/{{entity_type}}/{{entity_id}}/archive"},
}


def read(config: dict[str, Any]) -> HttpConfig:
    return msgspec.convert(config, HttpConfig)
