"""Content scheduling over HTTP."""
