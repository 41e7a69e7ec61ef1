"""What the pages load: style sheets, scripts, icons, fonts. Each has its hash in its name, so it may be kept.

The files of the console have their names, and compressed copies beside them, from its build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib import resources

TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
# By the endings of the copies; the smaller one first.
ENCODINGS = {"br": "br", "gz": "gzip"}


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str
    #: Compressed copies, by the name of the encoding.
    copies: Mapping[str, bytes] = field(default_factory=dict)

    def encoded(self, accepted: str) -> tuple[bytes, str | None]:
        """The content as a caller takes it, and its encoding: `accepted` is the header Accept-Encoding."""
        wanted = {
            each.partition(";")[0].strip() for each in accepted.split(",") if "q=0" not in each.split(";")
        }
        for encoding, content in self.copies.items():
            if encoding in wanted:
                return content, encoding
        return self.content, None


@cache
def assets() -> dict[str, Asset]:
    """By the name under which they are served."""
    folder = resources.files("sexton.api").joinpath("static")
    found = {}
    for file in folder.iterdir():
        stem, _, ending = file.name.rpartition(".")
        if ending in TYPES:
            content = file.read_bytes()
            found[f"{stem}.{sha256(content).hexdigest()[:12]}.{ending}"] = Asset(content, TYPES[ending])
    return found | _of_console()


def _of_console() -> dict[str, Asset]:
    folder = resources.files("sexton.api").joinpath("static", "console", "assets")
    if not folder.is_dir():
        return {}
    files = {file.name: file for file in folder.iterdir()}
    found = {}
    for name, file in files.items():
        ending = name.rpartition(".")[2]
        if ending in TYPES:
            copies = {
                encoding: files[f"{name}.{each}"].read_bytes()
                for each, encoding in ENCODINGS.items()
                if f"{name}.{each}" in files
            }
            found[name] = Asset(file.read_bytes(), TYPES[ending], copies)
    return found


@cache
def address_of(name: str) -> str:
    """Where a page finds `pages.css`."""
    stem, _, ending = name.rpartition(".")
    [served] = [each for each in assets() if each.startswith(f"{stem}.") and each.endswith(f".{ending}")]
    return f"/assets/{served}"
