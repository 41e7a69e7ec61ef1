"""Sends messages to any HTTP API, with a request that a template describes.

`{{address}}`, `{{text}}`, `{{subject}}`, `{{key}}` and the other parts of a message can be anywhere in the
body and the headers; secrets are `${secret:name}`. Values of a message are data: they are encoded as their
place requires, and never read as placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta

from sexton.errors import InvalidField
from sexton.notifications.channels.base import Accepted, Outgoing, ProviderServices, Rejected, SendResult
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import (
    HttpProvider,
    at_path,
    check_url,
    json_of,
    judged,
)
from sexton.notifications.channels.mime import one_line
from sexton.notifications.channels.report import DeliveryEvent, IncomingReport, read_standard_report
from sexton.refusal import about
from sexton.security.placeholder import PLACEHOLDER, secret_names
from sexton.targets.http.outbound import Reply

NAMED = re.compile(r"\{\{\s*([a-z_]+)\s*\}\}")


class HttpTemplateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A request for each message."""

    url: Annotated[str, about("The URL; its path and query may contain `{{address}}` and other variables.")]
    method: Annotated[Literal["POST", "PUT", "GET"], about("The method.")] = "POST"
    headers: Annotated[dict[str, str], about("Headers, such as Authorization: Bearer ${secret:sms}.")] = {}
    json: Annotated[Any, about("The body as JSON; texts in it are templates.")] = None
    form: Annotated[dict[str, str] | None, about("Instead: the body as the fields of a form.")] = None
    id_path: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        about("The path of the provider's id in the answer: messages.0.id."),
    ] = None
    gone_codes: Annotated[
        list[int], Meta(max_length=20, description="Statuses that say that there is no such address.")
    ] = []
    deduplicates: Annotated[bool, about("Whether the other side knows a message by `{{key}}`.")] = False
    events_secret: Annotated[
        str | None, about("What reports of delivery are signed with, as ${secret:name}.")
    ] = None

    def __post_init__(self) -> None:
        check_url(NAMED.sub("x", PLACEHOLDER.sub("x", self.url)), "config.url")
        if (
            NAMED.search(self.url.partition("//")[2].partition("/")[0])
            or "${" in self.url.partition("//")[2].partition("/")[0]
        ):
            raise InvalidField(
                "bad_url",
                "config.url has a placeholder for its host",
                field="config.url",
                hint="write the host itself: secrets may go to it only",
            )
        for text in (self.url, *self.headers.values(), *_texts(self.json), *(self.form or {}).values()):
            secret_names(text, "config")
        if self.events_secret is not None:
            secret_only(self.events_secret, "events_secret")
        if self.json is not None and self.form is not None:
            raise InvalidField(
                "bad_value", "config has both json and form", field="config.form", hint="keep one of them"
            )


class HttpTemplateProvider(HttpProvider):
    config = HttpTemplateConfig

    def __init__(self, config: HttpTemplateConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        # These depend on the configuration.
        self.deduplicates = config.deduplicates  # type: ignore[misc]
        self.reports = config.events_secret is not None  # type: ignore[misc]

    async def send_one(self, message: Outgoing) -> SendResult:
        config = self._config
        values = {
            **message.parts,
            "address": str(message.address),
            "key": message.key,
            "user_id": message.user_id or "",
            "topic": message.topic or "",
            "locale": message.locale or "",
        }
        url = await self._fill(config.url, values, lambda text: quote(text, safe=""))
        headers = {name: await self._fill(text, values, one_line) for name, text in config.headers.items()}
        body, kind = b"", None
        if config.json is not None:
            body, kind = msgspec.json.encode(await self._fill_all(config.json, values)), "application/json"
        elif config.form is not None:
            form = {name: await self._fill(text, values, str) for name, text in config.form.items()}
            body, kind = urlencode(form).encode(), "application/x-www-form-urlencoded"
        if kind is not None:
            headers.setdefault("Content-Type", kind)
        headers = {"Idempotency-Key": one_line(message.key), **headers}
        reply = await self.ask(config.method, url, headers, body)
        if not isinstance(reply, Reply):
            return reply
        if 200 <= reply.status < 300:
            found = at_path(json_of(reply), config.id_path) if config.id_path else None
            return Accepted(None if found is None else str(found)[:500])
        result = judged(reply)
        if reply.status in config.gone_codes:
            return Rejected(getattr(result, "reason", ""), code=str(reply.status), gone=True)
        return result

    async def read_report(self, report: IncomingReport) -> Sequence[DeliveryEvent]:
        if self._config.events_secret is None:
            return await super().read_report(report)
        return read_standard_report(report, [await self.secret(self._config.events_secret, self._config.url)])

    async def _fill_all(self, value: Any, values: dict[str, str]) -> Any:
        match value:
            case str():
                return await self._fill(value, values, str)
            case list():
                return [await self._fill_all(each, values) for each in value]
            case dict():
                return {name: await self._fill_all(each, values) for name, each in value.items()}
        return value

    async def _fill(self, template: str, values: dict[str, str], encode: Callable[[str], str]) -> str:
        """Fill in secrets and values in one pass, so that their contents are not searched for
        placeholders."""
        done, last = "", 0
        for found in re.finditer(rf"{NAMED.pattern}|{PLACEHOLDER.pattern}", template):
            done += template[last : found.start()]
            if found[1] is not None:
                done += encode(values.get(found[1], ""))
            else:
                done += await self.secret(found[0], self._config.url)
            last = found.end()
        return done + template[last:]


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _texts(each)]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
    return []
