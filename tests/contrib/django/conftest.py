"""Django in the process of the tests: with settings of its own, once, and without touching zone or logs."""

from __future__ import annotations

import django  # type: ignore[import-untyped]
from django.conf import settings  # type: ignore[import-untyped]

if not settings.configured:
    settings.configure(
        SECRET_KEY="only for tests",
        USE_TZ=True,
        LOGGING_CONFIG=None,
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
        },
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
            "sexton.contrib.django",
        ],
    )
    django.setup()
