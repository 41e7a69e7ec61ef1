"""Settings: defaults, then sexton.toml, then SEXTON_* variables, then what the caller gives."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from sexton.connections.address import Address, http_parts
from sexton.connections.loopback import is_loopback, is_protected
from sexton.connections.postgres import check_address
from sexton.connections.scheme import Use, examples, plug_ins
from sexton.connections.smtp import SmtpAddress
from sexton.errors import InvalidField
from sexton.model import LONGEST_QUEUE, NAMESPACE_NAME
from sexton.refusal import explained

FILE = "sexton.toml"
# Read from the environment beside the settings.
OTHER_VARIABLES = {"SEXTON_URL", "SEXTON_API_KEY", "SEXTON_CRASH_AT"}
# How similar a misspelt variable must be to the name of a setting.
ALIKE = 0.85
ROLES = ("api", "scheduler", "worker")
LONGEST_HORIZON = 3600
# Every scheduler looks at every shard once a second.
MOST_SHARDS = 4096
# A node trusts its lease only until a margin before the end, and a renewal takes a while.
SHORTEST_LEASE = 1
# The last use of a session is noted once a minute.
SHORTEST_IDLE = 120
PREFIX = "SEXTON_"
PLUG_IN_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")
# Stands for all queues, or all namespaces.
EVERY = "*"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting with its default. Durations are in seconds."""

    database_url: str | None = None
    replica_url: str | None = None
    schema: str = "sexton"
    data: Path | None = None
    shards: int = 64
    host: str = "127.0.0.1"
    port: int = 7390
    public_url: str | None = None
    cors_origins: str = ""
    metrics_port: int | None = None
    roles: str = ",".join(ROLES)
    workers: int | None = None
    app: str | None = None
    targets: str = ""
    adapters: str = ""
    channels: str = ""
    smtp_url: str | None = None
    mail_from: str | None = None
    outbox: Path | None = None
    allow_shell: bool = False
    shell_commands: str = ""
    shell_variables: str = ""
    shell_user: str | None = None
    secret_key: str | None = None
    api_keys: str | None = None
    api_rate: float = 200
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: str | None = None
    oidc_scopes: str = "openid email profile"
    oidc_groups_claim: str = "groups"
    oidc_roles: str = ""
    session_seconds: float = 43_200
    session_idle_seconds: float = 7_200
    queues: str = EVERY
    namespace: str | None = None
    namespaces: str | None = None
    queue_url: str = "postgres"
    elector: str = "postgres"
    concurrency: int = 100
    log_failures: bool = True
    capture_output: bool = True
    batch_size: int = 2000
    claim_size: int = 1000
    lease_seconds: float = 4
    renew_seconds: float = 1
    worker_lease_seconds: float = 15
    heartbeat_seconds: float = 5
    sweep_seconds: float = 5
    poll_seconds: float = 1
    horizon_seconds: float = 600
    refill_seconds: float = 60
    grace_seconds: float = 30
    retention_days: int = 90
    audit_days: int = 365
    catch_up_rate: float = 100
    catch_up_seconds: float | None = None
    statement_timeout_seconds: float = 30
    egress_private: str = "auto"
    target_files: Path | None = None
    http_per_host: int = 0
    http_rate_per_host: float = 0
    http_breaker_failures: int = 10
    http_breaker_seconds: float = 30

    def check(self) -> Settings:
        """Refuse values that cannot work, alone or together."""
        for field in _NUMBERS:
            if getattr(self, field) <= 0:
                raise _refuse(field, "must be more than 0")
        for field, most in _AT_MOST.items():
            if getattr(self, field) > most:
                raise _refuse(field, f"must be at most {most}")
        for field in _AT_LEAST_0:
            if getattr(self, field) < 0:
                raise _refuse(field, "must be at least 0")
        if self.egress_private not in ("allow", "refuse", "auto"):
            raise _refuse("egress_private", "must be allow, refuse or auto")
        if self.catch_up_seconds is not None and self.catch_up_seconds < 0:
            raise _refuse("catch_up_seconds", "must be at least 0")
        if self.workers is not None and self.workers < 1:
            raise _refuse("workers", "must be at least 1")
        for field in ("port", "metrics_port"):
            if not 0 <= (getattr(self, field) or 0) <= 65535:
                raise _refuse(field, "must be 0 to 65535")
        for field in ("lease_seconds", "worker_lease_seconds"):
            if getattr(self, field) < SHORTEST_LEASE:
                raise _refuse(field, f"must be at least {SHORTEST_LEASE}: a renewal takes a while")
        for part, whole in _HALVES.items():
            if getattr(self, part) * 2 > getattr(self, whole):
                raise _refuse(part, f"must be at most half of {whole} ({getattr(self, whole):g})")
        if not self.schema.isidentifier() or self.schema != self.schema.lower():
            raise _refuse("schema", "must be a plain lower-case name")
        if self.database_url is not None:
            check_address("database_url", self.database_url, written=True)
        if self.replica_url is not None:
            check_address("replica_url", self.replica_url, written=False)
        if self.replica_url is not None and self.replica_url == self.database_url:
            raise _refuse("replica_url", "must be another server than database_url")
        _check_server("elector", "elector", self.elector, ("postgres", "advisory"))
        _check_server("queue", "queue_url", self.queue_url, ("postgres",))
        self.role_names()
        self.queue_names()
        self.namespace_names()
        if self.namespace is not None:
            _check_namespace("namespace", self.namespace)
        self.allowed_commands()
        self.allowed_variables()
        self.target_paths()
        self.adapter_paths()
        self.channel_paths()
        self.smtp_addresses()
        self.public_origin()
        self.page_origins()
        _check_openid(self)
        return self

    def public_origin(self) -> str | None:
        """Where people reach the API in their browsers: `https://sexton.example.com`."""
        return None if self.public_url is None else _origin("public_url", self.public_url)

    def page_origins(self) -> list[str]:
        """Other origins whose pages may use the API."""
        return [_origin("cors_origins", each) for each in _listed(self.cors_origins)]

    def is_reachable(self) -> bool:
        """Whether other machines can reach the API: at `host`, or behind a proxy at `public_url`."""
        origin = self.public_origin()
        return not is_loopback(self.host) or (
            origin is not None and not is_loopback(urlsplit(origin).hostname or "")
        )

    def private_egress(self) -> bool:
        """Whether runs may reach private addresses: by default only if other machines cannot reach the
        API."""
        return self.egress_private == "allow" or (self.egress_private == "auto" and not self.is_reachable())

    def allowed_commands(self) -> list[str]:
        """The programs that a worker may run for jobs with a shell target."""
        if not self.allow_shell:
            return []
        if not (names := _listed(self.shell_commands)):
            hint = "list programs as jobs write them: --shell-commands /usr/bin/rsync,backup"
            what = "allow_shell is given, but no command is allowed"
            raise InvalidField("no_commands", what, field="shell_commands", hint=hint)
        return names

    def allowed_variables(self) -> list[str]:
        """The variables that a job may set for its command; `APP_*` stands for all that begin with APP_."""
        names = _listed(self.shell_variables)
        for name in names:
            if not name.removesuffix("*").isidentifier():
                what = f"{name!r} is not the name of a variable"
                hint = "write names with commas, such as TOKEN,APP_*"
                raise InvalidField("bad_config", what, field="shell_variables", hint=hint)
        return names

    def target_paths(self) -> list[str]:
        """The dotted paths of target kinds beside those of Sexton and of installed packages."""
        paths = _listed(self.targets)
        for path in paths:
            if not _is_dotted_path(path):
                what = f"{path!r} is not the path of a target kind"
                hint = "write package.module:Name, several with commas"
                raise InvalidField("bad_config", what, field="targets", hint=hint)
        return paths

    def adapter_paths(self) -> dict[str, str]:
        """The dotted paths of adapters beside those of Sexton and of installed packages, by name."""
        return _named_paths("adapters", self.adapters, "an adapter")

    def channel_paths(self) -> dict[str, str]:
        """The dotted paths of kinds of provider beside those of Sexton and of installed packages, by name."""
        return _named_paths("channels", self.channels, "a kind of provider")

    def smtp_addresses(self) -> list[str]:
        """The mail servers of the installation, in the order in which they are tried."""
        urls = (self.smtp_url or "").split()
        for url in urls:
            SmtpAddress.read(url, field="smtp_url")
        return urls

    def role_names(self) -> list[str]:
        """What a process does: some of api, scheduler, worker."""
        names = [name.strip() for name in self.roles.split(",")]
        for name in names:
            if name not in ROLES:
                hint = f"use some of {', '.join(ROLES)}, with commas"
                raise InvalidField("bad_role", f"there is no role {name!r}", field="roles", hint=hint)
        return [name for name in ROLES if name in names]

    def queue_names(self) -> list[str] | None:
        """The queues that a worker serves; None for all."""
        names = [name.strip() for name in self.queues.split(",")]
        if names == [EVERY]:
            return None
        for name in names:
            if not name or name == EVERY or len(name) > LONGEST_QUEUE:
                what = f"{name!r} among {self.queues!r} is not the name of a queue"
                hint = "write names with commas, such as mail,default; or * alone for all"
                raise InvalidField("bad_queue", what, field="queues", hint=hint)
        return list(dict.fromkeys(names))

    def namespace_names(self) -> list[str] | None:
        """The namespaces whose runs a worker carries out; None for all."""
        names = [name.strip() for name in (self.namespaces or EVERY).split(",")]
        if names == [EVERY]:
            return None
        for name in names:
            _check_namespace("namespaces", name)
        return list(dict.fromkeys(names))


