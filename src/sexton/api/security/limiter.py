"""Limits how many requests a caller may send: each credential has a bucket, and each address for requests
without a credential. And how many of them may be under way: each holds a connection of the process, however
long it waits for a place, a lock or the answer of a tested target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from litestar import Request

from sexton.api.security.gate import RequestCaller
from sexton.api.security.guard import address_of
from sexton.config import Settings
from sexton.errors import SextonError
from sexton.security.principal import Principal
from sexton.security.rate import Buckets

# The key in the state of a request of headers to add to its answer.
ANSWER_HEADERS = "answer_headers"
# Requests under way of one caller, and of all: fewer than connections. Beyond that each scope has its share,
# and in it each caller.
MOST_OF_ONE, MOST = 150, 400


class Limiter:
    """The user who runs the server on this machine has no limit. Nor have reports with the token of a run:
    the runs limit their number."""

    def __init__(self, settings: Settings) -> None:
        self._callers = Buckets("caller", settings.api_rate)
        self._addresses = Buckets("address", settings.api_rate)
        self._under_way: Counter[RequestCaller] = Counter()

    def check(self, request: Request[Any, Any, Any], caller: Principal) -> None:
        """Raises `too_many_requests` if the caller has sent too many. The headers of the answer say how many
        are left."""
        if caller.credential:
            found = self._callers.take(caller.credential, caller.rate)
        else:
            found = self._addresses.take(address_of(request))
        if found is None:
            return
        request.scope["state"][ANSWER_HEADERS].update(found.headers())
        if not found.allowed:
            raise SextonError(
                "too_many_requests",
                f"{caller.name if caller.credential else address_of(request)} has sent more than "
                f"{found.quota} requests within {found.window_seconds} s",
                hint=f"wait {found.next_seconds} s; an admin can make a key with another rate: "
                "sexton keys create --rate N",
            )

    @contextmanager
    def under_way(self, caller: RequestCaller) -> Iterator[None]:
        """A request of this caller is under way for the block. Raises `too_many_under_way` if the caller has
        too many; or, while all callers together have too many, if its scope has its share of them and the
        caller its share of that."""
        own = self._under_way[caller]
        if own >= MOST_OF_ONE or (self._under_way.total() >= MOST and self._has_share(caller)):
            raise SextonError(
                "too_many_under_way",
                f"{own} requests of this caller are under way, {self._under_way.total()} in all",
                hint=f"wait for their answers; a caller may have {MOST_OF_ONE}, all together {MOST}",
            )
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]

    def _has_share(self, caller: RequestCaller) -> bool:
        share = MOST // len({each.scope for each in (*self._under_way, caller)})
        of_scope = {each: count for each, count in self._under_way.items() if each.scope == caller.scope}
        own, callers = of_scope.get(caller, 0), len({*of_scope, caller})
        return sum(of_scope.values()) >= share and own >= share // callers
