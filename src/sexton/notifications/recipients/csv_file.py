"""Reads recipients from CSV; the first line names the columns."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.notifications.spec import RecipientLine
from sexton.refusal import cells_of, converted

PLAIN = ("user_id", "email", "phone", "timezone", "locale")
JSON = ("devices", "addresses", "quiet_hours", "opt_outs", "caps", "fields")
QUIET = ("quiet_start", "quiet_end")
FIELD = "field."


class RecipientCsv:
    """Reads lines by the columns of the first one."""

    def __init__(self, heading: bytes) -> None:
        self.columns = [name.strip() for name in cells_of(heading)]
        known = (*PLAIN, *JSON, *QUIET)
        for name in self.columns:
            if name not in known and not name.startswith(FIELD):
                raise InvalidField(
                    "unknown_column",
                    f"there is no column {name!r}",
                    field="line 1",
                    hint=f"use {', '.join(known)}, or {FIELD}{name} for a field of your own",
                )
        if "user_id" not in self.columns:
            raise InvalidField(
                "missing_column",
                "there is no column user_id",
                field="line 1",
                hint="name the columns in the first line",
            )

    def read(self, line: bytes) -> RecipientLine:
        cells = cells_of(line)
        if len(cells) != len(self.columns):
            raise InvalidField(
                "bad_csv",
                f"the line has {len(cells)} cells, the first line {len(self.columns)}",
                field="line",
                hint="quote cells with commas",
            )
        data: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        for name, cell in zip(self.columns, cells, strict=True):
            if not cell:
                continue
            if name.startswith(FIELD):
                fields[name.removeprefix(FIELD)] = cell
            elif name in JSON:
                try:
                    data[name] = msgspec.json.decode(cell)
                except msgspec.DecodeError as error:
                    raise InvalidField(
                        "bad_json", f"{name}: {error}", field=name, hint="write JSON"
                    ) from None
            else:
                data[name] = cell
        start, end = data.pop("quiet_start", None), data.pop("quiet_end", None)
        if start or end:
            data["quiet_hours"] = {"start": start or "00:00", "end": end or "24:00"}
        if fields:
            data["fields"] = {**data.get("fields", {}), **fields}
        return converted(data, RecipientLine)
