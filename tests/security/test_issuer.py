"""The provider: what it says of itself, its keys, the exchange of a code, and what it may not do."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from sexton import clock
from sexton.errors import SextonError
from sexton.security.issuer import FetchError, Issuer
from sexton.security.openid import Openid, read_roles
from tests.security.provider import CLIENT, SHORT_KEY, Key, Provider

BACK = "https://sexton.example.com/sign-in/callback"
# The example of RFC 7636.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
ROLES = read_roles("ops=operator@default")
METADATA, KEYS = "/.well-known/openid-configuration", "/keys"


def issuer_of(provider: Provider, **changes: Any) -> Issuer:
    given: dict[str, Any] = {
        "issuer": provider.issuer, "client_id": CLIENT, "client_secret": provider.secret,
        "scopes": "openid email", "groups_claim": "groups", "roles": ROLES, **changes,
    }  # fmt: skip
    return Issuer(Openid(**given), provider.fetch)


async def claims_of(issuer: Issuer, provider: Provider, *, verifier: str = VERIFIER) -> dict[str, Any]:
    url = await issuer.sign_in_url(BACK, "state", "nonce", VERIFIER)
    answer = parse_qs(urlsplit(provider.authorise(url)).query)
    return await issuer.claims(answer["code"][0], BACK, verifier, "nonce")


async def refusal_of(issuer: Issuer, provider: Provider, **more: Any) -> SextonError:
    with pytest.raises(SextonError) as refused:
        await claims_of(issuer, provider, **more)
    return refused.value


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock on."""
    now = [clock.monotonic()]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])

    def pass_(seconds: float) -> None:
        now[0] += seconds

    return pass_


async def test_a_code_becomes_claims() -> None:
    provider = Provider()
    claims = await claims_of(issuer_of(provider), provider)
    assert (claims["sub"], claims["groups"]) == ("42", ["ops"])


async def test_the_browser_is_sent_with_everything_that_the_flow_needs() -> None:
    url = await issuer_of(Provider()).sign_in_url(BACK, "state", "nonce", VERIFIER)
    assert {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()} == {
        "response_type": "code", "client_id": CLIENT, "redirect_uri": BACK, "scope": "openid email",
        "state": "state", "nonce": "nonce", "code_challenge_method": "S256",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    }  # fmt: skip


async def test_the_code_is_of_no_use_without_the_verifier() -> None:
    provider = Provider()
    refused = await refusal_of(issuer_of(provider), provider, verifier="w" * 43)
    assert (refused.code, "invalid_grant" in refused.message) == ("bad_sign_in", True)


@pytest.mark.parametrize("ways", [None, ["client_secret_post"], ["client_secret_basic"]])
async def test_a_client_may_have_a_secret(ways: list[str] | None) -> None:
    provider = Provider()
    provider.secret = "s3cret"
    provider.metadata = {"token_endpoint_auth_methods_supported": ways}
    assert (await claims_of(issuer_of(provider), provider))["sub"] == "42"
    refused = await refusal_of(issuer_of(provider, client_secret="wrong"), provider)
    assert refused.code == "bad_sign_in"


@pytest.mark.parametrize("alg", ["RS256", "RS384", "RS512", "PS256", "ES256", "EdDSA"])
async def test_signatures_with_keys_of_two_halves_are_accepted(alg: str) -> None:
    provider = Provider()
    provider.keys = [Key("other"), Key("mine", alg)]
    provider.token = provider.keys[1].sign
    assert (await claims_of(issuer_of(provider), provider))["sub"] == "42"


def _unsigned(claims: Any) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}."


def _altered(token: str) -> str:
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["groups"] = ["admins"]
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.{signature}"


FIRST = Key()
FORGED: dict[str, Callable[[Any], Any]] = {
    "none": _unsigned,
    "None": lambda claims: _unsigned(claims).replace(
        _unsigned(claims).split(".")[0], base64.urlsafe_b64encode(b'{"alg":"None"}').decode().rstrip("=")
    ),
    "a secret of both sides": lambda claims: jwt.encode(claims, "s3cret" * 10, algorithm="HS256"),
    "the public key as a secret": lambda claims: _with_secret(claims, FIRST.pem()),
    "a key of another": lambda claims: Key("first", private=jwt_key()).sign(claims),
    "an unknown key": lambda claims: Key("unknown", "ES256").sign(claims),
    "altered": lambda claims: _altered(FIRST.sign(claims)),
    "critical": lambda claims: FIRST.sign(claims, crit=["exp"]),
    "an algorithm of another kind": lambda claims: Key("first", "ES256").sign(claims),
    "nothing": lambda _: "",
    "no token": lambda _: "a.b.c",
    "five parts": lambda _: "a.b.c.d.e",
    "a list": lambda _: FIRST.sign({}).split(".")[0] + "." + base64.urlsafe_b64encode(b"[]").decode() + ".x",
    "a number": lambda _: 7,
}


def jwt_key() -> Any:
    return rsa.generate_private_key(65537, 2048)


def _with_secret(claims: Any, secret: bytes) -> str:
    """What libraries refuse to make: signed with HMAC, with a public key as the secret."""

    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).decode().rstrip("=")

    signed = (
        f"{part(json.dumps({'alg': 'HS256', 'kid': 'first'}).encode())}.{part(json.dumps(claims).encode())}"
    )
    return f"{signed}.{part(hmac.digest(secret, signed.encode(), 'sha256'))}"


