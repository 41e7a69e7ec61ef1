from functools import partial

from django.contrib import admin
from django.db import transaction

from news.jobs import plan
from news.models import Digest


@admin.register(Digest)
class DigestAdmin(admin.ModelAdmin):
    list_display = ("name", "schedule", "zone", "issues")

    def save_model(self, request, obj, form, change):
        super().save_model(request, obj, form, change)
        transaction.on_commit(partial(plan, obj))
