"""The state of the system over HTTP, and the workers that claim their runs there."""
