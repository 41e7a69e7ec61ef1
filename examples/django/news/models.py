from django.db import models

from sexton.contrib.django.fields import ScheduleField


class Digest(models.Model):
    """A letter to readers, again and again."""

    name = models.SlugField(unique=True)
    zone = models.CharField(max_length=64, default="Europe/Berlin")
    schedule = ScheduleField(timezone_field="zone", help_text="Such as 0 9 * * 1-5, or every 15m.")
    issues = models.PositiveIntegerField(default=0, editable=False)

    def __str__(self):
        return self.name
