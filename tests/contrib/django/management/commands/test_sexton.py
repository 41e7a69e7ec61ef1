"""`manage.py sexton` in the project of the examples."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command  # type: ignore[import-untyped]

from sexton.contrib.django.management.commands.sexton import (
    SextonCommand,
    project_environment,
    without_django,
)
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parents[5] / "examples" / "django"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


def manage(
    project: Path, *arguments: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEXTON_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, project / "manage.py", *arguments],
        cwd=cwd or project,
        env={**kept, "COLUMNS": "100", **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_command_line_is_that_of_sexton(project: Path) -> None:
    done = manage(project, "sexton", "--help")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Usage: sexton COMMAND")
    done = manage(project, "sexton", "next", "0 25 * * *", "--json", "--settings", "mysite.settings")
    assert done.returncode == 2
    assert '"code":"out_of_range"' in done.stdout


def test_a_database_that_is_not_migrated_says_what_to_type(project: Path, server_url: str) -> None:
    done = manage(project, "sexton", "up", SEXTON_DATABASE_URL=server_url, SEXTON_SCHEMA="untouched")
    assert done.returncode == 1
    assert "manage.py sexton migrate" in done.stderr


def test_processes_find_the_project_from_elsewhere(project: Path, tmp_path: Path, database_url: str) -> None:
    """As the workers that `sexton up` starts: they load the application and its jobs."""
    done = manage(project, "sexton", "node", "--check", cwd=tmp_path, SEXTON_DATABASE_URL=database_url)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bad_job_is_named_at_the_start(project: Path) -> None:
    jobs = project / "news" / "jobs.py"
    jobs.write_text(jobs.read_text("utf-8").replace("0 3 * * *", "0 33 * * *"), "utf-8")
    done = manage(project, "check")
    assert done.returncode == 1
    assert "jobs.py" in done.stderr
    assert "0 to 23" in done.stderr


def test_bad_settings_are_named(project: Path) -> None:
    settings = project / "mysite" / "settings.py"
    settings.write_text(settings.read_text("utf-8").replace('{"name": "mysite"}', '{"prot": 7400}'), "utf-8")
    done = manage(project, "sexton", "status")
    assert done.returncode == 1
    assert "did you mean port?" in done.stderr


def test_django_calls_it() -> None:
    out = io.StringIO()
    call_command("sexton", "next", "0 9 * * *", "--json", stdout=out)
    assert "09:00" in out.getvalue()
    with pytest.raises(CommandError, match="sexton next 0 25") as failed:
        call_command("sexton", "next", "0 25 * * *", stdout=out, stderr=out)
    assert failed.value.returncode == 2


def test_the_environment_is_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEXTON_APP", raising=False)
    with project_environment():
        assert os.environ["SEXTON_APP"] == "sexton.contrib.django.project:app"
    assert "SEXTON_APP" not in os.environ


def test_what_django_has_read_is_left_out() -> None:
    given = ["why", "--settings", "a.b", "job", "--pythonpath=/srv", "--json"]
    assert without_django(given) == ["why", "job", "--json"]


def test_django_lists_it() -> None:
    assert "sexton up" in SextonCommand().create_parser("manage.py", "sexton").format_help()
