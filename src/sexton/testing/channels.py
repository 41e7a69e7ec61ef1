"""Checks of the contract of channel providers: the same for Sexton's own and for yours.

    class Pigeons(ChannelSubject):
        channel = "pigeon"
        address, gone = "loft 7", None

        def provider(self):
            return PigeonProvider(PigeonConfig(loft=…), services)

        async def received(self):
            return [note.key for note in loft.notes]

    @pytest.mark.parametrize("check", CHANNEL_CHECKS)
    async def test_contract(check):
        await check(Pigeons())

`check_channel(subject)` makes all checks in order. A check raises `AssertionError` with what is wrong.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any, get_args

import msgspec

from sexton.notifications.channels.base import (
    Accepted,
    ChannelProvider,
    Outgoing,
    Rejected,
    SendResult,
)
from sexton.testing.checks import check_all

PARTS = {
    "subject": "Grüße aus der Prüfung",
    "text": "Hello,\n.\nthis is a check.",
    "html": "<p>Hello</p>",
    "title": "A check",
    "body": "Hello",
}
# Ends a header, a command or a line if a provider does not escape it.
HOSTILE = "x\r\nBcc: all@example.com\r\n\r\n.\r\nRCPT TO:<evil@example.com>\0"


class ChannelSubject(ABC):
    """A provider under test, and what its server has received."""

    #: An address that takes messages.
    address: Any
    #: An address that the server rejects as not existing; None: the server cannot tell.
    gone: Any = None

    def __init__(self) -> None:
        self._numbers = count(1)

    @abstractmethod
    def provider(self) -> ChannelProvider:
        """A new provider, as a process makes it."""

    @abstractmethod
    async def received(self) -> Sequence[str]:
        """The keys of all messages that the server has accepted, one for each time."""

    def message(self, address: Any = None, parts: Mapping[str, str] = PARTS, **more: Any) -> Outgoing:
        number = next(self._numbers)
        return Outgoing(
            message_id=number,
            key=more.pop("key", f"n_check{number}"),
            address=self.address if address is None else address,
            parts=parts,
            user_id="checker",
            **more,
        )


async def a_batch_has_a_result_for_each(subject: ChannelSubject) -> None:
    provider = subject.provider()
    batch = [subject.message() for _ in range(25)]
    results = await _send(provider, batch)
    assert all(isinstance(each, Accepted) for each in results), f"not all were accepted: {results}"
    got = await subject.received()
    missing = [each.key for each in batch if each.key not in got]
    assert not missing, f"accepted, but not received: {missing}"
    doubled = [each.key for each in batch if list(got).count(each.key) > 1]
    assert not doubled, f"received more than once: {doubled}"
    await provider.close()


async def nothing_is_a_batch(subject: ChannelSubject) -> None:
    provider = subject.provider()
    assert list(await provider.send([])) == [], "send() of nothing is not empty"
    await provider.close()


async def one_that_is_refused_does_not_hurt_the_others(subject: ChannelSubject) -> None:
    if subject.gone is None:
        return
    provider = subject.provider()
    batch = [subject.message(), subject.message(subject.gone), subject.message()]
    first, refused, last = await _send(provider, batch)
    assert isinstance(first, Accepted), f"the one before it was {first}"
    assert isinstance(last, Accepted), f"the one after it was {last}"
    assert isinstance(refused, Rejected), f"an address that does not exist was {refused}, not Rejected"
    assert refused.gone, "an address that does not exist is not said to be gone"
    got = await subject.received()
    assert batch[1].key not in got, "the message to an address that does not exist was received"
    await provider.close()


async def batches_at_once_do_not_meet(subject: ChannelSubject) -> None:
    """A worker sends several batches at the same time."""
    provider = subject.provider()
    batches = [[subject.message() for _ in range(5)] for _ in range(4)]
    done = await asyncio.gather(*(_send(provider, batch) for batch in batches))
    assert all(isinstance(each, Accepted) for results in done for each in results), f"{done}"
    got = list(await subject.received())
    wrong = [each.key for batch in batches for each in batch if got.count(each.key) != 1]
    assert not wrong, f"not received exactly once: {wrong}"
    await provider.close()


async def the_same_key_twice_is_once_if_it_says_so(subject: ChannelSubject) -> None:
    """As after a worker that died before it could record the sending."""
    provider = subject.provider()
    message = subject.message()
    await _send(provider, [message])
    again = subject.provider()
    await _send(again, [message])
    times = list(await subject.received()).count(message.key)
    await provider.close()
    await again.close()
    if provider.deduplicates:
        assert times == 1, (
            f"it says that the other side knows keys, and the message was received {times} times"
        )


async def what_a_message_holds_stays_in_its_place(subject: ChannelSubject) -> None:
    """Line ends and control characters in a text must not become headers, commands or further messages."""
    provider = subject.provider()
    before = len(await subject.received())
    parts = dict.fromkeys(PARTS, HOSTILE)
    [result] = await _send(provider, [subject.message(parts=parts, headers={"X-Test": HOSTILE})])
    after = len(await subject.received())
    taken = 1 if isinstance(result, Accepted) else 0
    assert after - before == taken, f"{result}, and {after - before} messages were received"
    [result] = await _send(provider, [subject.message()])
    assert isinstance(result, Accepted), f"the message after it was {result}"
    await provider.close()


async def what_cannot_be_an_address_is_refused(subject: ChannelSubject) -> None:
    provider = subject.provider()
    if not isinstance(subject.address, str):
        return
    before = len(await subject.received())
    results = await _send(provider, [subject.message(each) for each in ("", "\r\n", HOSTILE)])
    assert not any(isinstance(each, Accepted) for each in results), (
        f"an empty address was accepted: {results}"
    )
    assert len(await subject.received()) == before, "something was sent to an address that is none"
    await provider.close()


async def closing_twice_is_harmless(subject: ChannelSubject) -> None:
    provider = subject.provider()
    await provider.close()
    await provider.close()
    used = subject.provider()
    await _send(used, [subject.message()])
    await used.close()
    await used.close()


#: Each builds on those before it.
CHANNEL_CHECKS: tuple[Callable[[ChannelSubject], Awaitable[None]], ...] = (
    a_batch_has_a_result_for_each,
    nothing_is_a_batch,
    one_that_is_refused_does_not_hurt_the_others,
    batches_at_once_do_not_meet,
    the_same_key_twice_is_once_if_it_says_so,
    what_a_message_holds_stays_in_its_place,
    what_cannot_be_an_address_is_refused,
    closing_twice_is_harmless,
)


async def check_channel(subject: ChannelSubject) -> None:
    """Make every check. What is wrong is raised as one `ExceptionGroup`, each with the name of its check."""
    await check_all(subject, CHANNEL_CHECKS, type(subject).__name__)


async def _send(provider: ChannelProvider, batch: Sequence[Outgoing]) -> list[SendResult]:
    results = list(await provider.send(batch))
    assert len(results) == len(batch), f"send() gave {len(results)} results for {len(batch)} messages"
    for each in results:
        assert isinstance(each, get_args(SendResult)), f"{each!r} is not a result"
        msgspec.json.encode(each)  # results are stored as JSON
    return results
