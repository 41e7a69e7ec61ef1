"""Settings: defaults, then sexton.toml, then SEXTON_* variables, then what the caller gives."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sexton import crash
from sexton.errors import InvalidField

FILE = "sexton.toml"
LONGEST_HORIZON = 3600
PREFIX = "SEXTON_"
ELECTOR_SCHEMES = {
    "redis": "redis://host:6379/0",
    "rediss": "rediss://host:6379/0",
    "etcd": "etcd://host:2379",
    "zookeeper": "zookeeper://host:2181,host:2181",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting with its default. Durations are in seconds."""

    database_url: str | None = None
    schema: str = "sexton"
    data: Path | None = None
    shards: int = 64
    host: str = "127.0.0.1"
    port: int = 7390
    workers: int | None = None
    app: str | None = None
    api_keys: str | None = None
    queues: str = "*"
    elector: str = "postgres"
    concurrency: int = 100
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
    catch_up_rate: float = 100
    statement_timeout_seconds: float = 30

    def check(self) -> Settings:
        """Refuse combinations that cannot work."""
        positive = [field for field in _NUMBERS if getattr(self, field) <= 0]
        if positive:
            raise _refuse(positive[0], "must be more than 0")
        if self.renew_seconds * 2 > self.lease_seconds:
            raise _refuse("renew_seconds", f"must be at most half of lease_seconds ({self.lease_seconds})")
        if self.heartbeat_seconds * 2 > self.worker_lease_seconds:
            raise _refuse(
                "heartbeat_seconds",
                f"must be at most half of worker_lease_seconds ({self.worker_lease_seconds})",
            )
        if self.refill_seconds * 2 > self.horizon_seconds:
            raise _refuse(
                "refill_seconds", f"must be at most half of horizon_seconds ({self.horizon_seconds})"
            )
        if self.horizon_seconds > LONGEST_HORIZON:
            raise _refuse("horizon_seconds", f"must be at most {LONGEST_HORIZON}")
        if not self.schema.isidentifier() or self.schema != self.schema.lower():
            raise _refuse("schema", "must be a plain lower-case name")
        _check_elector(self.elector)
        return self


_NUMBERS = (
    "shards", "concurrency", "batch_size", "claim_size", "lease_seconds", "renew_seconds",
    "worker_lease_seconds", "heartbeat_seconds", "sweep_seconds", "poll_seconds", "horizon_seconds",
    "refill_seconds", "retention_days", "catch_up_rate", "statement_timeout_seconds",
)  # fmt: skip


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings of this process. `overrides` whose value is None are not given."""
    crash.check()
    values: dict[str, Any] = {}
    path = file or Path(FILE)
    if path.is_file():
        try:
            values.update(tomllib.loads(path.read_text("utf-8")))
        except tomllib.TOMLDecodeError as error:
            raise InvalidField(
                "bad_config", f"{path}: {error}", field=str(path), hint="correct the file"
            ) from error
    known = set(Settings.__struct_fields__)
    for name, value in (os.environ if environment is None else environment).items():
        if name.startswith(PREFIX) and name[len(PREFIX) :].lower() in known:
            values[name[len(PREFIX) :].lower()] = value
    values.update({name: value for name, value in (overrides or {}).items() if value is not None})
    if isinstance(values.get("data"), str):
        values["data"] = Path(values["data"]).expanduser()
    try:
        return msgspec.convert(values, Settings, strict=False).check()
    except msgspec.ValidationError as error:
        raise InvalidField(
            "bad_config", f"settings: {error}", field="settings", hint="see the table of settings"
        ) from error


def _check_elector(elector: str) -> None:
    scheme, separator, rest = elector.partition("://")
    if elector in ("postgres", "advisory") or (scheme in ELECTOR_SCHEMES and separator and rest):
        return
    addresses = ", ".join(ELECTOR_SCHEMES.values())
    raise InvalidField(
        "bad_elector",
        f"there is no elector {scheme!r}" if scheme not in ELECTOR_SCHEMES else f"{elector!r} has no address",
        field="elector",
        hint=f"use postgres, advisory, {addresses}",
    )


def _refuse(field: str, why: str) -> InvalidField:
    return InvalidField("bad_config", f"{field} {why}", field=field, hint=f"change {PREFIX}{field.upper()}")