@pytest.mark.parametrize("way", FORGED)
async def test_a_token_that_the_provider_did_not_sign_is_refused(way: str) -> None:
    provider = Provider()
    provider.token = FORGED[way]
    refused = await refusal_of(issuer_of(provider), provider)
    assert refused.code == "bad_id_token"


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_a_short_key_is_none() -> None:
    provider = Provider()
    provider.keys = [Key(private=SHORT_KEY)]
    assert (await refusal_of(issuer_of(provider), provider)).code == "bad_id_token"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "other"},
        {"iss": "https://evil.example"},
        {"aud": "other"},
        {"exp": 1},
        {"iat": 9e9},
        {"sub": None},
    ],
)
async def test_claims_are_checked(claims: dict[str, Any]) -> None:
    provider = Provider()
    provider.claims = claims
    assert (await refusal_of(issuer_of(provider), provider)).code == "bad_id_token"


async def test_keys_may_be_rotated_at_any_time(time: Callable[[float], None]) -> None:
    provider = Provider()
    issuer = issuer_of(provider)
    for _ in range(3):
        await claims_of(issuer, provider)
    assert (provider.asked.count(METADATA), provider.asked.count(KEYS)) == (1, 1)
    provider.keys = [Key("second", "ES256")]
    time(10)
    for _ in range(3):
        assert (await claims_of(issuer, provider))["sub"] == "42"
    assert provider.asked.count(KEYS) == 2
    # Even with the name of the one before.
    provider.keys = [Key("second", "ES256")]
    time(10)
    assert (await claims_of(issuer, provider))["sub"] == "42"
    time(601)
    await claims_of(issuer, provider)
    assert provider.asked.count(KEYS) == 4
    time(3000)
    await claims_of(issuer, provider)
    assert provider.asked.count(METADATA) == 2


async def test_a_withdrawn_key_is_refused_once_the_keys_are_read_again(time: Callable[[float], None]) -> None:
    provider = Provider()
    issuer = issuer_of(provider)
    old = provider.keys[0]
    await claims_of(issuer, provider)
    provider.keys, provider.token = [Key("second", "ES256")], old.sign
    time(601)
    assert (await refusal_of(issuer, provider)).code == "bad_id_token"


async def test_tokens_with_unknown_keys_do_not_make_us_ask_all_the_time(
    time: Callable[[float], None],
) -> None:
    provider = Provider()
    issuer = issuer_of(provider)
    provider.token = Key("unknown", "ES256").sign
    for _ in range(5):
        await refusal_of(issuer, provider)
    assert provider.asked.count(KEYS) == 1
    time(10)
    for _ in range(5):
        await refusal_of(issuer, provider)
    assert provider.asked.count(KEYS) == 2


async def test_a_key_without_a_name_is_tried() -> None:
    provider = Provider()
    provider.keys = [Key(None, private=jwt_key()), Key(None)]
    provider.token = provider.keys[1].sign
    assert (await claims_of(issuer_of(provider), provider))["sub"] == "42"


async def test_the_groups_are_asked_for_if_the_token_lacks_them() -> None:
    provider = Provider()
    provider.person = {"sub": "42"}
    provider.userinfo = {"groups": ["ops"], "email": "kim@example.com", "iss": "https://evil.example"}
    claims = await claims_of(issuer_of(provider), provider)
    assert (claims["groups"], claims["email"], claims["iss"]) == (["ops"], "kim@example.com", provider.issuer)
    provider.userinfo["sub"] = "43"
    assert (await refusal_of(issuer_of(provider), provider)).code == "bad_id_token"


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"issuer": "https://id.example/"},
        {"token_endpoint": "http://id.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"userinfo_endpoint": "file:///etc/passwd"},
        {"token_endpoint": 7},
        {"token_endpoint": "https://["},
    ],
)
async def test_a_provider_must_describe_itself_rightly(metadata: dict[str, Any]) -> None:
    provider = Provider()
    provider.metadata = metadata
    assert (await refusal_of(issuer_of(provider), provider)).code == "provider_unavailable"


@pytest.mark.parametrize("path", [METADATA, KEYS, "/token"])
@pytest.mark.parametrize(
    "answer", [(500, b"{}"), (200, b"<html>"), (200, b"[]"), (302, b"{}"), (200, b"[" * 99999)]
)
async def test_what_is_no_answer_is_told(path: str, answer: tuple[int, bytes]) -> None:
    provider = Provider()
    provider.broken[path] = answer
    assert (await refusal_of(issuer_of(provider), provider)).code == "provider_unavailable"


async def test_a_provider_that_comes_back_is_used() -> None:
    provider = Provider()
    issuer = issuer_of(provider)
    provider.broken[METADATA] = (503, b"")
    await refusal_of(issuer, provider)
    provider.broken = {}
    assert (await claims_of(issuer, provider))["sub"] == "42"


async def test_a_provider_that_is_away_is_told() -> None:
    async def away(*_: Any) -> tuple[int, bytes]:
        raise FetchError("no route")

    issuer = Issuer(Openid("https://id.example", CLIENT, None, "openid", "groups", ROLES), away)
    with pytest.raises(SextonError, match="no route"):
        await issuer.sign_in_url(BACK, "state", "nonce", VERIFIER)


async def test_the_answer_must_name_the_provider_if_it_says_so() -> None:
    provider = Provider()
    issuer = issuer_of(provider)
    await issuer.check_answer({})
    await issuer.check_answer({"iss": provider.issuer})
    with pytest.raises(SextonError):
        await issuer.check_answer({"iss": "https://evil.example"})
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    issuer = issuer_of(provider)
    with pytest.raises(SextonError):
        await issuer.check_answer({})
