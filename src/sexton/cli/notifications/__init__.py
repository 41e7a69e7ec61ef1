"""The commands of notifications: `sexton notify`, `campaigns`, `recipients`, `templates` and others."""
