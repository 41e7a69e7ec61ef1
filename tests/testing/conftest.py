"""The fixtures that users get."""

from __future__ import annotations

from sexton.testing.fixtures import sexton_app, sexton_database, sexton_engine, sexton_server

__all__ = ["sexton_app", "sexton_database", "sexton_engine", "sexton_server"]
