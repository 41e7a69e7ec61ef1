"""Who may use the API: everyone on this machine, or everyone who has one of its keys.

An API that others can reach must have keys. This is decided here, for every process that serves it.
"""

from __future__ import annotations

from pathlib import Path

from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import InvalidField

SHORTEST_KEY = 16


def require_keys(settings: Settings) -> list[str]:
    """The API keys. Raises `InvalidField` if there are none, though `host` is not loopback."""
    keys = read_keys(settings)
    if keys or is_loopback(settings.host):
        return keys
    raise InvalidField(
        "keys_required",
        f"on {settings.host or 'all addresses'} other machines can reach the API, and it has no API keys",
        field="api_keys",
        hint="set SEXTON_API_KEYS to a long random text, or to @FILE with one key per line; "
        "or listen on 127.0.0.1",
    )


def read_keys(settings: Settings) -> list[str]:
    """The keys of `api_keys`: a list with commas, or @FILE with one per line."""
    text = (settings.api_keys or "").strip()
    if text.startswith("@"):
        try:
            lines = Path(text[1:]).read_text("utf-8").splitlines()
        except OSError as error:
            raise InvalidField(
                "bad_config", f"the file of API keys cannot be read: {error}", field="api_keys"
            ) from error
        keys = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    else:
        keys = [key.strip() for key in text.split(",")]
    keys = [key for key in keys if key]
    if any(len(key) < SHORTEST_KEY for key in keys):
        raise InvalidField(
            "bad_config",
            f"an API key has fewer than {SHORTEST_KEY} characters",
            field="api_keys",
            hint="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    if text and not keys:
        raise InvalidField("bad_config", "there is no key in the file of API keys", field="api_keys")
    return keys
