"""`docs/extending.md` is true: its changes, made in a copy of the source, show in every face."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(title: str) -> list[tuple[str, str, str]]:
    """The blocks below a heading: language, file and text."""
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return [(match[1], match[2], match[3]) for match in BLOCK.finditer(text)]


def changed(text: str, diff: str) -> str:
    """The text with one change; what goes and what stays must be there once."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"this is there {text.count(before)} times:\n{before}"
    return text.replace(before, after)


class Copy:
    """A copy of the source, in which changes are made and looked for."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.database_url = database_url
        shutil.copytree(
            ROOT / "src" / "sexton", folder / "src" / "sexton", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copytree(ROOT / "docs", folder / "docs")

    def apply(self, title: str) -> set[str]:
        """Make the changes of a section; the files that they are in."""
        files = set()
        for language, file, text in section(title):
            if language == "diff":
                path = self.folder / file
                path.write_text(changed(path.read_text("utf-8"), text), encoding="utf-8")
                files.add(file)
        return files

    def run(self, script: str) -> str:
        """Run a script on the copy; what it prints."""
        path = os.pathsep.join([str(self.folder / "src"), str(self.folder), str(ROOT)])
        given = {name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")}
        done = subprocess.run(
            [sys.executable, "-c", script, self.database_url],
            cwd=self.folder,
            env={**given, "PYTHONPATH": path, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path, database_url: str) -> Copy:
    return Copy(tmp_path, database_url)


FIELD = """
import sys
from sexton import cli
from sexton.api import openapi
from sexton.api.application import operations
from sexton.app import Sexton
from sexton.cli.client import Client
from sexton.errors import InvalidField
from tests.cli.server import Server
from tests import test_job_fields

described = openapi.document(operations(), keys=False)["components"]["schemas"]["JobSpec"]["properties"]
print(described["severity"])
cli.run(["jobs", "add", "--help"])
test_job_fields.test_python_takes_each_by_its_name()
test_job_fields.PAGE = __import__("pathlib").Path("docs/concepts.md")
test_job_fields.test_the_documentation_has_the_table_of_fields()

app = Sexton(sys.argv[1])

@app.job("@daily", severity=1)
def report(run): ...

print("declared", app.jobs["report"].severity)
with Server(sys.argv[1]) as server, Client(server.url) as client:
    print("stored", client.post("/jobs", {"name": "a", "schedule": "@daily", "severity": 2})["severity"])
    print("given back", client.get("/jobs/a")["severity"])
    print("default", client.post("/jobs", {"name": "b", "schedule": "@daily"})["severity"])
    try:
        client.post("/jobs", {"name": "c", "schedule": "@daily", "severity": 9})
    except InvalidField as error:
        print(error.code, error.field, error.hint)
"""


def test_a_field_of_a_job(copy: Copy) -> None:
    files = copy.apply("A field of a job")
    assert len(files) <= 3
    said = copy.run(FIELD)
    assert "'type': 'integer', 'minimum': 1, 'maximum': 5, 'default': 3}" in said
    assert re.search(
        r"--severity INT +How bad it is if it fails: 1 \(very\) to 5 \(hardly\)\. Default: 3\.", said
    )
    for line in ("declared 1", "stored 2", "given back 2", "default 3"):
        assert f"\n{line}\n" in said
    assert "\nout_of_range severity give a whole number from 1 to 5\n" in said


COMMAND = """
import os, sys
from sexton import cli
from sexton.api import openapi
from sexton.api.application import operations
from sexton.cli.client import Client
from tests.cli.server import Server

print(openapi.document(operations(), keys=False)["paths"]["/api/v1/clock"]["get"]["summary"])
with Server(sys.argv[1]) as server, Client(server.url) as client:
    print("answered", client.get("/clock", timezone="Asia/Tokyo")["local"])
    os.environ["SEXTON_URL"] = server.url
    for words in (["clock", "--timezone", "Asia/Tokyo"], ["clock", "--json"], ["clock", "--help"], []):
        assert cli.run(words) == 0
"""


def test_a_route_with_a_command(copy: Copy) -> None:
    files = copy.apply("A route with a command")
    assert len(files) <= 3
    said = copy.run(COMMAND)
    assert said.startswith("Show the clock\n")
    assert re.search(r"^answered 20\S+\+09:00$", said, re.MULTILINE)
    assert re.search(r"^local  20\S+\+09:00$", said, re.MULTILINE)
    assert re.search(r'^{"local":"20\S+\+00:00"}$', said, re.MULTILINE)
    assert re.search(r"--timezone STR +The zone of the wall clock\. Default: UTC\.", said)
    assert re.search(r"^  clock +Show the clock\.$", said, re.MULTILINE)


ELECTOR = """
import asyncio, sys
from sexton.app import Sexton
from sexton.engine.cluster.status import get_cluster
from sexton.postgres.transaction import Context

app = Sexton(sys.argv[1], elector="alone://here")
fired = asyncio.Event()

@app.job("every 1s", max_runs=1)
async def once(run):
    fired.set()

async def main():
    async with app.running(), app.connected() as database:
        await asyncio.wait_for(fired.wait(), 60)
        print("elector", (await get_cluster(Context(database))).elector.name)

asyncio.run(main())
"""


def test_an_elector(copy: Copy) -> None:
    [code, entry] = section("An elector")
    assert code[:2] == ("python", "alone.py")
    (copy.folder / "alone.py").write_text(code[2], encoding="utf-8")
    info = copy.folder / "alone-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alone\nVersion: 1.0\n")
    named = entry[2].replace("project.entry-points.", "").replace('"', "")
    (info / "entry_points.txt").write_text(named)
    assert copy.run(ELECTOR) == "elector alone\n"


def test_every_file_of_the_overview_is_there() -> None:
    rows = re.findall(r"^\| .* \| (\d) \| (.*) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == [2, 3, 3, 2]
    for _, files in rows:
        for file in re.findall(r"`([^`]+\.\w+)`", files):
            assert (ROOT / "src" / "sexton" / file).exists() or (ROOT / file).exists(), file


def test_a_change_that_does_not_fit_is_noticed() -> None:
    with pytest.raises(AssertionError, match="there 0 times"):
        changed("one\n", " two\n+three\n")
    assert changed("one\ntwo\n", " one\n-two\n+three\n") == "one\nthree\n"