_NUMBERS = (
    "shards", "concurrency", "batch_size", "claim_size", "lease_seconds", "renew_seconds",
    "worker_lease_seconds", "heartbeat_seconds", "sweep_seconds", "poll_seconds", "horizon_seconds",
    "refill_seconds", "retention_days", "audit_days", "catch_up_rate", "statement_timeout_seconds",
    "http_breaker_seconds", "session_seconds",
)  # fmt: skip

_AT_LEAST_0 = ("api_rate", "grace_seconds", "http_per_host", "http_rate_per_host", "http_breaker_failures")

_AT_MOST = {
    "shards": MOST_SHARDS,
    "horizon_seconds": LONGEST_HORIZON,
    "batch_size": 50_000,
    "claim_size": 50_000,
    "poll_seconds": 60,
}

# So one renewal may fail before the lease ends, and the wheels are filled before they are empty.
_HALVES = {
    "renew_seconds": "lease_seconds",
    "heartbeat_seconds": "worker_lease_seconds",
    "refill_seconds": "horizon_seconds",
}


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings of this process. An override of None does not count."""
    values: dict[str, Any] = {}
    path = file or Path(FILE)
    if path.is_file():
        try:
            values.update(tomllib.loads(path.read_text("utf-8")))
        except tomllib.TOMLDecodeError as error:
            what = f"{path}: {error}"
            raise InvalidField("bad_config", what, field=str(path), hint="correct the file") from error
    known = set(Settings.__struct_fields__)
    for name, value in (os.environ if environment is None else environment).items():
        if name.startswith(PREFIX) and name[len(PREFIX) :].lower() in known:
            values[name[len(PREFIX) :].lower()] = value
    values.update({name: value for name, value in (overrides or {}).items() if value is not None})
    check_names(values)
    for name in ("data", "target_files", "outbox"):
        if isinstance(values.get(name), str):
            values[name] = Path(values[name]).expanduser()
    try:
        return msgspec.convert(values, Settings, strict=False).check()
    except msgspec.ValidationError as error:
        found = explained(error, Settings, values, code="bad_config")
        found.hint = f"{found.hint}: {_where(found.field)}"
        raise found from error


def misspelt(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like a misspelt setting, each with the probable name."""
    meant = [f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__]
    found = {}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in meant and name not in OTHER_VARIABLES:
            for close in difflib.get_close_matches(name, meant, n=1, cutoff=ALIKE):
                found[name] = close
    return found


