"""Where `sexton demo` keeps its data."""

from __future__ import annotations

from pathlib import Path

from sexton.postgres.server import default_data_directory


def demo_directory() -> Path:
    """Beside the default directory of `sexton up`."""
    usual = default_data_directory()
    return usual.with_name(f"{usual.name}-demo")
