"""A page, a snippet with drafts, and one without."""

from django.db import models  # type: ignore[import-untyped]
from wagtail.models import DraftStateMixin, Page, RevisionMixin  # type: ignore[import-not-found]
from wagtail.snippets.models import register_snippet  # type: ignore[import-not-found]


class Article(Page):  # type: ignore[misc]
    body = models.TextField(blank=True)


@register_snippet
class Banner(DraftStateMixin, RevisionMixin, models.Model):  # type: ignore[misc]
    text = models.CharField(max_length=200)


@register_snippet
class Footer(models.Model):  # type: ignore[misc]
    text = models.CharField(max_length=200)
