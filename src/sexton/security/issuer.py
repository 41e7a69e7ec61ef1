"""The provider of OpenID Connect: its endpoints, its keys, and the exchange of a code.

Its metadata are kept for an hour, its keys for ten minutes. A token with an unknown key makes us read the
keys again, so the provider may rotate them at any time; but only once in a while, so that tokens cannot cause
many requests. Requests go through `fetch`, with bounds on time and size.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt
import msgspec
from jwt.api_jws import PyJWS

from sexton import clock
from sexton.connections.loopback import is_protected
from sexton.errors import SextonError
from sexton.refusal import UNREADABLE
from sexton.security.openid import Openid, bad_id_token, check_claims, groups_in

# Method, URL, headers and body; status and body. Raises `FetchError`.
Fetch = Callable[[str, str, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]

DISCOVERY = "/.well-known/openid-configuration"
METADATA_SECONDS = 3600.0
KEYS_SECONDS = 600.0
# Before the keys are read again for a token.
AGAIN_SECONDS = 10.0
# Signatures with a secret of both sides (HS256) and none at all are not among them.
ALGORITHMS = {
    "RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
    "ES256": "EC", "ES384": "EC", "ES512": "EC", "EdDSA": "OKP",
}  # fmt: skip
CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
SHORTEST_RSA = 2048
MOST_KEYS = 100
# Of what a provider says.
LONGEST_SHOWN = 200


class FetchError(Exception):
    """The provider did not answer as it should."""


class Issuer:
    """One provider. Ask `sign_in_url`, then `claims` with the code that the browser brings back."""

    def __init__(self, openid: Openid, fetch: Fetch) -> None:
        self.openid = openid
        self._fetch = fetch
        self._metadata: dict[str, Any] = {}
        self._metadata_at = float("-inf")
        self._keys: list[dict[str, Any]] = []
        self._keys_at = float("-inf")
        self._reading = asyncio.Lock()

    @property
    def host(self) -> str:
        return urlsplit(self.openid.issuer).netloc

    async def sign_in_url(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Where to send the browser: the authorization code flow, with PKCE (S256)."""
        metadata = await self._discover()
        query = {
            "response_type": "code",
            "client_id": self.openid.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.openid.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        endpoint = metadata["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def check_answer(self, parameters: Mapping[str, str]) -> None:
        """Refuse an answer that names another issuer: that one may have sent it (RFC 9207)."""
        metadata = await self._discover()
        named = parameters.get("iss")
        needed = metadata.get("authorization_response_iss_parameter_supported") is True
        if (named is None and needed) or (named is not None and named != self.openid.issuer):
            raise SextonError(
                "bad_sign_in", "the answer comes from another provider than was asked", hint="sign in again"
            )

    async def claims(self, code: str, redirect_uri: str, verifier: str, nonce: str) -> dict[str, Any]:
        """The claims about the person: the checked id_token; and if that has no groups, also the answer of
        the provider's userinfo endpoint."""
        metadata = await self._discover()
        tokens = await self._exchange(metadata, code, redirect_uri, verifier)
        claims = await self._verify(str(tokens.get("id_token", "")))
        check_claims(claims, openid=self.openid, nonce=nonce, now=clock.now())
        endpoint, access_token = metadata.get("userinfo_endpoint"), tokens.get("access_token")
        if groups_in(claims, self.openid.groups_claim) is None and endpoint and access_token:
            more = await self._ask("GET", endpoint, {"Authorization": f"Bearer {access_token}"})
            if more.get("sub") != claims["sub"]:
                raise bad_id_token("the provider speaks of another person")
            claims = {**more, **claims}
        return claims

    async def _exchange(
        self, metadata: Mapping[str, Any], code: str, redirect_uri: str, verifier: str
    ) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        name, secret = self.openid.client_id, self.openid.client_secret
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if secret is None:
            form["client_id"] = name
        elif "client_secret_basic" in ways:
            pair = f"{quote_plus(name)}:{quote_plus(secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": name, "client_secret": secret}
        return await self._ask("POST", metadata["token_endpoint"], headers, urlencode(form).encode())

    async def _verify(self, token: str) -> dict[str, Any]:
        """The claims of a token. Checks its signature with the keys of the provider."""
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as error:
            raise bad_id_token(f"it is no signed token ({error})") from None
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise bad_id_token(f"it is signed with {algorithm}, which is not accepted")
        if "crit" in header:
            raise bad_id_token("it has critical headers")
        for fresh in (False, True):
            for key in await self._keys_for(algorithm, header.get("kid"), again=fresh):
                try:
                    payload = PyJWS().decode(token, key, algorithms=[algorithm])
                    claims = msgspec.json.decode(payload)
                except (jwt.InvalidTokenError, *UNREADABLE):
                    continue
                if isinstance(claims, dict):
                    return claims
        raise bad_id_token("its signature is not that of a key of the provider")

    async def _keys_for(self, algorithm: str, kid: object, *, again: bool) -> list[jwt.PyJWK]:
        found = []
        for each in await self._read_keys(again=again):
            suits = (
                each.get("kty") == ALGORITHMS[algorithm]
                and each.get("use", "sig") == "sig"
                and each.get("alg", algorithm) == algorithm
                and CURVES.get(algorithm, each.get("crv")) == each.get("crv")
                and (kid is None or each.get("kid") in (None, kid))
            )
            if suits and (key := _key_of(each, algorithm)) is not None:
                found.append(key)
        return found

    async def _read_keys(self, *, again: bool) -> list[dict[str, Any]]:
        metadata = await self._discover()
        async with self._reading:
            age = clock.monotonic() - self._keys_at
            if age >= (AGAIN_SECONDS if again else KEYS_SECONDS):
                answer = await self._ask("GET", metadata["jwks_uri"])
                keys = answer.get("keys")
                if not isinstance(keys, list):
                    raise _unavailable(f"{metadata['jwks_uri']} has no keys")
                self._keys = [each for each in keys[:MOST_KEYS] if isinstance(each, dict)]
                self._keys_at = clock.monotonic()
            return self._keys

    async def _discover(self) -> dict[str, Any]:
        """The metadata of the provider."""
        async with self._reading:
            if clock.monotonic() - self._metadata_at < METADATA_SECONDS:
                return self._metadata
            answer = await self._ask("GET", self.openid.issuer.rstrip("/") + DISCOVERY)
            if answer.get("issuer") != self.openid.issuer:
                raise _unavailable(f"it calls itself {answer.get('issuer')!r}, not {self.openid.issuer!r}")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
                if not _is_safe(answer.get(name)) and (name != "userinfo_endpoint" or name in answer):
                    raise _unavailable(f"its {name} is not an https address")
            self._metadata, self._metadata_at = answer, clock.monotonic()
            return answer

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> dict[str, Any]:
        try:
            status, content = await self._fetch(
                method, url, {"Accept": "application/json", **(headers or {})}, body
            )
            answer = msgspec.json.decode(content)
        except FetchError as error:
            raise _unavailable(f"{url}: {error}") from error
        except UNREADABLE as error:
            raise _unavailable(f"the answer of {url} is not JSON") from error
        if status in (400, 401) and isinstance(answer, dict) and "error" in answer:
            raise SextonError(
                "bad_sign_in",
                f"the provider refuses the sign-in: {str(answer['error'])[:LONGEST_SHOWN]}",
                hint="sign in again",
            )
        if status != 200 or not isinstance(answer, dict):
            raise _unavailable(f"{url} answered with status {status}")
        return answer


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _is_safe(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return is_protected(parts.scheme, parts.hostname or "")


def _key_of(given: dict[str, Any], algorithm: str) -> jwt.PyJWK | None:
    try:
        key = jwt.PyJWK.from_dict(given, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    short = ALGORITHMS[algorithm] == "RSA" and key.key.key_size < SHORTEST_RSA
    return None if short else key


def _unavailable(why: str) -> SextonError:
    return SextonError(
        "provider_unavailable", f"the sign-in provider cannot be used: {why}", hint="try again"
    )
