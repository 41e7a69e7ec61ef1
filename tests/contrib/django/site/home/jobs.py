"""A job of the site that uses its models."""

from home.models import Article  # type: ignore[import-not-found]
from sexton.contrib.django.project import app


@app.job("@yearly", name="count-articles")
def count_articles() -> int:
    return int(Article.objects.count())
