"""Writes messages into a folder instead of sending them, for development.

A message is one file named after its key, so a repeated message is written once. An e-mail is also written as
a file for mail programs.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.notifications.channels.base import (
    Accepted,
    ChannelProvider,
    Failed,
    Outgoing,
    ProviderServices,
    SendResult,
)
from sexton.notifications.channels.mime import MailSender, mail_bytes
from sexton.postgres.server import default_data_directory
from sexton.refusal import about

FOLDER = "outbox"
SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
SENDER = MailSender("sexton@localhost")
MOST_SHOWN = 1000


class FileConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where messages are written."""

    folder: Annotated[
        str | None,
        about("A folder below the outbox of the data directory; null: named after namespace and channel."),
    ] = None

    def __post_init__(self) -> None:
        if self.folder is not None and not all(SAFE.fullmatch(part) for part in self.folder.split("/")):
            raise ValueError("folder may have letters, digits, dots, dashes, and slashes between names")


class FileProvider(ChannelProvider):
    config = FileConfig
    deduplicates = True

    def __init__(self, config: FileConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self.folder = folder_of(services.settings, services.namespace, services.channel, config)

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        return await asyncio.to_thread(lambda: [self._write(each) for each in batch])

    async def close(self) -> None:
        """Nothing stays open."""

    def _write(self, message: Outgoing) -> SendResult:
        name = file_name(message.key)
        content = {
            "at": clock.iso(clock.now()),
            "channel": self.services.channel,
            "namespace": self.services.namespace,
            **msgspec.to_builtins(message),
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.services.channel == "email" and isinstance(message.address, str):
                _put(self.folder / f"{name}.eml", mail_bytes(message, SENDER))
            _put(self.folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(content)))
        except (OSError, ValueError) as error:
            return Failed(f"{self.folder}: {error}")
        return Accepted(name)


def outbox_of(settings: Settings) -> Path:
    """The folder of all messages that were written instead of sent."""
    return settings.outbox or (settings.data or default_data_directory()).expanduser() / FOLDER


def folder_of(settings: Settings, namespace: str, channel: str, config: FileConfig) -> Path:
    """The folder of a channel. It is always inside the folder of the namespace."""
    return outbox_of(settings) / namespace / (config.folder or channel)


def written(settings: Settings, namespace: str, *, limit: int) -> list[dict[str, Any]]:
    """The latest messages of a namespace that were written instead of sent, the latest first."""
    files = sorted(_files(outbox_of(settings) / namespace), reverse=True)[:limit]
    return [msgspec.json.decode(path.read_bytes()) for _, path in files]


def _files(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in folder.rglob("*.json"):
        yield path.stat().st_mtime, path


def file_name(key: str) -> str:
    """The file name for a key; a key that cannot be one is hashed."""
    return key if SAFE.fullmatch(key) else sha256(key.encode()).hexdigest()


def _put(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)
