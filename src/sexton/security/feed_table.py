"""Feeds: addresses where people's own calendars read what is planned.

The address is the credential: it holds a secret, and it can be revoked. The database keeps only a keyed hash
of the secret.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from asyncpg import Record

from sexton.model import encode_id
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context
from sexton.refusal import not_found
from sexton.security.token import is_token, new_token, token_hash

View = TypeVar("View", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class FeedTable(Generic[View]):
    """Feeds of one kind: how they are shown, and the statements that create, list, revoke and find them."""

    noun: str
    token_kind: str
    id_prefix: str
    path: str
    view: type[View]
    creating: str
    listing: str
    revoking: str
    finding: str

    async def create(
        self, context: Context, pepper: bytes, *, audited: Collection[str], **columns: Any
    ) -> dict[str, Any]:
        """The fields of the new feed, with its `token` and `path`. `audited` names the columns that the audit
        keeps."""
        token = new_token(self.token_kind, pepper)
        row = await context.fetchrow(
            self.creating,
            namespace=context.namespace,
            hash=token_hash(token, self.token_kind, pepper),
            actor=context.actor,
            now=context.now,
            **columns,
        )
        assert row is not None
        shown = msgspec.structs.asdict(self._shown(row))
        self._audit(context, "created", shown, {name: shown[name] for name in audited})
        return {**shown, "token": token, "path": f"{self.path}/{token}/calendar.ics"}

    async def page(self, context: Context, cursor: str | None, limit: int) -> Page[View]:
        """In the order in which they were made."""
        [after] = (0,) if cursor is None else decode_cursor(cursor, tuple[Number])
        rows = await context.fetch(self.listing, namespace=context.namespace, after=after, limit=limit + 1)
        return make_page([(encode_cursor(row["id"]), self._shown(row)) for row in rows], limit)

    async def revoke(self, context: Context, feed_id: str) -> View:
        row = await context.fetchrow(
            self.revoking,
            feed_id=number_of(self.id_prefix, feed_id, self.noun),
            namespace=context.namespace,
            actor=context.actor,
            now=context.now,
        )
        if row is None:
            raise not_found(self.noun, feed_id)
        shown = self._shown(row)
        if row["changed"]:
            fields = msgspec.structs.asdict(shown)
            self._audit(context, "revoked", fields, {"revoked_by": fields["revoked_by"]})
        return shown

    async def find(self, context: Context, token: str, pepper: bytes) -> tuple[View, str] | None:
        """The feed that a secret belongs to, and its namespace. A made-up secret is refused without a
        statement."""
        if not is_token(token, self.token_kind, pepper):
            return None
        hash_ = token_hash(token, self.token_kind, pepper)
        row = await context.fetchrow(self.finding, hash=hash_)
        if row is None or not hmac.compare_digest(row["hash"], hash_):
            return None
        return self._shown(row), row["namespace"]

    def _audit(self, context: Context, verb: str, feed: dict[str, Any], after: dict[str, Any]) -> None:
        action = f"{self.noun.replace(' ', '_')}.{verb}"
        context.changed(action, feed["feed_id"], feed["name"], after=after)

    def _shown(self, row: Record) -> View:
        return from_row(self.view, row, feed_id=encode_id(self.id_prefix, row["id"]))
