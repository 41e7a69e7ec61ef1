"""The caller: a key, a person, or the user who runs the server; and its roles by namespace."""

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
    """`name` is for the audit. `grants` are roles by namespace; `*` is all of them. `credential` identifies
    the caller: `user:1000`, `key:7`, `configured:…`, `openid:ISSUER SUBJECT`."""

    name: str
    grants: Mapping[str, Role] = field(default_factory=dict)
    key_id: int | None = None
    credential: str = ""
    session_id: int | None = None
    #: The face through which it calls, if the credential implies it: a session is of the console.
    face: Face | None = None
    #: Requests per second that it may send, if it has its own limit; 0: no limit.
    rate: float | None = None

    def role_in(self, namespace: str) -> Role | None:
        """The role in a namespace; None: for this caller the namespace does not exist."""
        own, every = self.grants.get(namespace), self.grants.get(EVERY_NAMESPACE)
        if own is None or every is None:
            return own or every
        return own if own.allows(every) else every

    @property
    def scope(self) -> str:
        """Where it has roles. An admin of a namespace can make as many keys as they like: what callers share
        is shared by scope first."""
        return ",".join(sorted(self.grants))

    def everywhere(self) -> Role | None:
        """The role in the cluster as a whole."""
        return self.grants.get(EVERY_NAMESPACE)

    def choose(self, asked: str | None) -> str:
        """The namespace of a call: the requested one, or the only one of the credential."""
        if asked is not None:
            if self.role_in(asked) is None:
                raise not_found("namespace", asked)  # the same answer if it exists for others
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
        """Raise `forbidden` unless this caller has the role there; `cluster`: in all namespaces."""
        role = self.everywhere() if cluster else self.role_in(namespace)
        if role is not None and role.allows(needed):
            return
        where = "in all namespaces" if cluster else f"in the namespace {namespace}"
        option = "'*'" if cluster else namespace
        raise SextonError(
            "forbidden",
            f"this needs the role {needed} {where}, and {self.name} is {role or 'without a role there'}",
            hint=f"an admin makes a key that may: sexton keys create --name NAME --role {needed}"
            f" --namespace {option}",
        )


def owner(name: str, credential: str, *, rate: float | None = None) -> Principal:
    """A caller that may do everything: the user who runs the server, or the holder of a configured key."""
    return Principal(name, {EVERY_NAMESPACE: Role.ADMIN}, credential=credential, rate=rate)


#: A caller without a credential: for requests that need none, or only the token of a run.
ANYONE = Principal("anyone")
