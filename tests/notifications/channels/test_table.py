"""Kinds of provider: built in, by dotted path, by entry point."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.notifications.channels import table
from sexton.notifications.channels.null import NullProvider
from sexton.notifications.channels.table import BUILT_IN, load_channels, provider_kinds

HERE = "sexton.notifications.channels.null:NullProvider"


def test_every_kind_can_be_loaded_and_describes_its_configuration() -> None:
    assert set(BUILT_IN) <= set(provider_kinds())


def test_a_setting_names_kinds_by_their_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(provider_kinds(), "pigeon", raising=False)
    load_channels(Settings(channels=f"pigeon={HERE}"))
    assert provider_kinds()["pigeon"] is NullProvider
    del provider_kinds()["pigeon"]


@pytest.mark.parametrize("path", ["pigeon=no.such:Thing", "pigeon=sexton.config:Settings", f"smtp={HERE}"])
def test_a_kind_that_cannot_be_loaded_is_named(path: str) -> None:
    with pytest.raises(InvalidField) as caught:
        load_channels(Settings(channels=path))
    assert caught.value.field == "channels"


def test_packages_bring_kinds_and_a_broken_one_hurts_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [EntryPoint("broken", "no.such:Thing", table.GROUP), EntryPoint("pigeon", HERE, table.GROUP)]

    def entry_points(**given: Any) -> list[EntryPoint]:
        assert given == {"group": "sexton.channels"}
        return points

    monkeypatch.setattr(table, "entry_points", entry_points)
    with caplog.at_level(logging.ERROR):
        found = provider_kinds.__wrapped__()
    assert found["pigeon"] is NullProvider
    assert "broken" not in found
    assert "no.such:Thing" in caplog.text
