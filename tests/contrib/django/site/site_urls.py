"""The addresses of the site: that of its editors."""

from django.urls import include, path  # type: ignore[import-untyped]
from wagtail.admin import urls as wagtailadmin_urls  # type: ignore[import-not-found]

urlpatterns = [path("cms/", include(wagtailadmin_urls))]
