"""What the processes of a machine are given; the whole of it is tested with `sexton up`."""

from __future__ import annotations

from sexton.engine.up import machine


def test_settings_reach_the_children_as_variables() -> None:
    given = {"database_url": "postgresql://ada:secret@db/x", "port": 7391, "app": None}
    assert machine._environment(given) == {
        "SEXTON_DATABASE_URL": "postgresql://ada:secret@db/x",
        "SEXTON_PORT": "7391",
    }
