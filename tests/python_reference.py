"""docs/python.md, made from the docstrings: `make docs` writes it, and a test says when it is stale.

What is public stands in the tables below; what a name means stands beside its code. An indented block in a
docstring, or one that is Python, is an example, and `tests/test_docs.py` runs it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import sexton
from sexton import errors
from sexton.app.content import ContentCommands
from sexton.app.fields import ManyJobs
from sexton.app.notify import NotifyCommands
from sexton.jobs.spec import JobSpec
from sexton.testing import Engine, engine
from sexton.testing.recorder import RecordedCall, Recorder

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "python.md"
SOURCE = ROOT / "src" / "sexton"

# What an application can do, by what it is for; every public name of `Sexton` stands here once.
APPLICATION = {
    "Declaring": ("job", "handler", "provide", "on"),
    "Running": ("run", "running", "connected", "acting"),
    "Making jobs": ("schedule", "schedule_many"),
    "Reading jobs": ("get", "list", "history", "why"),
    "Changing jobs": ("edit", "pause", "resume", "reschedule", "delete", "restore"),
    "Runs": ("run_now", "result", "backfill", "cancel_run"),
    "Many jobs": ("pause_many", "resume_many", "run_many", "label_many", "delete_many"),
    "Attributes": ("name", "jobs", "handlers", "settings", "content", "notify", "sync", "metrics"),
}
ATTRIBUTES = {
    "name": "What tells its jobs and handlers from those of other applications.",
    "jobs": "The jobs that it declares, by name.",
    "handlers": "Its handlers, by name.",
}
SCHEDULE = (
    "text", "kind", "timezone", "anchor", "gap", "fold", "timing_key", "warnings", "next_after",
    "previous_before", "between", "occurrences", "explain", "to_dict",
)  # fmt: skip
CALENDAR = ("from_ics",)
ENGINE = ("now", "runs", "advance", "outage", "drain", "live", "database")
VIEWS = ("JobView", "RunView", "Why", "Tally", "Backfill")
ENDS = ("Retry", "Snooze", "Wait", "Cancel")
ERRORS = (
    "SextonError", "InvalidField", "ScheduleError", "RefusedLines", "NotFound", "Conflict", "NameTaken",
    "RunFailed", "LeaseLost", "Unavailable",
)  # fmt: skip
FIELDS_OF_A_JOB = "and all [fields of a job](concepts.md#every-field-of-a-job)"
# Faces of their own: their errors are described with them.
OTHER_FACES = ("api", "cli")

INTRODUCTION = """\
# The Python API

Everything that a program may use, made from the docstrings by `make docs`. The [quickstart](quickstart.md)
shows how it fits together.

Names without a module come from `sexton`. The examples run inside a coroutine, in this application:

