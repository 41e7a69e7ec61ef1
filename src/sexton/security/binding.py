"""Where a secret may go: to which hosts, and with which kinds of target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from sexton.errors import InvalidField
from sexton.postgres.transaction import NAMESPACE

HOST = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.:-]{0,251}[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Use:
    """How a job uses a secret: the kind of its target, the hosts that get it, and the namespace of the
    job."""

    kind: str = ""
    hosts: tuple[str, ...] = ()
    namespace: str = NAMESPACE


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a secret may go. Without hosts, to any; without kinds, with any kind of target."""

    hosts: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def allows(self, use: Use) -> bool:
        """A command can send a secret to any host: a secret with hosts is for shell only if it names
        shell."""
        if self.kinds and use.kind not in self.kinds:
            return False
        if not self.hosts or (use.kind == "shell" and "shell" in self.kinds):
            return True
        return bool(use.hosts) and all(map(self._names, use.hosts))

    def __str__(self) -> str:
        parts = [f"hosts {', '.join(self.hosts)}"] if self.hosts else []
        parts += [f"targets of the kind {', '.join(self.kinds)}"] if self.kinds else []
        return " and ".join(parts) or "any host"

    def authenticated(self, namespace: str, name: str) -> bytes:
        return json.dumps([namespace, name, self.hosts, self.kinds]).encode()

    def _names(self, host: str) -> bool:
        host = host.lower().removesuffix(".")
        return any(
            host.endswith(each[1:]) if each.startswith("*.") else host == each
            for each in map(str.lower, self.hosts)
        )


ANYWHERE = Binding()
NOWHERE = Use()


def hosts_of(url: str) -> tuple[str, ...]:
    """The hosts of an address; of several with commas, each. An address of SQS has a region instead."""
    try:
        parts = urlsplit(url)
        servers = parts.netloc.rpartition("@")[2].split(",")
        hosts = tuple((urlsplit(f"//{server}").hostname or "") for server in servers)
    except ValueError:
        return ("",)
    return tuple(f"sqs.{host}.amazonaws.com" for host in hosts) if parts.scheme == "sqs" else hosts


def check_binding(binding: Binding, kinds: Iterable[str]) -> Binding:
    """Refuse hosts and kinds that cannot exist."""
    known = list(kinds)
    for host in binding.hosts:
        if not HOST.fullmatch(host):
            hint = "write crm.example.com, or *.example.com for all below it; no scheme, no port"
            raise InvalidField("bad_host", f"{host!r} is not a host", field="host", hint=hint)
    for kind in binding.kinds:
        if kind not in known:
            what, hint = f"there is no kind of target {kind!r}", f"use {', '.join(known)}"
            raise InvalidField("bad_kind", what, field="kind", hint=hint)
    return binding
