"""A small provider of OpenID Connect that can also misbehave, for what no real one does."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from sexton import clock

CLIENT = "sexton"
RSA_KEY = rsa.generate_private_key(65537, 2048)
SHORT_KEY = rsa.generate_private_key(65537, 1024)


class Key:
    """A key that the provider signs with."""

    def __init__(self, kid: str | None = "first", alg: str = "RS256", private: Any = None) -> None:
        self.kid, self.alg = kid, alg
        kind: Any = RSAAlgorithm
        if alg.startswith("ES"):
            private, kind = private or ec.generate_private_key(ec.SECP256R1()), ECAlgorithm
        elif alg == "EdDSA":
            private, kind = private or ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm
        self.private = private or RSA_KEY
        self.public: dict[str, Any] = {**kind.to_jwk(self.private.public_key(), as_dict=True), "use": "sig"}
        if kid is not None:
            self.public["kid"] = kid

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        named = {"kid": self.kid, **header} if self.kid is not None else header
        return jwt.encode(dict(claims), self.private, algorithm=self.alg, headers=named)

    def pem(self) -> bytes:
        public = self.private.public_key()
        return bytes(
            public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )


class Provider:
    """Its answers come from `fetch`, or over HTTP from `serving`. Change what it says by its attributes."""

    def __init__(self, issuer: str = "https://id.example") -> None:
        self.issuer = issuer
        self.keys = [Key()]
        #: What it says of the person, in the id_token and when asked.
        self.person: dict[str, Any] = {"sub": "42", "email": "kim@example.com", "groups": ["ops"]}
        self.userinfo: dict[str, Any] = {}
        #: What differs in the id_token from what is right; None: it is left out.
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        #: Makes the whole token instead.
        self.token: Any = None
        self.answer: dict[str, str] = {}
        self.secret: str | None = None
        self.asked: list[str] = []
        self.broken: dict[str, tuple[int, bytes]] = {}
        self._codes: dict[str, dict[str, str]] = {}

    def authorise(self, url: str) -> str:
        """Where it sends the browser that opens this URL, as if the person had signed in and agreed."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.issuer, **self.answer}
        return f"{query['redirect_uri']}?{urlencode({name: each for name, each in back.items() if each})}"

    async def fetch(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        path = url.removeprefix(self.issuer)
        self.asked.append(path)
        if path in self.broken:
            return self.broken[path]
        match path:
            case "/.well-known/openid-configuration":
                return _json(self._describe())
            case "/keys":
                return _json({"keys": [key.public for key in self.keys]})
            case "/token":
                return self._exchange(headers, body.decode())
            case "/userinfo":
                assert headers["Authorization"] == "Bearer access"
                return _json({"sub": self.person["sub"], **self.userinfo})
        return 404, b"{}"

    def _describe(self) -> dict[str, Any]:
        described = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorise",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            **self.metadata,
        }
        return {name: value for name, value in described.items() if value is not None}

    def _exchange(self, headers: Mapping[str, str], body: str) -> tuple[int, bytes]:
        form = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self._codes.pop(form["code"], None)
        verifier = form.get("code_verifier", "")
        challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"]:
            return _json({"error": "invalid_grant"}, 400)
        if form["redirect_uri"] != asked["redirect_uri"] or not self._knows_client(headers, form):
            return _json({"error": "invalid_client"}, 401)
        claims = self._claims(asked["nonce"])
        token = self.token(claims) if self.token else self.keys[0].sign(claims)
        return _json({"id_token": token, "access_token": "access", "token_type": "Bearer"})

    def _knows_client(self, headers: Mapping[str, str], form: Mapping[str, str]) -> bool:
        if self.secret is None:
            return form.get("client_id") == CLIENT and "Authorization" not in headers
        if "client_secret" in form:
            return (form["client_id"], form["client_secret"]) == (CLIENT, self.secret)
        pair = base64.b64encode(f"{CLIENT}:{self.secret}".encode()).decode()
        return headers.get("Authorization") == f"Basic {pair}"

    def _claims(self, nonce: str) -> dict[str, Any]:
        now = int(clock.now().timestamp())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce,
            **self.person, **self.claims,
        }  # fmt: skip
        return {name: value for name, value in claims.items() if value is not None}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """On a port of this machine, which becomes the issuer."""

        async def answer(request: web.Request) -> web.Response:
            body = await request.read()
            url = self.issuer + request.path
            status, content = await self.fetch(request.method, url, request.headers, body)
            return web.Response(status=status, body=content, headers={"Location": "/elsewhere"})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()


def _json(answer: Any, status: int = 200) -> tuple[int, bytes]:
    return status, json.dumps(answer).encode()