```python
import asyncio
from datetime import UTC, date, datetime, timedelta

from sexton import Calendar, Cancel, Retry, Run, RunEvent, RunFailed, Sexton, Snooze, Wait, parse
from sexton.errors import NotFound

app = Sexton(name="shop")


@app.job("0 9 * * 1", timezone="America/New_York", labels={"team": "billing"})
async def report(run: Run, customer: str = "all") -> dict[str, str]:
    return {"customer": customer, "week": f"{run.scheduled_at:%G-W%V}"}
```
"""


def page() -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        *_application(),
        *_content(),
        *_notify(),
        *_run(),
        *_ends(),
        *_events(),
        *_views(),
        *_schedules(),
        *_testing(),
    ]
    return "\n".join([*parts, *_errors()]).rstrip("\n") + "\n"


def public(owner: type) -> list[str]:
    """The names of an object of this class that do not begin with an underscore."""
    return [name for name in dir(owner) if not name.startswith("_")]


def _application() -> Iterator[str]:
    yield "## `Sexton`\n"
    yield from _entry("Sexton", sexton.Sexton, heading=None)
    for title, names in APPLICATION.items():
        yield f"### {title}\n"
        if title == "Many jobs":
            yield from _many()
        for name in names:
            if name in ATTRIBUTES:
                yield f"#### `app.{name}`\n\n{ATTRIBUTES[name]}\n"
            else:
                yield from _entry(f"app.{name}", _member(sexton.Sexton, name))


def _content() -> Iterator[str]:
    yield "## `app.content`\n"
    yield from _paragraphs(ContentCommands)
    yield "[Content](content.md) explains these commands and their results.\n"
    for name in sorted(public(ContentCommands), key=_place(ContentCommands)):
        yield from _entry(f"app.content.{name}", _member(ContentCommands, name), heading="###")


def _notify() -> Iterator[str]:
    yield "## `app.notify`\n"
    yield from _paragraphs(NotifyCommands)
    yield "[Notifications](notifications.md) explains these commands and their results.\n"
    yield from _entry("app.notify", _member(NotifyCommands, "__call__"), heading="###")
    for name in sorted(public(NotifyCommands), key=_place(NotifyCommands)):
        yield from _entry(f"app.notify.{name}", _member(NotifyCommands, name), heading="###")


def _many() -> Iterator[str]:
    kinds = {name: str(kind) for name, kind in inspect.get_annotations(ManyJobs).items()}
    meanings = {
        "status": "in this status",
        "label": "with this label: `name` or `name=value`",
        "name": "of this name, or of names that begin so: `report-*`",
        "target": "with this target: `http`, …, or a handler: `name` or `app:name`",
        "app": "that this application declared",
        "problem": "that are set aside, because their schedule cannot be computed",
        "all": "all of them; needed if no other keyword is given",
    }
    assert kinds.keys() == meanings.keys()
    yield "Keywords select the jobs; all given keywords must apply:\n"
    yield from _table(("keyword", "jobs"), ((f"`{name}`", meanings[name]) for name in kinds))
    yield (
        "The jobs are changed in the order of their creation, up to 1,000 in one transaction, each as by "
        "the command for a single job. `dry_run` only counts them and shows some. `expected` raises "
        "`Conflict` (`count_changed`) if more jobs match. `after` continues after the job with this id: an "
        "error in the middle has a note with it. The result is a [`Tally`](#tally).\n"
    )


def _run() -> Iterator[str]:
    yield "## `Run`\n"
    yield from _paragraphs(sexton.Run)
    for name in sorted(public(sexton.Run), key=_place(sexton.Run)):
        yield from _entry(f"run.{name}", _member(sexton.Run, name), heading="###")


def _ends() -> Iterator[str]:
    yield "## What a handler returns\n"
    yield (
        "A value, which becomes the result of the run, as JSON up to 64 KiB; or one of these. An exception "
        "is a failed attempt.\n"
    )
    for name in ENDS:
        yield from _entry(name, getattr(sexton, name), heading="###")


def _events() -> Iterator[str]:
    yield "## `RunEvent`\n"
    yield "A listener (`@app.on(…)`) gets this object.\n"
    yield from _paragraphs(sexton.RunEvent)
    comments = _comments(sexton.RunEvent)
    hints = inspect.get_annotations(sexton.RunEvent)
    rows = ((f"`{name}`", f"`{_plain(kind)}`", comments.get(name, "")) for name, kind in hints.items())
    yield from _table(("attribute", "type", "meaning"), rows)


def _views() -> Iterator[str]:
    yield "## What commands return\n"
    for name in VIEWS:
        view = getattr(sexton, name)
        yield f"### `{name}`\n"
        yield from _paragraphs(view)
        fields = [each for each in msgspec.structs.fields(view) if each.name not in _inherited(view)]
        rows = ((f"`{each.name}`", _described(each)) for each in fields)
        yield from _table(("attribute", "meaning"), rows)
        if _inherited(view):
            yield f"{FIELDS_OF_A_JOB.capitalize()}, with their defaults filled in.\n"


def _schedules() -> Iterator[str]:
    yield "## Schedules\n"
    yield "Pure functions of time, without a database. [Schedules](schedules.md) shows every form of text.\n"
    yield from _entry("parse", sexton.parse, heading="###")
    yield "### `Schedule`\n"
    yield from _paragraphs(sexton.Schedule)
    comments = _comments(sexton.Schedule)
    for name in SCHEDULE:
        member = inspect.getattr_static(sexton.Schedule, name)
        if inspect.isfunction(member):
            yield from _entry(f"schedule.{name}", member)
        else:
            said = (
                comments.get(name) or inspect.getdoc(member if isinstance(member, property) else None) or ""
            )
            yield f"#### `schedule.{name}`\n\n{_joined(said)}\n"
    yield from _entry("next_after_many", sexton.next_after_many, heading="###")
    yield "### `Occurrence`\n"
    yield from _paragraphs(sexton.Occurrence)
    yield from _entry("Calendar", sexton.Calendar, heading="###")
    for name in CALENDAR:
        yield from _entry(f"Calendar.{name}", getattr(sexton.Calendar, name))


def _testing() -> Iterator[str]:
    yield "## Testing\n"
    yield "In `sexton.testing`; [testing](testing.md) shows tests.\n"
    yield from _entry("sexton.testing.engine", engine, heading="###")
    yield "### `Engine`\n"
    yield from _paragraphs(Engine)
    comments = _comments(Engine)
    for name in ENGINE:
        if name in comments:
            yield f"#### `engine.{name}`\n\n{comments[name]}\n"
        else:
            yield from _entry(f"engine.{name}", _member(Engine, name))
    yield from _entry("sexton.testing.recorder.Recorder", Recorder, heading="###")
    names = ", ".join(f"`{name}`" for name in RecordedCall.__dataclass_fields__)
    yield f"Each of its `calls` has {names}.\n"


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield "In `sexton.errors`:\n"
    yield f"```text\n{textwrap.dedent(_tree())}\n```\n"
    for name in ERRORS:
        yield f"### `{name}`\n"
        yield from _paragraphs(getattr(errors, name))
    yield "### The codes\n"
    yield "`error.code` never changes; the text may. `…` stands for the details of the case.\n"
    rows = ((f"`{code}`", f"`{kind}`", said) for code, (kind, said) in sorted(codes().items()))
    yield from _table(("code", "error", "such as"), rows)


#: What makes an error: its class; the code, or which argument that is; and which argument is the message.
Maker = tuple[str, int | str, int]
CLASSES: Mapping[str, Maker] = {name: (name, 0, 1) for name in ERRORS}


def codes() -> dict[str, tuple[str, str]]:
    """Every code that is written in the source, with its class and a message."""
    found: dict[str, tuple[str, str]] = {}
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    makers = {path: _makers(tree) for path, tree in trees.items()}
    for path, tree in trees.items():
        if path.relative_to(SOURCE).parts[0] in OTHER_FACES:
            continue
        for owner in ast.walk(tree):
            if isinstance(owner, ast.ClassDef) and owner.name in ERRORS:
                for node in ast.walk(owner):
                    match node:
                        case ast.Call(
                            func=ast.Attribute(attr="__init__"),
                            args=[ast.Constant(value=str(code)), said, *_],
                        ):
                            found.setdefault(code, (owner.name, _said(said)))
        known, assigned = _imported(tree, makers) | makers[path], _assigned(tree)
        # What is written out comes first.
        for node, makes in [(node, makes) for makes in (CLASSES, known) for node in ast.walk(tree)]:
            match _made(node, makes):
                case kind, ast.Constant(value=str(code)), said:
                    # A message that is told of the case alone says nothing here: another one is taken.
                    told = re.search("[a-z]", found.get(code, ("", ""))[1])
                    if not told and re.fullmatch(r"[a-z][a-z_]+", code):
                        if isinstance(said, ast.Name):
                            values = (value for name, value in assigned if name.id == said.id)
                            said = next((each for each in values if each.lineno <= said.lineno), said)
                        found[code] = (kind, _said(said))
    return found


def _made(node: ast.AST | None, known: Mapping[str, Maker]) -> tuple[str, ast.expr, ast.expr] | None:
    """The class, the code and the message of the error that a call makes; None if it makes none."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in known:
            kind, code, said = known[name]
            if max(said, code if isinstance(code, int) else 0) < len(args):
                return kind, args[code] if isinstance(code, int) else ast.Constant(code), args[said]
    return None


