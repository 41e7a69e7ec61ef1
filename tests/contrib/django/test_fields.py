"""The model field for schedules: what it refuses and says, in models, forms, the admin and migrations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django import forms  # type: ignore[import-untyped]
from django.contrib import admin  # type: ignore[import-untyped]
from django.contrib.admin.sites import AdminSite  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError  # type: ignore[import-untyped]
from django.db import models  # type: ignore[import-untyped]
from django.db.migrations.writer import MigrationWriter  # type: ignore[import-untyped]

from sexton.contrib.django.fields import ScheduleField, ScheduleValidator


class Report(models.Model):  # type: ignore[misc]
    zone = models.CharField(max_length=64, default="Europe/Berlin")
    schedule = ScheduleField(timezone_field="zone")
    nightly = ScheduleField(timezone="America/New_York", kind="cron", blank=True)

    class Meta:
        app_label = "reports"


class ReportForm(forms.ModelForm):  # type: ignore[misc]
    class Meta:
        model = Report
        fields = ("zone", "schedule", "nightly")


@pytest.mark.parametrize(
    "text",
    [
        "0 9 * * 1-5",
        "@daily",
        "every 15m",
        "FREQ=WEEKLY;BYDAY=MO",
        "DTSTART:20270301T090000\nRRULE:FREQ=DAILY;COUNT=3",
        "2027-03-14 09:00",
        "2027-03-14T09:00:00Z",
        "CRON_TZ=Asia/Tokyo 0 9 * * *",
    ],
)
def test_every_form_of_a_schedule_is_taken(text: str) -> None:
    Report(schedule=text).full_clean()


@pytest.mark.parametrize(
    ("text", "zone", "code", "said"),
    [
        ("0 25 * * *", "UTC", "out_of_range", "0 to 23"),
        ("every 15 bananas", "UTC", None, "every"),
        ("2027-03-28 02:30", "Europe/Berlin", None, "2027-03-28"),
        ("0 9 * * *", "Europe/Berlim", "unknown_timezone", "Europe/Berlin"),
        ("", "UTC", "blank", "blank"),
    ],
)
def test_what_is_refused_says_what_to_write(text: str, zone: str, code: str | None, said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Report(schedule=text, zone=zone).full_clean()
    [error] = refusal.value.error_dict["schedule"]
    assert code in (None, error.code)
    assert said in error.messages[0]


def test_the_zone_of_another_field_counts() -> None:
    """It does not exist in Berlin that night, and exists in London."""
    Report(schedule="2027-03-28 02:30", zone="Europe/London").full_clean()


def test_a_kind_alone_can_be_allowed() -> None:
    with pytest.raises(ValidationError) as refusal:
        Report(schedule="@daily", nightly="every 15m").full_clean()
    assert list(refusal.value.error_dict) == ["nightly"]


def test_an_object_has_its_schedule_in_its_zone() -> None:
    report: Any = Report(schedule="0 9 * * *", nightly="0 2 * * *")
    now = datetime(2027, 1, 1, tzinfo=UTC)
    assert report.get_schedule_parsed().next_after(now) == datetime(2027, 1, 1, 8, tzinfo=UTC)
    assert report.get_nightly_parsed().next_after(now) == datetime(2027, 1, 1, 7, tzinfo=UTC)
    assert Report(schedule="0 9 * * *").get_nightly_parsed() is None


def test_a_form_shows_what_is_wrong_and_keeps_lines() -> None:
    form = ReportForm({"zone": "UTC", "schedule": "0 9 * *"})
    assert not form.is_valid()
    assert list(form.errors) == ["schedule"]
    assert "such as 0 9 * * 1-5" in str(form.errors["schedule"])
    text = "DTSTART:20270301T090000\nRRULE:FREQ=DAILY;COUNT=3"
    form = ReportForm({"zone": "UTC", "schedule": text})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["schedule"] == text
    assert 'rows="2"' in str(form["schedule"])


def test_the_admin_has_a_text_area() -> None:
    field = Report._meta.get_field("schedule")
    widget = admin.ModelAdmin(Report, AdminSite()).formfield_for_dbfield(field, request=None).widget
    assert isinstance(widget, forms.Textarea)
    assert widget.attrs["rows"] == 2


def test_migrations_keep_what_is_not_usual() -> None:
    def written(name: str) -> str:
        return str(MigrationWriter.serialize(Report._meta.get_field(name))[0])

    path = "sexton.contrib.django.fields.ScheduleField"
    assert written("schedule") == f"{path}(timezone_field='zone')"
    assert written("nightly") == f"{path}(blank=True, kind='cron', timezone='America/New_York')"
    field = Report._meta.get_field("nightly").clone()
    assert (field.timezone, field.timezone_field, field.kind) == ("America/New_York", None, "cron")


def test_a_plain_form_has_a_validator() -> None:
    class Plain(forms.Form):  # type: ignore[misc]
        when = forms.CharField(validators=[ScheduleValidator("Europe/Berlin")])

    assert Plain({"when": "0 9 * * 1"}).is_valid()
    assert "2027-03-28" in str(Plain({"when": "2027-03-28 02:30"}).errors["when"])
    text, imports = MigrationWriter.serialize(ScheduleValidator("Europe/Berlin"))
    assert text == "sexton.contrib.django.fields.ScheduleValidator('Europe/Berlin')"
    assert imports == {"import sexton.contrib.django.fields"}
    assert ScheduleValidator() == ScheduleValidator("UTC") != ScheduleValidator(kind="cron")
