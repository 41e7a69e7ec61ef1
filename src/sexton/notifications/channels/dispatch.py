"""Decides which provider sends a message, how many at a time, and what happens after a failure.

The providers of a channel are tried in the order of their priority. A message that a provider has certainly
not sent (`Failed`, `Deferred`) goes to the next one. All processes share the rate of a provider; messages
wait for it and do not go to another provider.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from sexton import clock
from sexton.connections.loopback import is_loopback
from sexton.engine.up.listen import address_of
from sexton.errors import SextonError
from sexton.notifications.channels.base import (
    Accepted,
    Deferred,
    Failed,
    Outgoing,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.notifications.channels.device import device_key, join_devices
from sexton.notifications.channels.opened import OpenProvider, OpenProviders
from sexton.notifications.recipients.suppression import normal_address
from sexton.notifications.recipients.unsubscribe import UnsubscribeLinks
from sexton.postgres.jsonb import json_text
from sexton.security.keys import read_pepper
from sexton.targets.base import TargetServices
from sexton.targets.run import describe

log = logging.getLogger("sexton")

PUSH = "push"
EMAIL = "email"
# How long a batch waits for a provider with a rate.
PATIENCE_SECONDS = 2.0
# The time between two writes of the counts.
COUNT_SECONDS = 1.0


class Dispatched(msgspec.Struct, frozen=True):
    """The result of a message, and its provider. `note` is a remark for `why`."""

    provider: str | None
    result: SendResult
    note: str | None = None


class Dispatcher:
    """Sends messages for a process. Providers are opened at the first use."""

    def __init__(self, services: TargetServices) -> None:
        self._database = services.database
        self._secrets = services.renderer.secrets
        self._providers = OpenProviders(
            services.settings, services.database, services.outbound, self._secrets
        )
        self._writing: asyncio.Task[None] | None = None
        self._settings = services.settings
        self._links: UnsubscribeLinks | None = None

    async def dispatch(self, namespace: str, channel: str, batch: Sequence[Outgoing]) -> list[Dispatched]:
        """Send messages; returns one result for each, in order. Errors of providers are results; only errors
        of the database are raised."""
        if channel == PUSH:
            return await self._dispatch_devices(namespace, batch)
        return await self._dispatch(namespace, channel, batch)

    async def doubt(self, namespace: str, channel: str) -> str:
        """What to do with messages of a channel that may have been sent: `resend` if all its providers
        recognise keys or are configured so; else `hold`."""
        providers = await self._providers.get(namespace, channel)
        return "resend" if providers and all(each.doubt == "resend" for each in providers) else "hold"

    async def reports(self, namespace: str, channel: str) -> bool:
        """Whether a provider of the channel reports deliveries."""
        return any(each.provider.reports for each in await self._providers.get(namespace, channel))

    async def links(self) -> UnsubscribeLinks | None:
        """The maker of unsubscribe links; None if the public address of the API is not known."""
        settings = self._settings
        origin = settings.public_origin()
        if origin is None and is_loopback(settings.host):
            origin = address_of(settings.host, settings.port)
        if self._links is None and origin is not None:
            self._links = UnsubscribeLinks(origin, await read_pepper(self._database, settings.secret_key))
        return self._links

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
        await self._write_counts()
        await self._providers.close()

    async def _dispatch_devices(self, namespace: str, batch: Sequence[Outgoing]) -> list[Dispatched]:
        """Send each message to each device of its recipient, and join their results."""
        single: list[Outgoing] = []
        owners: list[int] = []
        for place, message in enumerate(batch):
            devices = message.address if isinstance(message.address, list) else [message.address]
            for device in devices:
                if isinstance(device, dict):
                    key = device_key(message.key, device)
                    single.append(msgspec.structs.replace(message, address=device, key=key))
                    owners.append(place)
        sent = await self._dispatch(namespace, PUSH, single) if single else []
        found: list[list[Dispatched]] = [[] for _ in batch]
        for owner, each in zip(owners, sent, strict=True):
            found[owner].append(each)
        return [_joined(each) for each in found]

    async def _dispatch(self, namespace: str, channel: str, batch: Sequence[Outgoing]) -> list[Dispatched]:
        providers = await self._providers.get(namespace, channel)
        if channel == EMAIL and any(each.provider.headed for each in providers):
            batch = _with_links(namespace, batch, await self.links())
        done: list[Dispatched | None] = [None] * len(batch)
        waiting = list(range(len(batch)))
        tried: dict[int, list[tuple[str, SendResult]]] = {}
        for provider in providers:
            mine = [place for place in waiting if provider.provider.takes(batch[place].address)]
            if not mine:
                continue
            results = await self._send(provider, [batch[place] for place in mine])
            if not tried and all(type(result) is Accepted for result in results):
                for place, result in zip(mine, results, strict=True):
                    done[place] = Dispatched(provider.name, result, provider.note)
            else:
                for place, result in zip(mine, results, strict=True):
                    if isinstance(result, Failed) or (isinstance(result, Deferred) and not result.stays):
                        tried.setdefault(place, []).append((provider.name, result))
                    else:
                        note = _note(provider.note, tried.get(place))
                        done[place] = Dispatched(provider.name, result, note)
            waiting = [place for place in waiting if done[place] is None]
            if not waiting:
                break
        for place in waiting:
            done[place] = _given_up(channel, batch[place], tried.get(place))
        all_done = [each for each in done if each is not None]
        await self._remove_gone(namespace, channel, batch, all_done)
        return all_done

    async def _send(self, provider: OpenProvider, batch: Sequence[Outgoing]) -> list[SendResult]:
        """Send to one provider, with its circuit, rate and counts."""
        left = provider.circuit.left(clock.monotonic())
        if left > 0:
            results: list[SendResult] = [Deferred(_circuit(provider), left)] * len(batch)
        elif provider.circuit.probing and len(batch) > 1:
            # One message is the probe.
            results = await self._send_now(provider, batch[:1])
            return [*results, *await self._send(provider, batch[1:])]
        elif provider.rate is not None:
            results = await self._send_paced(provider, provider.rate, batch)
        else:
            results = await self._send_now(provider, batch)
        self._count(provider, results)
        return results

    async def _send_paced(
        self, provider: OpenProvider, rate: float, batch: Sequence[Outgoing]
    ) -> list[SendResult]:
        results: list[SendResult] = []
        until = clock.monotonic() + PATIENCE_SECONDS
        names: dict[str, Any] = {
            "namespace": provider.namespace,
            "name": provider.name,
            "channel": provider.channel,
        }
        while len(results) < len(batch) and not provider.circuit.left(clock.monotonic()):
            some = batch[len(results) : len(results) + max(1, int(rate))]
            patience = max(0.0, until - clock.monotonic())
            wait = await self._database.fetchval(
                "providers/pace", **names, wanted=len(some), rate=rate, patience=patience, now=None
            )
            if wait is None:
                break
            if wait > 0:
                await clock.sleep(wait)
            results += await self._send_now(provider, some)
        if len(results) < len(batch):
            first = await self._database.fetchval("providers/find_turn", **names, now=None) or 0.0
            why = f"{provider.name} takes {rate:g} messages a second"
            left = len(batch) - len(results)
            results += [Deferred(why, first + number / rate, stays=True) for number in range(left)]
        return results

    async def _send_now(self, provider: OpenProvider, batch: Sequence[Outgoing]) -> list[SendResult]:
        provider.users += 1
        try:
            sent = list(await provider.provider.send(batch))
            if len(sent) != len(batch):
                raise RuntimeError(f"it gave {len(sent)} results for {len(batch)} messages")
        except SextonError as error:
            sent = [Failed(str(error), code=error.code)] * len(batch)
        except Exception as error:
            log.exception("the provider %s of the namespace %s failed", provider.name, provider.namespace)
            sent = [Unclear(describe(error))] * len(batch)
        finally:
            provider.users -= 1
        results = [self._masked(each) for each in sent]
        was_open, now = provider.circuit.probing, clock.monotonic()
        opened = provider.circuit.note(results, now)
        if opened:
            await self._tell_open(provider, now)
        elif was_open and not provider.circuit.probing:
            await self._tell_closed(provider)
        return results

    def _masked(self, result: SendResult) -> SendResult:
        """The result without secrets in its reason."""
        if isinstance(result, Accepted):
            return result
        reason = self._secrets.mask(result.reason)
        return result if reason == result.reason else msgspec.structs.replace(result, reason=reason)

    async def _tell_open(self, provider: OpenProvider, now: float) -> None:
        left = provider.circuit.left(now)
        log.warning(
            "the provider %s of the namespace %s is paused for %.0f s: %s",
            provider.name, provider.namespace, left, provider.circuit.reason,
        )  # fmt: skip
        await self._database.execute(
            "providers/open_circuit",
            namespace=provider.namespace,
            name=provider.name,
            channel=provider.channel,
            seconds=left,
            reason=provider.circuit.reason[:500],
            now=None,
        )

    async def _tell_closed(self, provider: OpenProvider) -> None:
        log.info("the provider %s of the namespace %s answers again", provider.name, provider.namespace)
        await self._database.execute(
            "providers/close_circuit",
            namespace=provider.namespace,
            name=provider.name,
            channel=provider.channel,
        )

    def _count(self, provider: OpenProvider, results: Sequence[SendResult]) -> None:
        found = {kind.__name__.lower(): number for kind, number in Counter(map(type, results)).items()}
        for name, number in found.items():
            provider.counts[name] = provider.counts.get(name, 0) + number
        if len(found) > ("accepted" in found):
            wrong = next(each for each in results if not isinstance(each, Accepted))
            provider.failure = wrong.reason[:500]
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon())

    async def _write_soon(self) -> None:
        await clock.sleep(COUNT_SECONDS)
        await self._write_counts()

    async def _write_counts(self) -> None:
        """Write the counts. Some are lost if the process dies; they are only statistics."""
        for provider in self._providers.all():
            counts: dict[str, Any] = {name: provider.counts.get(name, 0) for name in COUNTED}
            provider.counts = {}
            failure, provider.failure = provider.failure, None
            if not any(counts.values()):
                continue
            try:
                await self._database.execute(
                    "providers/count",
                    namespace=provider.namespace,
                    name=provider.name,
                    channel=provider.channel,
                    failure=failure,
                    now=None,
                    **counts,
                )
            except SextonError as error:
                log.debug("the counts of the provider %s are not written: %s", provider.name, error)

    async def _remove_gone(
        self, namespace: str, channel: str, batch: Sequence[Outgoing], done: Sequence[Dispatched]
    ) -> None:
        """Remove devices that no longer exist from their recipients; suppress other addresses."""
        gone = [
            (message, each.result)
            for message, each in zip(batch, done, strict=True)
            if isinstance(each.result, Rejected) and each.result.gone
        ]
        if not gone:
            return
        if channel == PUSH:
            owned = [(message.user_id, message.address) for message, _ in gone if message.user_id is not None]
            await self._database.execute(
                "providers/remove_devices",
                namespace=namespace,
                user_ids=[user for user, _ in owned],
                devices=[json_text(device) for _, device in owned],
                now=None,
            )
            return
        await self._database.execute(
            "providers/suppress",
            namespace=namespace,
            channel=channel,
            addresses=[normal_address(channel, message.address) for message, _ in gone],
            reasons=[f"bounced: {result.reason}"[:500] for _, result in gone],
            now=None,
        )


COUNTED = ("accepted", "rejected", "failed", "unclear", "deferred")


def _with_links(
    namespace: str, batch: Sequence[Outgoing], links: UnsubscribeLinks | None
) -> Sequence[Outgoing]:
    """Add unsubscribe links to e-mails."""
    if links is None:
        return batch
    return [
        msgspec.structs.replace(
            message, headers={**links.headers(namespace, EMAIL, message), **message.headers}
        )
        for message in batch
    ]


def _circuit(provider: OpenProvider) -> str:
    return f"{provider.name} is paused: {provider.circuit.reason}"


def _note(note: str | None, tried: Sequence[tuple[str, SendResult]] | None) -> str | None:
    """The note of a provider, and the results of those before it."""
    before = [f"{name}: {_reason(result)}" for name, result in tried or ()]
    return "; ".join(filter(None, (note, *before))) or None


def _reason(result: Any) -> str:
    return getattr(result, "reason", "")


def _given_up(channel: str, message: Outgoing, tried: Sequence[tuple[str, SendResult]] | None) -> Dispatched:
    """The result of a message that no provider accepted: the first failure, else the earliest deferral."""
    if not tried:
        what = f"devices of the kind {message.address.get('kind')}" if channel == PUSH else channel
        reason = f"no provider is configured for {what}: see sexton providers set"
        return Dispatched(None, Failed(reason, code="no_provider", ours=True))
    failed = [(name, each) for name, each in tried if isinstance(each, Failed)]
    if failed:
        name, result = failed[0]
        return Dispatched(name, result, _note(None, [each for each in tried if each[1] is not result]))
    name, soonest = min(tried, key=lambda each: each[1].seconds if isinstance(each[1], Deferred) else 0.0)
    return Dispatched(name, soonest)


def _joined(found: Sequence[Dispatched]) -> Dispatched:
    """Join the results of the devices of a message."""
    if not found:
        return Dispatched(None, Rejected("the recipient has no device", code="no_device"))
    place, note = join_devices([each.result for each in found])
    chosen = found[place]
    notes = list(dict.fromkeys(filter(None, (note, *(each.note for each in found)))))
    return Dispatched(chosen.provider, chosen.result, "; ".join(notes) or None)
