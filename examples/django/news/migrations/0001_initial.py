from django.db import migrations, models

import sexton.contrib.django.fields


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Digest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(unique=True)),
                ("zone", models.CharField(default="Europe/Berlin", max_length=64)),
                (
                    "schedule",
                    sexton.contrib.django.fields.ScheduleField(
                        help_text="Such as 0 9 * * 1-5, or every 15m.", timezone_field="zone"
                    ),
                ),
                ("issues", models.PositiveIntegerField(default=0, editable=False)),
            ],
        ),
    ]
