"""Notifications over HTTP: messages, campaigns, recipients, templates, channels, inboxes."""
