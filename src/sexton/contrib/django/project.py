"""The application of a Django project. The `jobs.py` of its apps declare jobs and handlers for it:

    from sexton.contrib.django.project import app

    @app.job("0 9 * * 1", timezone="Europe/Berlin")
    def weekly_report(run): ...

In a process in which Django is not set up, such as a worker, importing this module sets it up, which loads
them.
"""

from __future__ import annotations

from dataclasses import replace

import django  # type: ignore[import-untyped]
from django.apps import apps  # type: ignore[import-untyped]

from sexton.contrib.django.application import DjangoApplication
from sexton.contrib.django.conf import project_name, project_settings, unnamed_file

app = DjangoApplication(name=project_name(), **project_settings())
if (file := unnamed_file()) is not None:
    # Many projects keep their settings in a package called config.
    app._identity = replace(app._identity, file=file, given=False)

if not apps.loading:  # nor loaded
    django.setup()
