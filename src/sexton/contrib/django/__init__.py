"""Sexton for Django projects.

    INSTALLED_APPS = [..., "sexton.contrib.django"]
    SEXTON = {"name": "shop"}

`project` has the one application of the project, for which the `jobs.py` of every installed app declares jobs
and handlers (`apps`); `manage.py sexton` is Sexton's command line with the settings of the project (`conf`).
`fields` has a model field for schedules, `wagtail` publishes and unpublishes what is in a Wagtail site.
"""
