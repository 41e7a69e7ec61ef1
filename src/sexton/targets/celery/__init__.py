"""A Celery task as a target."""
