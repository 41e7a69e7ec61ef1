"""Planned and past actions by time: for the console, for people's own calendars, for an entity."""
