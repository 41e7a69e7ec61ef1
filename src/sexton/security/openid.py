"""OpenID Connect without requests: the settings, the checks of an id_token, and the roles that the groups of
a person give.

A setting such as `ops=operator@default,billing-admins=admin@billing` maps groups to roles, each in one
namespace (`*`: in all of them). Every sign-in computes the roles, and they stay with the session. A person
whose groups give no role is refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sexton.config import Settings
from sexton.errors import InvalidField, SextonError
from sexton.security.principal import Principal
from sexton.security.role import Role

# How far the clocks of the provider and of this machine may be apart.
LEEWAY_SECONDS = 60.0
# An id_token is used at once: an older one is not the answer to our request.
OLDEST_SECONDS = 600.0
LONGEST_NAME = 200
# Groups that a refusal names.
MOST_SHOWN = 20
EXAMPLE = "ops=operator@default,admins=admin@*"

Mapped = Mapping[str, tuple[tuple[str, Role], ...]]


@dataclass(frozen=True, slots=True)
class Openid:
    """`roles` are by group: in which namespace, and which."""

    issuer: str
    client_id: str
    client_secret: str | None
    scopes: str
    groups_claim: str
    roles: Mapped


def read_openid(settings: Settings) -> Openid | None:
    """The settings of OpenID Connect; None: there are none. Raises `InvalidField`."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return Openid(
        settings.oidc_issuer,
        settings.oidc_client_id,
        _read_secret(settings.oidc_client_secret),
        " ".join(settings.oidc_scopes.split()),
        settings.oidc_groups_claim,
        read_roles(settings.oidc_roles),
    )


def read_roles(text: str) -> Mapped:
    """`group=role@namespace` with commas; a comma, an `=` or a `%` inside a group as `%2C`, `%3D`, `%25`."""
    found: dict[str, list[tuple[str, Role]]] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        group, _, rest = entry.partition("=")
        role, _, namespace = rest.partition("@")
        people = [each.value for each in Role if each is not Role.WORKER]
        if not group or role not in people or not namespace:
            raise InvalidField(
                "bad_config",
                f"{entry!r} of oidc_roles is not group=role@namespace",
                field="oidc_roles",
                hint=f"write {EXAMPLE}; roles of people are {', '.join(people)}",
            )
        found.setdefault(unquote(group), []).append((namespace, Role(role)))
    return {group: tuple(roles) for group, roles in found.items()}


def check_claims(claims: Mapping[str, Any], *, openid: Openid, nonce: str, now: datetime) -> None:
    """Raise `bad_id_token` unless these claims are the answer to our request: from the issuer, for our client
    alone, now, and with the nonce of this browser. The caller has checked their signature."""
    if claims.get("iss") != openid.issuer:
        raise bad_id_token("it comes from another issuer")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if openid.client_id not in audiences:
        raise bad_id_token("it is for another client")
    party = claims.get("azp", openid.client_id if len(audiences) == 1 else None)
    if party != openid.client_id:
        raise bad_id_token("it was made for another client")
    at = now.timestamp()
    expires, issued, begins = (_number(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or issued is None:
        raise bad_id_token("it does not say when it was made and when it expires")
    if expires + LEEWAY_SECONDS <= at:
        raise bad_id_token("it has expired")
    if issued - LEEWAY_SECONDS > at or (begins is not None and begins - LEEWAY_SECONDS > at):
        raise bad_id_token("it is from the future: compare the clocks of the provider and of this server")
    if issued + OLDEST_SECONDS + LEEWAY_SECONDS < at:
        raise bad_id_token("it is too old")
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise bad_id_token("its nonce is not that of this sign-in")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise bad_id_token("it does not say who has signed in")


def person_of(claims: Mapping[str, Any], openid: Openid) -> Principal:
    """The person whom these claims name, with the roles of their groups. Raises `no_role` without one."""
    groups = groups_in(claims, openid.groups_claim)
    grants = grants_of(groups or [], openid.roles)
    name = name_of(claims)
    if not grants:
        raise SextonError(
            "no_role",
            f"the provider names {name}, who has no role here: {_why(groups, openid.groups_claim)}",
            hint="ask for one of the groups that the setting oidc_roles names, and sign in again",
        )
    return Principal(f"person:{name}", grants, credential=f"openid:{openid.issuer} {claims['sub']}")


def name_of(claims: Mapping[str, Any]) -> str:
    """The e-mail address, unless the provider says that it was not verified; else the subject."""
    email = claims.get("email")
    trusted = isinstance(email, str) and email and claims.get("email_verified", True) is not False
    name = str(email if trusted else claims["sub"])
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)[
        :LONGEST_NAME
    ]


def groups_in(claims: Mapping[str, Any], path: str) -> list[str] | None:
    """The groups in a claim: a text, or a list of texts. `realm_access.roles` is a claim inside another,
    unless a claim has the whole name. An e-mail address that was not verified is no group. None: there is no
    such claim."""
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if path == "email" and claims.get("email_verified") is not True:
        return None
    if isinstance(found, str):
        return [found]
    if isinstance(found, list):
        return [each for each in found if isinstance(each, str)]
    return None


def grants_of(groups: Iterable[str], roles: Mapped) -> dict[str, Role]:
    """The highest role in each namespace."""
    grants: dict[str, Role] = {}
    for group in groups:
        for namespace, role in roles.get(group, ()):
            before = grants.get(namespace)
            grants[namespace] = role if before is None or role.allows(before) else before
    return grants


def _why(groups: list[str] | None, claim: str) -> str:
    if groups is None:
        return f"the provider has sent no claim {claim} (oidc_groups_claim, oidc_scopes)"
    if not groups:
        return f"the claim {claim} names no group"
    shown = ", ".join(groups[:MOST_SHOWN]) + (", …" if len(groups) > MOST_SHOWN else "")
    return f"none of these groups has a role: {shown}"


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def bad_id_token(why: str) -> SextonError:
    return SextonError("bad_id_token", f"the answer of the provider is refused: {why}", hint="sign in again")


def _read_secret(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8").strip()
    except OSError as error:
        what = f"the file with the secret of the client cannot be read: {error}"
        hint = "give the path of a file that Sexton may read, after an @"
        raise InvalidField("bad_config", what, field="oidc_client_secret", hint=hint) from error
