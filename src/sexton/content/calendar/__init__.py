"""What is planned and what happened, by time: for the console, for people's own calendars, for an entity."""
