"""How hard the random tests try: the same few examples every time, or many new ones on request."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# `make search` sets both variables and looks for new faults; what it finds becomes a test of its own.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=False
)
settings.register_profile("deep", settings.get_profile("ci"), derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