def _makers(tree: ast.AST) -> dict[str, Maker]:
    """The classes of errors, and the functions of a module that return one with their own arguments."""
    found = dict(CLASSES)
    for _ in range(2):  # one may call another
        for each in ast.walk(tree):
            if isinstance(each, ast.FunctionDef) and isinstance(each.body[-1], ast.Return):
                made = _made(each.body[-1].value, found)
                names = [argument.arg for argument in each.args.args if argument.arg != "self"]
                inside = [node.id for node in ast.walk(made[2]) if isinstance(node, ast.Name)] if made else []
                told = [names.index(name) for name in inside if name in names]
                match made:
                    case kind, ast.Constant(value=str(code)), _ if told:
                        found[each.name] = kind, code, told[-1]
                    case kind, ast.Name(id=name), _ if told and name in names:
                        found[each.name] = kind, names.index(name), told[-1]
    return found


def _imported(tree: ast.AST, makers: Mapping[Path, Mapping[str, Maker]]) -> dict[str, Maker]:
    """The makers that a module imports by their names."""
    found: dict[str, Maker] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("sexton."):
            there = makers.get(SOURCE.joinpath(*(each.module or "").split(".")[1:]).with_suffix(".py"), {})
            found |= {name.name: there[name.name] for name in each.names if name.name in there}
    return found


