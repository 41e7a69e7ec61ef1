"""Releases: actions that go out together."""