def check_names(settings: Mapping[str, Any]) -> None:
    """Refuse settings that do not exist: they would have no effect."""
    known = Settings.__struct_fields__
    for name in settings:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
            raise InvalidField("bad_config", f"there is no setting {name}", field=name, hint=hint)


def _check_server(use: Use, field: str, url: str, plain: tuple[str, ...]) -> None:
    """Refuse an unknown server. The refusal does not repeat the address, which may hold a password."""
    if url in plain:
        return
    known = examples(use)
    scheme, _, _ = url.partition(":")
    _, _, address = url.partition("://")
    if use == "elector" and address and scheme not in known and scheme in plug_ins(use).names:
        return
    if scheme not in known or not address:
        raise InvalidField(
            f"bad_{field}",
            f"{scheme}:// has no address" if scheme in known else f"there is no {use} {scheme!r}",
            field=field,
            hint=f"use {', '.join((*plain, *known.values()))}",
        )
    Address.read(url, field=field, queue=use == "queue")


def _named_paths(field: str, text: str, what: str) -> dict[str, str]:
    paths: dict[str, str] = {}
    for given in _listed(text):
        name, _, path = map(str.strip, given.partition("="))
        if not PLUG_IN_NAME.fullmatch(name) or not _is_dotted_path(path):
            why = f"{given!r} does not name {what} and its path"
            hint = "write name=package.module:Name, several with commas"
            raise InvalidField("bad_config", why, field=field, hint=hint)
        paths[name] = path
    return paths


