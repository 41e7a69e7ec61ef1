"""Sexton for Django projects.

    INSTALLED_APPS = [..., "sexton.contrib.django"]
    SEXTON = {"name": "shop"}

`project` has the application of the project; the `jobs.py` of every installed app declares jobs and handlers
for it (`apps`). `manage.py sexton` is Sexton's command line with the settings of the project (`conf`).
`fields` has a model field for schedules; `wagtail` publishes and unpublishes pages and snippets of a Wagtail
site.
"""
