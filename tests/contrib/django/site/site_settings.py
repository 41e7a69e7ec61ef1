"""The settings of the site: its database is a PostgreSQL that the tests name, or a file."""

import os
from pathlib import Path
from typing import Any

SECRET_KEY = "only for tests"
USE_TZ = True
ROOT_URLCONF = "site_urls"
ALLOWED_HOSTS = ["*"]
WAGTAIL_SITE_NAME = "Test"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1:8000"
STATIC_URL = "/static/"
MEDIA_ROOT = str(Path(os.environ.get("SITE_FILE", "site.sqlite3")).parent / "media")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "home",
    "sexton.contrib.django",
    "wagtail.snippets",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail.users",
    "wagtail.sites",
    "wagtail",
    "modelcluster",
    "taggit",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
SEXTON: dict[str, Any] = {"name": "site"}
if "SITE_NAME" in os.environ:
    DATABASES: dict[str, Any] = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ["SITE_HOST"],
            "PORT": os.environ.get("SITE_PORT", ""),
            "USER": os.environ["SITE_USER"],
            "NAME": os.environ["SITE_NAME"],
        }
    }
    SEXTON |= {"lease_seconds": 2, "worker_lease_seconds": 2, "heartbeat_seconds": 0.5, "sweep_seconds": 0.5}
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("SITE_FILE", "site.sqlite3"),
            "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
        }
    }