def _assigned(tree: ast.AST) -> list[tuple[ast.Name, ast.expr]]:
    """Every name that is given a value, the last one first."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for each in ast.walk(tree):
        match each:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                found += zip(names, values, strict=False)
            case ast.Assign(targets=[name], value=value):
                found.append((name, value))
    named = [(name, value) for name, value in found if isinstance(name, ast.Name)]
    return sorted(named, key=lambda each: each[0].lineno, reverse=True)


def _said(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text.replace("|", "\\|")
        case ast.JoinedStr(values=parts):
            words = [part.value if isinstance(part, ast.Constant) else "…" for part in parts]
            return re.sub("…+", "…", "".join(map(str, words))).replace("|", "\\|").replace("\n", " ")
        case _:
            return ""


def _entry(name: str, thing: Any, heading: str | None = "####") -> Iterator[str]:
    """A name with its signature, its words and its examples."""
    if heading is not None:
        yield f"{heading} `{name}`\n"
    if not isinstance(thing, property) and callable(thing):
        yield f"```text\n{signature(name, thing)}\n```\n"
    yield from _paragraphs(thing)


def _paragraphs(thing: Any) -> Iterator[str]:
    """The docstring as Markdown, with its examples."""
    said = inspect.getdoc(getattr(thing, "fget", None) or thing)
    assert said, f"{thing} says nothing about itself"
    for block in re.split(r"\n{2,}(?=\S)|\n{2,}(?=    )", said):
        if _is_example(block):
            yield f"```python\n{textwrap.dedent(block).rstrip()}\n```\n"
        else:
            yield f"{_joined(block)}\n"


def _is_example(block: str) -> bool:
    """Whether a block is code. It has lost its indentation if no other line of the docstring had less: then
    the formatter, and `getdoc`, take it for that of the docstring."""
    if block.startswith(("    ", ">>> ")):
        return True
    try:
        compile(block, "docstring", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return "(" in block


def signature(name: str, thing: Any) -> str:
    """As people read it: without `self`, one parameter a line if it is long."""
    found = inspect.signature(thing)
    parameters = [each for each in found.parameters.values() if each.name != "self"]
    shown: list[str] = []
    stars = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not stars:
            shown.append("*")
            stars = True
        shown.append(_parameter(each))
    awaited = "await " if inspect.iscoroutinefunction(thing) else ""
    entered = _entering(thing)
    answer = "" if inspect.isclass(thing) or entered else _answer(found)
    line = f"{entered}{awaited}{name}({', '.join(shown)}){answer}"
    if len(line) <= 100:
        return line
    inner = "".join(f"    {each},\n" for each in shown)
    return f"{entered}{awaited}{name}(\n{inner}){answer}"


def _entering(thing: Any) -> str:
    """What stands before the call of a context manager."""
    inner = inspect.unwrap(thing)
    if inspect.isasyncgenfunction(inner):
        return "async with "
    return "with " if inspect.isgeneratorfunction(inner) and inner is not thing else ""


def _parameter(each: inspect.Parameter) -> str:
    kind = _plain(each.annotation)
    if each.kind is each.VAR_KEYWORD:
        return f"**{each.name}" + ("" if kind in ("Any", "") else f": {kind}")
    text = each.name if kind in ("", "Any") else f"{each.name}: {kind}"
    if each.default is each.empty:
        return text
    default = "…" if each.default is msgspec.UNSET else repr(getattr(each.default, "value", each.default))
    return f"{text} = {default}" if kind not in ("", "Any") else f"{text}={default}"


def _plain(annotation: Any) -> str:
    """An annotation as it is written, in the words of the page."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    replaced = {
        "Callable[[AnyHandler], AnyHandler]": "decorator", "When": "str | timedelta | datetime | Schedule",
        "Unpack[JobFields]": "fields of a job", "Unpack[ManyJobs]": "which jobs", "Jobs": "list[JobView]",
        "Ids": "list[str]", "Runs": "list[RunView]", "Explained": "list[Why]", "AnyHandler": "function",
        "trigger.Backfill": "Backfill", "Handler": "function", "EventName": "str",
        "Time": "datetime | str | None",
    }  # fmt: skip
    for written, shown in replaced.items():
        text = re.sub(rf"(?<![\w.\[]){re.escape(written)}(?![\w\[])", shown, text)
    return text


