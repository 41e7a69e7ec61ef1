"""Who calls: a key, a person, or the user who runs the server; and what they may do in which namespace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sexton.errors import InvalidField, SextonError
from sexton.postgres.audit_entry import Face
from sexton.postgres.transaction import NAMESPACE
from sexton.refusal import not_found
from sexton.security.role import EVERY_NAMESPACE, Role

NAMESPACE_HEADER = "Sexton-Namespace"


@dataclass(frozen=True, slots=True)
class Principal:
    """`name` stands in the audit. `grants` are roles by namespace, `*` being all of them. `credential` is
    what tells who it is: `user:1000`, `key:7`, `configured:…`, `openid:ISSUER SUBJECT`."""

    name: str
    grants: Mapping[str, Role] = field(default_factory=dict)
    key_id: int | None = None
    credential: str = ""
    session_id: int | None = None
    #: Through which face it calls, if the credential tells: a session is the console's.
    face: Face | None = None
    #: Requests per second that it may send, if it has a limit of its own; 0: none.
    rate: float | None = None

    def role_in(self, namespace: str) -> Role | None:
        """The role in a namespace; None: to this caller it does not exist."""
        own, every = self.grants.get(namespace), self.grants.get(EVERY_NAMESPACE)
        if own is None or every is None:
            return own or every
        return own if own.allows(every) else every

    def everywhere(self) -> Role | None:
        """The role in the cluster as a whole."""
        return self.grants.get(EVERY_NAMESPACE)

    def choose(self, asked: str | None) -> str:
        """The namespace of a call: the one that is asked for, or the only one that the credential has."""
        if asked is not None:
            if self.role_in(asked) is None:
                raise not_found("namespace", asked)  # the same whether it is not there or belongs to others
            return asked
        if EVERY_NAMESPACE in self.grants or NAMESPACE in self.grants:
            return NAMESPACE
        if len(self.grants) == 1:
            return next(iter(self.grants))
        raise InvalidField(
            "namespace_required",
            f"{self.name} may see several namespaces",
            field=NAMESPACE_HEADER,
            hint=f"send the header {NAMESPACE_HEADER} with one of {', '.join(sorted(self.grants))}",
        )

    def require(self, needed: Role, namespace: str, *, cluster: bool = False) -> None:
        """Raises `forbidden` unless this caller has the role there; `cluster`: in all namespaces."""
        role = self.everywhere() if cluster else self.role_in(namespace)
        if role is not None and role.allows(needed):
            return
        where = "in all namespaces" if cluster else f"in the namespace {namespace}"
        raise SextonError(
            "forbidden",
            f"this needs the role {needed} {where}, and {self.name} is {role or 'without a role there'}",
            hint=f"use a key with the role {needed}: sexton keys create --role {needed}",
        )


def owner(name: str, credential: str, *, rate: float | None = None) -> Principal:
    """The user who runs the server, or the holder of a key of its configuration: may do everything."""
    return Principal(name, {EVERY_NAMESPACE: Role.ADMIN}, credential=credential, rate=rate)


#: Without a credential: for what needs none, or the token of a run instead.
ANYONE = Principal("anyone")
