"""What must hold of an id_token, and which roles groups give."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sexton.config import Settings, load
from sexton.errors import InvalidField, SextonError
from sexton.security.access import require_keys
from sexton.security.openid import (
    Openid,
    check_claims,
    grants_of,
    groups_in,
    name_of,
    person_of,
    read_openid,
    read_roles,
)
from sexton.security.role import Role

NOW = datetime(2026, 6, 1, 13, tzinfo=UTC)
AT = int(NOW.timestamp())
ROLES = "ops=operator@default,ops=viewer@billing,admins=admin@*,cn%3Dit%2Cou%3Dx=editor@default"
OPENID = Openid("https://id.example", "sexton", None, "openid", "groups", read_roles(ROLES))
GOOD: dict[str, Any] = {
    "iss": "https://id.example", "aud": "sexton", "sub": "42", "iat": AT, "exp": AT + 300, "nonce": "n",
}  # fmt: skip
GIVEN: dict[str, Any] = {"oidc_issuer": "https://id.example", "oidc_client_id": "sexton", "oidc_roles": ROLES}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aud": ["sexton"]},
        {"aud": ["sexton", "other"], "azp": "sexton"},
        {"azp": "sexton"},
        {"exp": AT - 59},
        {"iat": AT + 59},
        {"nbf": AT + 59},
        {"iat": AT - 600.5},
    ],
)
def test_what_is_right_is_accepted(changes: dict[str, Any]) -> None:
    check_claims({**GOOD, **changes}, openid=OPENID, nonce="n", now=NOW)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"iss": "https://id.example/"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "other"}, "another client"),
        ({"aud": None}, "another client"),
        ({"aud": []}, "another client"),
        ({"aud": ["sexton", "other"]}, "another client"),
        ({"azp": "other"}, "another client"),
        ({"aud": ["sexton", "other"], "azp": "other"}, "another client"),
        ({"exp": AT - 60}, "expired"),
        ({"exp": None}, "when it was made"),
        ({"exp": str(AT + 300)}, "when it was made"),
        ({"exp": True}, "when it was made"),
        ({"iat": None}, "when it was made"),
        ({"iat": AT + 61}, "future"),
        ({"nbf": AT + 61}, "future"),
        ({"iat": AT - 661}, "too old"),
        ({"nonce": "m"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"nonce": ["n"]}, "nonce"),
        ({"sub": None}, "who has signed in"),
        ({"sub": ""}, "who has signed in"),
        ({"sub": 42}, "who has signed in"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(changes: dict[str, Any], why: str) -> None:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(SextonError) as refused:
        check_claims(claims, openid=OPENID, nonce="n", now=NOW)
    assert refused.value.code == "bad_id_token"
    assert why in refused.value.message


@pytest.mark.parametrize(
    ("groups", "grants"),
    [
        ([], {}),
        (["nothing"], {}),
        (["ops"], {"default": Role.OPERATOR, "billing": Role.VIEWER}),
        (["cn=it,ou=x", "ops"], {"default": Role.EDITOR, "billing": Role.VIEWER}),
        (["ops", "cn=it,ou=x"], {"default": Role.EDITOR, "billing": Role.VIEWER}),
        (["admins"], {"*": Role.ADMIN}),
        (["OPS", "ops "], {}),
    ],
)
def test_groups_give_the_highest_role_in_each_namespace(groups: list[str], grants: dict[str, Role]) -> None:
    assert grants_of(groups, OPENID.roles) == grants


@pytest.mark.parametrize(
    ("claims", "path", "groups"),
    [
        ({"groups": ["a", "b", 3]}, "groups", ["a", "b"]),
        ({"groups": "a"}, "groups", ["a"]),
        ({"groups": []}, "groups", []),
        ({"groups": {"a": True}}, "groups", None),
        ({}, "groups", None),
        ({"realm_access": {"roles": ["a"]}}, "realm_access.roles", ["a"]),
        ({"https://x.example/groups": ["a"]}, "https://x.example/groups", ["a"]),
        ({"realm_access": "x"}, "realm_access.roles", None),
        ({"email": "kim@example.com", "email_verified": True}, "email", ["kim@example.com"]),
        ({"email": "kim@example.com"}, "email", None),
        ({"email": "kim@example.com", "email_verified": False}, "email", None),
    ],
)
def test_groups_are_found_in_a_claim(claims: dict[str, Any], path: str, groups: list[str] | None) -> None:
    assert groups_in(claims, path) == groups


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"email": "kim@example.com"}, "kim@example.com"),
        ({"email": "kim@example.com", "email_verified": False}, "42"),
        ({"email": ""}, "42"),
        ({"email": ["x"]}, "42"),
        ({"email": "kim\n@\x1b[31m"}, "kim�@�[31m"),
        ({"email": "x" * 500}, "x" * 200),
    ],
)
def test_a_person_is_named_by_their_address_or_subject(claims: dict[str, Any], name: str) -> None:
    assert name_of({**claims, "sub": "42"}) == name


def test_a_person_is_known_by_issuer_and_subject() -> None:
    person = person_of({"sub": "42", "email": "kim@example.com", "groups": ["ops"]}, OPENID)
    assert (person.name, person.credential) == ("person:kim@example.com", "openid:https://id.example 42")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({}, "has sent no claim groups"),
        ({"groups": []}, "names no group"),
        ({"groups": ["a", "b"]}, "none of these groups has a role: a, b"),
        ({"groups": list(map(str, range(30)))}, "18, 19, …"),
    ],
)
def test_without_a_role_the_refusal_says_why(claims: dict[str, Any], why: str) -> None:
    with pytest.raises(SextonError) as refused:
        person_of({"sub": "42", **claims}, OPENID)
    assert (refused.value.code, why in refused.value.message) == ("no_role", True)


@pytest.mark.parametrize(
    "text",
    [
        "ops",
        "ops=operator",
        "ops=boss@default",
        "=viewer@default",
        "ops=worker@default",
        "ops=viewer@",
        "a=b=c@d",
    ],
)
def test_a_mapping_that_cannot_be_read_is_refused(text: str) -> None:
    settings = Settings(**{**GIVEN, "oidc_roles": f"admins=admin@*, {text}"})
    for read in (read_openid, require_keys):
        with pytest.raises(InvalidField) as refused:
            read(settings)
        assert refused.value.field == "oidc_roles"
        assert text in refused.value.message


def test_the_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    for given, secret in ((None, None), ("s3cret", "s3cret"), (f"@{tmp_path}/secret", "s3cret")):
        openid = read_openid(Settings(**GIVEN, oidc_client_secret=given))
        assert openid is not None
        assert openid.client_secret == secret
    with pytest.raises(InvalidField) as refused:
        read_openid(Settings(**GIVEN, oidc_client_secret="@/nowhere"))
    assert refused.value.field == "oidc_client_secret"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"oidc_client_id": ""}, "oidc_client_id"),
        ({"oidc_roles": ""}, "oidc_roles"),
        ({"oidc_issuer": None}, "oidc_issuer"),
        ({"oidc_issuer": "http://id.example"}, "oidc_issuer"),
        ({"oidc_issuer": "id.example"}, "oidc_issuer"),
        ({"oidc_issuer": "https://["}, "oidc_issuer"),
        ({"oidc_issuer": "https://id.example:99999"}, "oidc_issuer"),
        ({"oidc_issuer": "https://user@id.example"}, "oidc_issuer"),
        ({"oidc_scopes": "email"}, "oidc_scopes"),
        ({"host": "0.0.0.0"}, "public_url"),
        ({"public_url": "http://sexton.example.com"}, "public_url"),
        ({"public_url": "https://sexton.example.com/sexton"}, "public_url"),
        ({"public_url": "https://*.example.com"}, "public_url"),
        ({"public_url": "sexton.example.com"}, "public_url"),
        ({"public_url": "https://[::1"}, "public_url"),
        ({"cors_origins": "*"}, "cors_origins"),
        ({"cors_origins": "https://a.example,http://b.example"}, "cors_origins"),
        ({"cors_origins": "https://a.example/path"}, "cors_origins"),
        ({"session_idle_seconds": 60}, "session_idle_seconds"),
        ({"session_seconds": 0}, "session_seconds"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        load({**GIVEN, **changes}, environment={})
    assert refused.value.field == field


def test_settings_that_work_are_accepted() -> None:
    settings = load(
        {**GIVEN, "host": "0.0.0.0", "public_url": "https://Sexton.Example.com:443/"}, environment={}
    )
    assert settings.public_origin() == "https://sexton.example.com"
    assert require_keys(settings) == []
    here = load(
        {**GIVEN, "oidc_issuer": "http://127.0.0.1:9", "public_url": "http://localhost:80"}, environment={}
    )
    assert here.public_origin() == "http://localhost"
