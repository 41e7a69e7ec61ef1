"""One-click unsubscribing (RFC 8058): every e-mail has a signed link to which mail programs post.

The link contains who unsubscribes from what, sealed with the key of the installation; nothing is stored for
it. A recipient opts out of the topic of the message, or of the channel if it has no topic. An address without
a recipient is suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from sexton.model import encode_id
from sexton.notifications.channels.base import Outgoing
from sexton.notifications.model import MESSAGE
from sexton.notifications.recipients.suppression import normal_address
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, command
from sexton.security.token import seal, unseal

KIND = "unsubscribe"
LONGEST = 4000
PATH = "/api/v1/notifications/unsubscribe"


class Unsubscription(msgspec.Struct, frozen=True, array_like=True):
    """The content of a link."""

    namespace: str
    message_id: int
    channel: str
    user_id: str | None
    address: str | None
    topic: str | None

    @property
    def subject(self) -> str:
        return f"messages about {self.topic}" if self.topic else f"messages by {self.channel}"


@dataclass(frozen=True, slots=True)
class UnsubscribeLinks:
    """Makes the links of an installation. `origin` is the public address of its API."""

    origin: str
    pepper: bytes

    def url(
        self,
        namespace: str,
        channel: str,
        message_id: int,
        user_id: str | None,
        address: Any,
        topic: str | None,
    ) -> str:
        """The link of a message. The address is needed only without a recipient."""
        place = None if user_id is not None else str(address)
        link = Unsubscription(namespace, message_id, channel, user_id, place, topic)
        return f"{self.origin}{PATH}/{seal_link(link, self.pepper)}"

    def headers(self, namespace: str, channel: str, message: Outgoing) -> Mapping[str, str]:
        """The headers of an e-mail for which mail programs show a button."""
        url = self.url(
            namespace, channel, message.message_id, message.user_id, message.address, message.topic
        )
        return {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}


def seal_link(link: Unsubscription, pepper: bytes) -> str:
    return seal(KIND, msgspec.json.encode(link), pepper)


def read_link(token: str, pepper: bytes) -> Unsubscription | None:
    """Read a link; None if this installation has not made it."""
    content = unseal(KIND, token, pepper) if len(token) <= LONGEST else None
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=Unsubscription)
    except msgspec.DecodeError:
        return None


@command
async def unsubscribe(context: Context, link: Unsubscription) -> bool:
    """Carry out a link. Returns whether this changed anything."""
    opt_out = {"channel": link.channel} | ({"topic": link.topic} if link.topic else {})
    if link.user_id is not None:
        changed = await context.fetchval(
            "delivery/opt_out",
            namespace=link.namespace,
            user_id=link.user_id,
            opt_out=json_text([opt_out]),
        )
        who = link.user_id
    else:
        who = normal_address(link.channel, link.address)
        changed = await context.fetchval(
            "delivery/suppress_one",
            namespace=link.namespace,
            channel=link.channel,
            address=who,
            reason="unsubscribed",
        )
    if not changed:
        return False
    await context.execute(
        "delivery/note",
        namespace=link.namespace,
        message_id=link.message_id,
        kind="unsubscribed",
        detail=json_text(opt_out),
    )
    context.changed(
        "recipient.unsubscribed",
        who,
        namespace=link.namespace,
        after=opt_out,
        detail={"message": encode_id(MESSAGE, link.message_id)},
    )
    return True
