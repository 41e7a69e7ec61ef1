"""Tests a provider: connects to it, or sends one message to an address."""

from __future__ import annotations

import asyncio
from secrets import token_hex
from typing import Annotated

import msgspec

from sexton.config import Settings
from sexton.errors import SextonError
from sexton.notifications.channels.base import Accepted, Outgoing, SendResult
from sexton.notifications.channels.opened import opened_providers
from sexton.postgres.transaction import Context
from sexton.refusal import about
from sexton.security.audit import record
from sexton.targets.run import clean

SECONDS = 60.0


class ProviderTrial(msgspec.Struct, frozen=True, kw_only=True):
    """How it went."""

    success: Annotated[bool, about("Whether it would work.")]
    outcome: Annotated[
        str, about("accepted, rejected, failed, unclear or deferred; reached: nothing was sent.")
    ]
    detail: Annotated[str | None, about("What the other side said.")]


async def try_provider(
    context: Context, settings: Settings, name: str, address: str | None = None
) -> ProviderTrial:
    """Test a provider. Only the audit keeps that it was tested."""
    async with opened_providers(context.database, settings) as providers:
        found = await providers.find(context.namespace, name)
        await record(context, "provider.tested", name, name, detail={"sent": address is not None})
        mask = providers.secrets.mask
        try:
            async with asyncio.timeout(SECONDS):
                if address is None:
                    said = await found.provider.check()
                    return ProviderTrial(success=True, outcome="reached", detail=said)
                [result] = await found.provider.send([_message(found.channel, address)])
        except SextonError as error:
            return ProviderTrial(success=False, outcome="failed", detail=mask(str(error)))
        except TimeoutError:
            return ProviderTrial(success=False, outcome="unclear", detail=f"no answer within {SECONDS:.0f} s")
        except Exception as error:
            words = clean(f"{type(error).__name__}: {error}", 500)
            return ProviderTrial(success=False, outcome="failed", detail=mask(words))
    return ProviderTrial(
        success=isinstance(result, Accepted),
        outcome=type(result).__name__.lower(),
        detail=mask(_said(result)),
    )


def _said(result: SendResult) -> str:
    return (result.provider_id or "") if isinstance(result, Accepted) else result.reason


def _message(channel: str, address: str) -> Outgoing:
    words = "This is a test message of Sexton. No answer is needed."
    return Outgoing(
        message_id=0,
        key=f"test-{token_hex(8)}",
        address=_device(address) if channel == "push" else address,
        parts={"subject": "A test of Sexton", "title": "A test of Sexton", "text": words, "body": words},
        user_id=address if channel == "in_app" else None,
    )


def _device(text: str) -> object:
    """A device as JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise SextonError(
            "bad_device", "a push message goes to a device", hint='write {"kind": "fcm", "token": "…"}'
        ) from None
