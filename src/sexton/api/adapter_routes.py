"""What can be asked over HTTP about adapters, as a table; see `routes`."""

from __future__ import annotations

from sexton.api.route import Route
from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.security.role import Role

TAG = "content"

PUT_ADAPTER = Route(
    "PUT", "/content/adapters/{adapter}", TAG, "Configure an adapter", Role.ADMIN, body=AdapterSpec
)
LIST_ADAPTERS = Route("GET", "/content/adapters", TAG, "List adapters", Role.VIEWER)
GET_ADAPTER = Route("GET", "/content/adapters/{adapter}", TAG, "Show an adapter", Role.VIEWER)
DELETE_ADAPTER = Route("DELETE", "/content/adapters/{adapter}", TAG, "Delete an adapter", Role.ADMIN)
