"""The Django app: it loads the module `jobs` of every installed app, as Django's admin loads `admin`."""

from __future__ import annotations

from django.apps import AppConfig  # type: ignore[import-untyped]
from django.utils.module_loading import autodiscover_modules  # type: ignore[import-untyped]


class SextonConfig(AppConfig):  # type: ignore[misc]
    name = "sexton.contrib.django"
    label = "sexton"
    verbose_name = "Sexton"

    def ready(self) -> None:
        autodiscover_modules("jobs")
