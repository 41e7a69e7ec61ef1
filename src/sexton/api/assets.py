"""What the pages load: a style sheet, a script, an icon. Each has its hash in its name, so it may be kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """By the name under which they are served."""
    found = {}
    for file in resources.files("sexton.api").joinpath("static").iterdir():
        stem, _, ending = file.name.rpartition(".")
        if ending in TYPES:
            content = file.read_bytes()
            found[f"{stem}.{sha256(content).hexdigest()[:12]}.{ending}"] = Asset(content, TYPES[ending])
    return found


@cache
def address_of(name: str) -> str:
    """Where a page finds `pages.css`."""
    stem, _, ending = name.rpartition(".")
    [served] = [each for each in assets() if each.startswith(f"{stem}.") and each.endswith(f".{ending}")]
    return f"/assets/{served}"
