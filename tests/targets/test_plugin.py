"""A kind of target that another package brings, by an entry point or by a setting: Sexton is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sexton.app import Sexton
from sexton.config import Settings
from sexton.engine.cluster.examination import Finding, _examine_system
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.postgres.database import Database
from sexton.targets import table
from sexton.targets.table import hint_of, kinds, load_kinds
from tests.api.conftest import serve
from tests.seeding import drained, working
from tests.targets.file_kind import FOLDERS

# The kinds of Sexton, those of its products included.
SEXTONS = {"handler", "http", "message", "celery", "shell", "content", "notification"}
KIND = "tests.targets.file_kind:FileKind"


@pytest.fixture
def own_table() -> Iterator[None]:
    """Kinds stay loaded for as long as the process runs; here for as long as the test does."""
    table._table.cache_clear()
    yield
    table._table.cache_clear()


def install(folder: Path, kind: str) -> None:
    """As pip leaves a package behind that has an entry point."""
    info = folder / "file_target-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: file-target\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sexton.targets]\nfile = {kind}\n")


@pytest.fixture(params=["entry point", "setting"])
def settings(
    request: pytest.FixtureRequest, own_table: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    if request.param == "setting":
        return Settings(targets=KIND)
    install(tmp_path, KIND)
    monkeypatch.syspath_prepend(tmp_path)
    return Settings()


async def test_a_job_is_made_shown_fired_and_carried_out(
    database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.log"
    job = {
        "name": "note",
        "schedule": "@yearly",
        "payload": {"n": 1},
        "target": {"file": {"path": str(path)}},
    }
    async with serve(database, settings) as api:
        made = (await api("POST", "/jobs", job)).json()
        assert made["target"] == {"file": {"path": str(path)}}
        assert made["warnings"] == [
            "no worker is running: runs stay pending until one is",
            "target.file.path: nothing empties it",
        ]
        assert [each["name"] for each in (await api("GET", "/jobs?target=file")).json()] == ["note"]
        run = (await api("POST", "/jobs/note/run")).json()["run_id"]

        async with working(database, {}, now=lambda: None, targets=settings.targets) as worker:
            await drained(worker)
            how = f"start one with {FOLDERS}={tmp_path}"
            lane = f"file:{tmp_path}"
            shown = (await api("GET", "/jobs/note")).json()
            assert (
                f"no live worker serves {lane}: runs stay pending until one does ({how})" in shown["warnings"]
            )
            waiting = (await api("GET", f"/runs/{run}")).json()["waiting_for"]
            assert waiting == f"no worker serves {lane}: {how}"
            findings: list[Finding] = []
            await _examine_system(database, {}, findings)
            assert how in [finding.fix for finding in findings]

        monkeypatch.setenv(FOLDERS, str(tmp_path))
        async with working(database, {}, now=lambda: None, targets=settings.targets) as worker:
            assert lane in worker.served
            await drained(worker)
        done = (await api("GET", f"/runs/{run}")).json()
        assert (done["status"], done["result"]) == ("success", {"lines": 1})
        assert path.read_text() == f'{run} {{"n": 1}}\n'
        tried = (await api("POST", "/targets/test", {"job": "note"})).json()
        assert (tried["outcome"], tried["result"]) == ("success", {"lines": 1})


async def test_it_is_described_like_any_other(database: Database, settings: Settings) -> None:
    async with serve(database, settings) as api:
        schemas = (await api("GET", "/openapi.json")).json()["components"]["schemas"]
        page = (await api("GET", "/docs")).content.decode()
    assert set(schemas["Target"]["properties"]) == {*SEXTONS, "file"}
    assert schemas["Target"]["properties"]["file"] == {
        "$ref": "#/components/schemas/FileTarget",
        "description": "A line in a file.",
        "examples": [{"path": "/srv/log/runs"}],
    }
    assert schemas["FileTarget"]["properties"]["copies"] == {
        "type": "integer", "minimum": 1, "maximum": 10, "default": 1,
        "description": "How many lines a run appends.",
    }  # fmt: skip
    assert "How many lines a run appends." in page


@pytest.mark.parametrize(
    ("file", "code", "field", "hint"),
    [
        ({}, "missing_field", "path", "add it"),
        ({"path": 5}, "bad_type", "path", "write /srv/log/runs"),
        ({"path": "runs.log"}, "bad_path", "path", "begin with /"),
        ({"path": "/a", "copies": 11}, "out_of_range", "copies", "give a whole number from 1 to 10"),
        ({"path": "/a", "copy": 2}, "unknown_field", "copy", "known fields: path, copies"),
    ],
)
def test_what_is_wrong_is_refused_by_field(
    settings: Settings, file: dict[str, Any], code: str, field: str, hint: str
) -> None:
    load_kinds(settings)
    for name in ("target", "dead_letter_target"):
        with pytest.raises(InvalidField) as refused:
            read_spec({"name": "note", "schedule": "@daily", name: {"file": file}})
        assert (refused.value.code, refused.value.field) == (code, f"{name}.file.{field}")
        assert refused.value.hint == hint


def test_a_declared_job_may_have_it(settings: Settings) -> None:
    app = Sexton(name="notes", targets=settings.targets)

    @app.job("@daily", target={"file": {"path": "/srv/log/runs"}})
    async def note(run: Any) -> None: ...

    assert app.jobs["note"].target == {"file": {"path": "/srv/log/runs"}}
    assert '{"file": {"path": "/srv/log/runs"}}' in hint_of(dead_letters=True)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no_such_package:Kind", "No module named 'no_such_package'"),
        ("tests.targets.file_kind:Nothing", "has no attribute 'Nothing'"),
        ("tests.targets.file_kind:FileTarget", "FileTarget"),
        ("sexton.targets.http.kind:HttpTarget", "HttpTarget"),
    ],
)
def test_a_path_that_leads_to_no_kind_is_refused(own_table: None, path: str, said: str) -> None:
    with pytest.raises(InvalidField, match=said) as refused:
        load_kinds(Settings(targets=path))
    assert (refused.value.code, refused.value.field) == ("bad_config", "targets")


@pytest.mark.parametrize("path", ["package.module", "package.module:", ":Name", "a b:Name"])
def test_what_is_no_path_is_refused_with_the_settings(path: str) -> None:
    with pytest.raises(InvalidField, match="is not the path of a target kind"):
        Settings(targets=path).check()


def test_a_broken_package_is_left_out_and_named(
    own_table: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, "no_such_package:Kind")
    monkeypatch.syspath_prepend(tmp_path)
    assert set(kinds()) == SEXTONS
    assert "the target kind no_such_package:Kind" in caplog.text


def test_two_kinds_of_one_name_are_refused(own_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    load_kinds(Settings(targets=KIND))
    load_kinds(Settings(targets=KIND))
    monkeypatch.setattr("tests.targets.file_kind.FileKind.name", "http")
    with pytest.raises(InvalidField, match="there is another target kind http"):
        load_kinds(Settings(targets=KIND))


async def test_a_process_without_the_kind_shows_the_job_and_leaves_its_runs(
    own_table: None, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDERS, str(tmp_path))
    target = {"file": {"path": str(tmp_path / "runs")}}
    async with serve(database, Settings(targets=KIND)) as api:
        assert (
            await api("POST", "/jobs", {"name": "note", "schedule": "@yearly", "target": target})
        ).status == 201
        run = (await api("POST", "/jobs/note/run")).json()["run_id"]
    table._table.cache_clear()
    async with serve(database, Settings()) as api, working(database, {}, now=lambda: None) as worker:
        await drained(worker)
        shown = (await api("GET", "/jobs/note")).json()
        assert shown["target"] == target
        assert shown["warnings"] == ["this process cannot read the target: there is no field target.file"]
        edited = await api("PATCH", "/jobs/note", {"priority": 1})
        assert (edited.status, edited.code, edited.json()["field"]) == (422, "unknown_field", "target.file")
        assert (await api("GET", f"/runs/{run}")).json()["status"] == "pending"