def _answer(found: inspect.Signature) -> str:
    kind = _plain(found.return_annotation)
    return "" if kind in ("", "None") else f" → {kind}"


def _member(owner: type, name: str) -> Any:
    found = inspect.getattr_static(owner, name)
    # A cached property is one here.
    return property(found.func) if isinstance(found, functools.cached_property) else found


def _place(owner: type) -> Any:
    """In the order of the source; what is inherited comes after it."""
    order = [name for each in owner.__mro__ for name in vars(each)]
    return order.index


def _inherited(view: type[msgspec.Struct]) -> Sequence[str]:
    return JobSpec.__struct_fields__ if issubclass(view, JobSpec) else ()


def _described(field: msgspec.structs.FieldInfo) -> str:
    notes = msgspec.json.schema(msgspec.defstruct("Field", [(field.name, field.type)]))
    [struct] = notes["$defs"].values() if "Field" not in notes["$defs"] else [notes["$defs"]["Field"]]
    return str(struct["properties"][field.name].get("description", ""))


def _comments(owner: type) -> dict[str, str]:
    """What the comments `#: …` above attributes say."""
    lines = inspect.getsource(owner).splitlines()
    found: dict[str, str] = {}
    said: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("#:"):
            said.append(stripped[2:].strip())
        elif (match := re.match(r"(?:self\.)?(\w+): ", stripped)) and said:
            found[match[1]] = " ".join(said)
            said = []
        else:
            said = []
    return found


def _tree() -> str:
    """The tree in the docstring of `sexton.errors`."""
    assert errors.__doc__
    return errors.__doc__.split("\n\n")[1]


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    yield "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")
