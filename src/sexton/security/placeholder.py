"""Placeholders for secrets in a text: `${secret:name}`."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from sexton.errors import InvalidField
from sexton.refusal import about

SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
PLACEHOLDER = re.compile(r"\$\{secret:(.*?)\}")


class SecretRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a secret, written instead of a text."""

    secret: Annotated[str, about("The name it was stored under with `sexton secret set`.")]


def secret_names(text: str, field: str) -> list[str]:
    """The secrets that a text names. Refuses names that no secret can have."""
    names = PLACEHOLDER.findall(text)
    for name in names:
        check_secret_name(name, field)
    if "${secret" in PLACEHOLDER.sub("", text):
        what = f"{field}: a placeholder of a secret is not closed"
        raise InvalidField("bad_secret", what, field=field, hint="write ${secret:name}")
    return names


def check_secret_name(name: str, field: str) -> str:
    if not SECRET_NAME.fullmatch(name):
        hint = "use letters, digits, dots, dashes and underscores, 100 at most"
        raise InvalidField("bad_secret", f"{name!r} cannot be the name of a secret", field=field, hint=hint)
    return name


def named_secrets(target: Any) -> set[str]:
    """The secrets that a target names anywhere, given as JSON has it."""
    match target:
        case str():
            return set(PLACEHOLDER.findall(target))
        case dict():
            whole = {each["secret"] for name, each in target.items() if _is_secret(name, each)}
            return whole.union(*map(named_secrets, target.values()))
        case list():
            return set[str]().union(*map(named_secrets, target))
        case _:
            return set()


def _is_secret(name: str, value: Any) -> bool:
    """An address that is a secret as a whole; what a Celery task is given may look alike."""
    return name in ("url", "result_url") and isinstance(value, dict) and "secret" in value