def _listed(text: str) -> list[str]:
    """The entries of a list with commas."""
    return list(filter(None, map(str.strip, text.split(","))))


def _is_dotted_path(path: str) -> bool:
    module, colon, name = path.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def _check_namespace(field: str, name: str) -> None:
    if not NAMESPACE_NAME.fullmatch(name):
        several = "; several with commas, or * alone for all" if field == "namespaces" else ""
        what, hint = f"{name!r} is not the name of a namespace", f"write a name such as billing{several}"
        raise InvalidField("bad_namespace", what, field=field, hint=hint)


def _origin(field: str, url: str) -> str:
    """A scheme and a host, as browsers write them in Origin. Passwords and cookies go there."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    bare = url.removesuffix("/") == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    if parts.scheme not in ("http", "https") or not host or not bare or "*" in host:
        raise _refuse(field, f"must name a scheme and a host, such as https://sexton.example.com, not {url}")
    if not is_protected(parts.scheme, host):
        raise _refuse(field, f"must begin with https, except on this machine: {url}")
    name = f"[{host}]" if ":" in host else host
    usual = port in (None, 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{name}" + ("" if usual else f":{port}")


def _check_openid(settings: Settings) -> None:
    """Check the settings of OpenID Connect together. `security.openid` reads the roles."""
    if settings.session_idle_seconds < SHORTEST_IDLE:
        raise _refuse("session_idle_seconds", f"must be at least {SHORTEST_IDLE}")
    if settings.oidc_issuer is None:
        for field in ("oidc_client_id", "oidc_client_secret", "oidc_roles"):
            if getattr(settings, field):
                raise _refuse("oidc_issuer", f"is missing: {field} is given")
        return
    parts = http_parts(settings.oidc_issuer)
    secure = parts is not None and is_protected(parts.scheme, parts.hostname or "")
    if parts is None or not secure or parts.query or parts.fragment or "@" in parts.netloc:
        raise _refuse("oidc_issuer", "must be an https address, as the provider's discovery document has it")
    for field in ("oidc_client_id", "oidc_roles", "oidc_groups_claim"):
        if not getattr(settings, field):
            raise _refuse(field, "is missing: oidc_issuer is given")
    if "openid" not in settings.oidc_scopes.split():
        raise _refuse("oidc_scopes", "must contain openid")
    if settings.public_url is None and not is_loopback(settings.host):
        raise _refuse("public_url", "is missing: the provider sends people back to it")


def _refuse(field: str, why: str) -> InvalidField:
    return InvalidField("bad_config", f"{field} {why}", field=field, hint=f"change {_where(field)}")


def _where(field: str) -> str:
    return f"{PREFIX}{field.upper()}, {field} in {FILE}, or the option"
