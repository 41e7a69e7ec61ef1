"""The table of kinds of provider.

Sexton's own are listed here. Installed packages add theirs by entry points of the group `sexton.channels`,
and the setting `channels` names others by their dotted paths. A loaded kind stays loaded.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.notifications.channels.base import ChannelProvider

log = logging.getLogger("sexton")

GROUP = "sexton.channels"
HERE = "sexton.notifications.channels"
# By path, so that processes that do not send do not import the clients.
BUILT_IN = {
    "null": f"{HERE}.null:NullProvider",
    "file": f"{HERE}.file:FileProvider",
    "smtp": f"{HERE}.smtp:SmtpProvider",
    "twilio": f"{HERE}.twilio:TwilioProvider",
    "http": f"{HERE}.http_template:HttpTemplateProvider",
    "web_push": f"{HERE}.web_push:WebPushProvider",
    "fcm": f"{HERE}.fcm:FcmProvider",
    "apns": f"{HERE}.apns:ApnsProvider",
    "in_app": f"{HERE}.in_app:InAppProvider",
    "apprise": f"{HERE}.apprise:AppriseProvider",
    "webhook": f"{HERE}.webhook:WebhookProvider",
}


@cache
def provider_kinds() -> dict[str, type[ChannelProvider]]:
    """All kinds of provider of this process, by name."""
    table: dict[str, type[ChannelProvider]] = {name: resolve_name(path) for name, path in BUILT_IN.items()}
    for entry in entry_points(group=GROUP):
        try:
            _add(table, entry.name, entry.load())
        except Exception:
            # A broken package must not disable other providers.
            log.exception("the provider %s of the entry point %s cannot be loaded", entry.value, entry.name)
    return table


def load_channels(settings: Settings) -> None:
    """Load all kinds, with those of the setting `channels`. Raises `InvalidField` for a kind that cannot be
    loaded. A process does this when it starts, because its files may later be those of another release."""
    provider_kinds()
    for name, path in settings.channel_paths().items():
        try:
            _add(provider_kinds(), name, resolve_name(path))
        except Exception as error:
            raise InvalidField(
                "bad_config",
                f"the kind of provider {path} cannot be loaded: {error}",
                field="channels",
                hint="write name=package.module:Name of a subclass of "
                "sexton.notifications.channels.base.ChannelProvider",
            ) from error


def _add(table: dict[str, type[ChannelProvider]], name: str, found: Any) -> None:
    if not (isinstance(found, type) and issubclass(found, ChannelProvider)):
        raise TypeError(f"{found!r} is not a subclass of ChannelProvider")
    if table.setdefault(name, found) is not found:
        raise ValueError(f"there is another kind of provider {name}")
