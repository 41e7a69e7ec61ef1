"""What the documentation shows is what happens: every example in it is run.

    ```python            a session (`>>>`) whose answers are compared, or code that must run; one namespace
                         a page
    ```python FILE.py    a file; a program with `app.run()` is also run as one
    ```console           `$ command` lines, run by a shell, and exactly what they print; `> ` continues a
                         command
    ```http              a request, `→ status`, and what the answer contains
    ```diff FILE         a change, made in a copy of the source by `tests/test_extending.py`
    ```text              not run

The examples of the pages in `INSIDE` are run in the coroutine of a running application, the `app` of their
first block. The pages in `LIVE` are run in order against a real Sexton: see `tests/live_docs.py`. The pages
in `ELSEWHERE` have a test of their own. Tables headed `schedule | in words` are examples too: each schedule
is explained and compared. No other fences and no indented blocks are allowed, so that nothing escapes.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.cli.table import COMMANDS, GROUPS
from sexton.config import Settings
from sexton.model import JobStatus, RunStatus, SkipReason
from sexton.notifications.recipients.recipient import put_recipient
from sexton.notifications.spec import RecipientSpec, TemplateSpec
from sexton.notifications.templates.template import put_template
from sexton.schedules import parse
from sexton.security.role import MEANINGS
from tests.live_docs import Mismatch, Server, Session, running_server
from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
LANGUAGES = {"python", "console", "http", "text", "diff"}
LIVE = {
    "README.md",
    "quickstart.md",
    "concepts.md",
    "http.md",
    "cli.md",
    "content.md",
    "campaigns.md",
    "channels.md",
    "notifications.md",
    "testing.md",
    "firing.md",
    "operations.md",
    "workers.md",
}
INSIDE = {"python.md"}
# Pages whose examples need a project around them, and the test that runs them.
ELSEWHERE = {"django.md": "tests/contrib/django/test_walk_through.py"}


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str
    file: str = ""

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    """The fenced blocks of a page; `line` is that of the fence."""
    fence = re.compile(r"^```(\S*) *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for match in fence.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[3], match[2])


def commands_of(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    command, output = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif line.startswith("> ") and not output:
            command += line[2:]
        else:
            output += line
    if not command:
        raise AssertionError("a console block without a command")
    yield command, output


def run_commands(block: str, programs: Path | None = None) -> None:
    places = [*filter(None, [programs]), Path(sys.executable).parent, os.environ["PATH"]]
    here = {"PATH": os.pathsep.join(map(str, places)), "COLUMNS": "80"}
    for command, shown in commands_of(block):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env=os.environ | here | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        assert _without_trailing_space(done.stdout) == _without_trailing_space(shown), command


def run_python(blocks: list[Block], names: dict[str, Any] | None = None) -> None:
    """One page: what one block defines, the next ones may use."""
    names = {"__name__": "__docs__"} if names is None else names
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    for block in blocks:
        if ">>> " not in block.text:
            exec(compile("\n" * block.line + block.text, block.page, "exec"), names)
            continue
        examples = doctest.DocTestParser().get_examples(block.text)
        session = doctest.DocTest(examples, {}, block.name, str(block.page), block.line, None)
        session.globs = names
        said: list[str] = []
        failed, _ = runner.run(session, out=said.append, clear_globs=False)
        assert not failed, "".join(said)


def run_tables(text: str) -> int:
    """The rows of tables that explain schedules; how many there were."""
    rows = 0
    for table in re.findall(r"^\| schedule \| in words \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            cells = re.fullmatch(r"\| `(.+?)` +\| (.+?) +\|", row)
            assert cells, f"not a schedule and its words: {row}"
            schedule = cells[1].replace("\\|", "|")
            explained = parse(schedule, timezone="UTC", anchor="2026-11-02T09:00", key="docs").explain()
            assert explained.removesuffix(", UTC") == cells[2], schedule
            rows += 1
    return rows


def _without_trailing_space(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


ALL_BLOCKS = [block for page in PAGES for block in blocks_of(page, page.read_text("utf-8"))]
LIVE_PAGES = [page for page in PAGES if page.name in LIVE]
STILL_PAGES = [page for page in PAGES if page.name not in LIVE | INSIDE | set(ELSEWHERE)]
CONSOLE_BLOCKS = [block for block in ALL_BLOCKS if block.language == "console" and block.page in STILL_PAGES]
PROGRAMS = [block for block in ALL_BLOCKS if block.file and "app.run()" in block.text]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Iterator[Server]:
    """`sexton up` with the application of the quickstart."""
    files = {
        block.file: block.text
        for block in ALL_BLOCKS
        if block.file and block.language == "python" and block.page.name not in ("README.md", *ELSEWHERE)
    }
    directory = tmp_path_factory.mktemp("docs")
    with running_server(directory, files, "reports:app", programs=programs) as server:
        yield server


@pytest.mark.parametrize("page", STILL_PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path) -> None:
    run_python([block for block in ALL_BLOCKS if block.page == page and block.language == "python"])


@pytest.mark.parametrize("name", sorted(INSIDE))
async def test_examples_inside_an_application(
    name: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXTON_DATABASE_URL", database_url)
    first, *others = [each for each in ALL_BLOCKS if each.page.name == name and each.language == "python"]
    names: dict[str, Any] = {"__name__": "__docs__"}
    exec(compile(first.text, first.name, "exec"), names)
    async with names["app"].running():
        await _seed_notifications(names["app"])
        for block in others:
            if ">>> " in block.text:
                run_python([block], names)
                continue
            code = compile(block.text, block.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            ran = eval(code, names)
            if inspect.iscoroutine(ran):
                await ran


async def _seed_notifications(app: Any) -> None:
    """The recipient and the template that examples of messages name."""
    await app._call(put_recipient, "ann", RecipientSpec(email="ann@example.com"))
    text = {"subject": "Reminder", "text": "Hello {{ name }}"}
    await app._call(put_template, "reminder", msgspec.convert({"email": text}, TemplateSpec))


@pytest.mark.parametrize("block", CONSOLE_BLOCKS, ids=lambda block: block.name)
def test_command_line_examples(block: Block, programs: Path) -> None:
    run_commands(block.text, programs)


@pytest.mark.parametrize("page", LIVE_PAGES, ids=lambda page: page.name)
def test_pages_that_need_a_server(page: Path, server: Server) -> None:
    server.empty()
    session = Session(server)
    for block in (block for block in ALL_BLOCKS if block.page == page and not block.file):
        match block.language:
            case "console":
                for command, shown in commands_of(block.text):
                    session.run_command(command, shown)
            case "http":
                session.run_request(block.text)
            case "python":
                server.run_program(block.text)


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.name)
def test_programs_run_until_they_are_stopped(block: Block, server: Server, tmp_path: Path) -> None:
    (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, block.file],
        cwd=tmp_path,
        # In a schema of its own: it has the name of the application that the server runs.
        env={**server.environment, "SEXTON_SCHEMA": "programs"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stderr is not None
    said = next((line for line in process.stderr if "is running" in line), None)
    process.terminate()
    rest = process.communicate(timeout=PATIENCE)[1]
    assert said is not None, rest
    assert process.returncode == 0, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_schedules(page: Path) -> None:
    text = page.read_text("utf-8")
    assert run_tables(text) >= text.count("| in words |")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_whether_it_is_run(page: Path) -> None:
    text = page.read_text("utf-8")
    blocks = list(blocks_of(page, text))
    assert [block.name for block in blocks if block.language not in LANGUAGES] == []
    assert text.count("\n```") == 2 * len(blocks), "a fence is not closed"
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\n\n( {4}.*)", outside) == [], "an indented block is not run: fence it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", ">>> 1 + 1\n3\n"),
        ("python", "raise ValueError\n"),
        ("console", "$ echo one\ntwo\n"),
        ("console", "$ echo one\n"),
        ("console", "no command\n"),
    ],
)
def test_an_example_that_drifts_is_caught(language: str, text: str) -> None:
    block = Block(ROOT / "page.md", 1, language, text)
    with pytest.raises((AssertionError, ValueError)):
        run_python([block]) if language == "python" else run_commands(text)


def test_words_that_drift_are_caught() -> None:
    head = "| schedule | in words |\n|---|---|\n"
    assert run_tables(head + "| `0 9 * * 1` | At 09:00 on Monday |\n") == 1
    with pytest.raises(AssertionError):
        run_tables(head + "| `0 9 * * 1` | At 09:00 on Tuesday |\n")


@pytest.mark.parametrize(
    ("shown", "came", "alike"),
    [
        ("r_1  12:00:01Z  late 2 ms", "r_3x 2026-11-15 23:59:58Z late 1.2 s", True),
        ("made …: j_1", "made anything: j_22", True),
        ("r_1  success", "r_1  dead", False),
        ("r_1", "j_1", False),
        ("late 2 ms", "late", False),
    ],
)
def test_what_differs_from_run_to_run_is_compared_by_shape(shown: str, came: str, alike: bool) -> None:
    session = Session.__new__(Session)
    session.ids = {}
    assert session.agree(shown, came) is alike


def test_a_live_example_that_drifts_is_caught(server: Server) -> None:
    session = Session(server)
    with pytest.raises(Mismatch):
        session.run_command("sexton jobs show nobody", "name  nobody\n")
    with pytest.raises(Mismatch):
        session.run_request('GET /healthz\n\n→ 200\n{"status": "ill"}')
    with pytest.raises(Mismatch):
        session.run_request("GET /nowhere\n\n→ 200\n")
    session.run_request('GET /healthz\n\n→ 200\n{"status": "ok"}')


def table_of(page: str, head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    match = re.search(rf"^\| {re.escape(head)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert match, f"{page} has no table {head}"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in match[1].splitlines()]


def shown_default(field: msgspec.structs.FieldInfo) -> str:
    value = (
        field.default_factory()
        if field.default is msgspec.NODEFAULT and not field.required
        else field.default
    )
    if field.required:
        return "required"
    if value is None:
        return "–"
    return f"`{msgspec.json.encode(value).decode()}`" if isinstance(value, list | dict) else f"`{value}`"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = [(f"`{each.name}`", shown_default(each)) for each in msgspec.structs.fields(Settings)]
    table = table_of("concepts.md", "setting")
    assert [tuple(row[:2]) for row in table] == rows
    # setting, default, unit, meaning, what it trades
    assert [row[0] for row in table if len(row) != 5 or not row[2] or not row[3]] == []


def test_every_reason_and_state_is_documented() -> None:
    text = (ROOT / "docs" / "concepts.md").read_text("utf-8")
    assert {row[0].strip("`") for row in table_of("concepts.md", "reason")} == set(SkipReason)
    for state in (*JobStatus, *RunStatus):
        assert re.search(rf"\b{state}\b", text), state


def test_every_call_is_documented(server: Server) -> None:
    document = json.loads(server.ask("GET", "/openapi.json", {}, "")[1])
    calls = [
        f"`{method.upper()} {path}`" for path, methods in document["paths"].items() for method in methods
    ]
    rows = table_of("http.md", "call")
    assert sorted(row[0] for row in rows) == sorted(calls)
    for row in rows:
        method, path = row[0].strip("`").split(" ")
        for parameter in document["paths"][path][method.lower()].get("parameters", []):
            if parameter["in"] == "query":
                assert re.search(rf"`{parameter['name']}\b", row[2]), f"{row[0]}: {parameter['name']}"


def test_the_roles_are_those_of_the_code() -> None:
    for page in ("security.md", "http.md"):
        assert table_of(page, "role") == [[str(role), meaning] for role, meaning in MEANINGS.items()]
    assert table_of("security.md", "call") == [
        [f"`{one.method} {one.template}`", *_needed(one)] for one in operations()
    ]


def test_pages_that_are_run_elsewhere_are_run_there() -> None:
    assert all(page in (ROOT / test).read_text("utf-8") for page, test in ELSEWHERE.items())


def test_what_shows_a_promise_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


def _needed(one: Operation) -> tuple[str, str]:
    """What the page says a caller needs, and where."""
    if one.tokened:
        return "the token of the run" if "{run}" in one.path else "the secret of its address", ""
    if one.role is None:
        return "none" if one.open else "any caller", ""
    return str(one.role), "everywhere" if one.cluster else "namespace"


def test_every_command_has_an_example() -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    names = [*COMMANDS, *(f"{group} {verb}" for group, each in GROUPS.items() for verb in each.commands)]
    assert [name for name in names if not re.search(rf"^(?:\$ )?sexton {name}\b", text, re.MULTILINE)] == []


def test_the_verifier_accepts_what_sexton_sends_and_nothing_else(server: Server) -> None:
    names: dict[str, Any] = {}
    [block] = [block for block in ALL_BLOCKS if block.file == "verify.py"]
    exec(compile(block.text, block.name, "exec"), names)
    with received() as (url, requests):
        job = {"name": "hook", "schedule": "@yearly", "payload": {"n": "ü"}, "target": {"http": {"url": url}}}
        server.client.post("/jobs", job)
        server.client.post("/jobs/hook/run")
        headers, body = requests.get(timeout=PATIENCE)
    secret = json.loads(server.run("sexton secret show --json"))["secret"]
    assert json.loads(body) == {"n": "ü"}
    assert names["verify"](secret, headers, body)
    assert Webhook(secret).verify(body, headers) == {"n": "ü"}
    assert not names["verify"](secret, headers, body + b" ")
    assert not names["verify"](secret, {**headers, "webhook-id": "r_1x"}, body)
    assert not names["verify"](secret, {**headers, "webhook-timestamp": "1700000000"}, body)
    assert not names["verify"]("whsec_" + "A" * 44, headers, body)


@contextmanager
def received() -> Iterator[tuple[str, queue.Queue[tuple[dict[str, str], bytes]]]]:
    """An endpoint on this machine, and what it was sent."""
    requests: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.put(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{endpoint.server_address[1]}/hook", requests
        finally:
            endpoint.shutdown()
            thread.join()
