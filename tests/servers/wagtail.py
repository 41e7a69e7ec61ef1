"""Wagtail and Django from PyPI, in a folder of their own, with the site of the tests and its databases."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sexton.postgres.server import private_server
from tests.servers.sandbox import Sandbox

SITE = Path(__file__).parents[1] / "contrib" / "django" / "site"
FILE = "site.sqlite3"
ADDRESS = "postgres"


def start_wagtail(sandbox: Sandbox) -> str:
    """The folder with the site, its tables in a file, and the address of a PostgreSQL that has them too."""
    folder = sandbox.folder
    shutil.copytree(SITE, folder / "site", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "packages").symlink_to(sandbox.programs.absolute() / "wagtail")
    # Which migrations it depends on is for the Wagtail to say that was installed.
    manage(folder, {}, "makemigrations", "home", "-v0")
    manage(folder, {}, "migrate", "-v0")
    url = sandbox.stack.enter_context(private_server(folder / "data"))
    manage(folder, in_postgres(url), "migrate", "-v0")
    (folder / ADDRESS).write_text(url, "utf-8")
    return str(folder)


def in_postgres(url: str) -> dict[str, str]:
    """What tells the site that this is its database."""
    parts = urlsplit(url)
    where = parse_qs(parts.query)
    return {
        "SITE_HOST": where["host"][0],
        "SITE_PORT": where.get("port", ["5432"])[0],
        "SITE_USER": parts.username or "",
        "SITE_NAME": parts.path.removeprefix("/"),
    }


def site_environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Of a process of the site: Wagtail first, then the environment of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEXTON_", "DJANGO_"))}
    root = Path(__file__).parents[2]
    path = os.pathsep.join(map(str, (folder / "packages", folder / "site", root)))
    own = {"PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "site_settings", "SITE_FILE": str(folder / FILE)}
    return {**kept, **own, **given}


def manage(folder: Path, given: Mapping[str, str], *arguments: str) -> str:
    """`manage.py` of the site; what it prints."""
    done = subprocess.run(
        [sys.executable, folder / "site" / "manage.py", *arguments],
        cwd=folder,
        env=site_environment(folder, given),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"manage.py {arguments[0]}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
