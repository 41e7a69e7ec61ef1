"""The console over HTTP: its page, and what it reads beside the lists."""
