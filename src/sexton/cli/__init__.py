"""The command `sexton`.

Exit codes, fixed:

    0    done
    1    not done: what was asked for is not there, the server does not answer, or the answer is no
         (`diff --exit-code` found a difference, `runs wait` saw no success, `status` a trouble)
    2    refused: wrong usage, or a field, schedule or time that cannot be read
    130  interrupted

Answers go to the standard output, everything else to the standard error. With `--json` an error is also
answered as one object, `{"error": {"code", "message", …}}`; `next --jsonl` answers a bad line like that, goes
on, and ends with 0.

The commands are a literal table, loaded when called; the overview is printed from the table alone, because
importing the command line library takes half of the 150 ms that `sexton --help` may take.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, NoReturn

from sexton import __version__
from sexton.cli.notifications.table import NOTIFICATION_GROUPS
from sexton.cli.table import Command, Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App, CycloptsError

DONE, NOT_DONE, REFUSED, INTERRUPTED = 0, 1, 2, 130


COMMANDS = {
    "up": Command("engine.up:up", "Start Sexton on this machine."),
    "demo": Command("demo.command:demo", "Start Sexton with example data, to look around."),
    "stop": Command("engine.stop:stop", "Stop the Sexton that this user started with sexton up."),
    "status": Command("engine.status:status", "Show the state: nodes, shards, waiting runs, dead letters."),
    "cluster": Command(
        "engine.cluster:cluster", "Show the cluster: nodes, who leads which shards, the elector."
    ),
    "drain": Command("engine.cluster:drain", "Drain a node: it hands over its shards and finishes its runs."),
    "login": Command("security.people:login", "Print a link that signs a browser in, once."),
    "whoami": Command("security.people:whoami", "Say who you are to the server, and what you may do."),
    "why": Command("runs.why:why", "Say what became of each occurrence of a job, and why."),
    "import": Command("jobs.bulk:import_jobs", "Make many jobs from a file with one JSON object per line."),
    "next": Command(
        "schedules.schedules:next_occurrences", "Show when a schedule fires next, in words and as a table."
    ),
    "diff": Command("schedules.schedules:diff", "Show where two schedules differ in a range of time."),
    "migrate": Command("engine.migrate:migrate", "Bring the database's tables up to date."),
    "reshard": Command("engine.reshard:reshard", "Change the number of shards."),
    "doctor": Command("engine.doctor:doctor", "Examine the database and the settings, and say what to fix."),
    "node": Command("engine.node:node", "Run one node in the given roles until it is told to stop."),
}

GROUPS = {
    "jobs": Group(
        "Make, look at and change jobs.",
        {
            "add": Command("jobs.jobs:add", "Make a job."),
            "list": Command("jobs.jobs:list_", "List jobs."),
            "show": Command("plain:GET_JOB", "Show a job."),
            "next": Command("jobs.jobs:next_", "Show when a job fires next."),
            "edit": Command("jobs.jobs:edit", "Change some fields of a job; the others stay."),
            "pause": Command("jobs.jobs:pause", "Pause jobs: nothing fires until they are resumed."),
            "resume": Command("jobs.jobs:resume", "Resume paused jobs."),
            "label": Command(
                "jobs.jobs:label", "Give jobs labels, beside those they have, or take some away."
            ),
            "reschedule": Command("jobs.jobs:reschedule", "Move a job's next run to another time."),
            "skip": Command("jobs.jobs:skip", "Skip the next occurrence of a job."),
            "run": Command("jobs.jobs:run", "Run jobs now, beside their schedules."),
            "backfill": Command("jobs.jobs:backfill", "Run the occurrences of a range in the past."),
            "delete": Command("jobs.jobs:delete", "Delete jobs. Their history stays."),
            "restore": Command("jobs.jobs:restore", "Restore jobs that were deleted."),
        },
    ),
    "runs": Group(
        "Look at runs, wait for them, cancel them, run them again.",
        {
            "list": Command("runs.runs:list_", "List runs: live ones first, then the latest."),
            "show": Command("runs.runs:show", "Show a run with its attempts, log, progress and result."),
            "wait": Command("runs.runs:wait", "Wait until a run ends. Exit code 0 for success, else 1."),
            "cancel": Command("runs.runs:cancel", "Cancel runs; workers are asked to stop those that run."),
            "again": Command("runs.runs:again", "Run ended runs again, with the payloads that they had."),
        },
    ),
    "dead": Group(
        "Look at dead letters, run them again, discard them.",
        {
            "list": Command("runs.dead:list_", "List dead letters, the latest first."),
            "show": Command("runs.dead:show", "Show a dead letter with its payload and attempts."),
            "target": Command("runs.dead:target", "Show or set where dead letters are sent as well."),
            "redrive": Command("runs.dead:redrive", "Run dead letters again."),
            "discard": Command(
                "runs.dead:discard", "Discard dead letters. The history keeps that they died."
            ),
        },
    ),
    "queues": Group(
        "Look at queues, limit them, pause them.",
        {
            "list": Command("jobs.queues:list_", "List queues with their limits and what waits in them."),
            "show": Command(
                "jobs.queues:show", "Show a queue: its limits, whether it is paused, what waits."
            ),
            "set": Command(
                "jobs.queues:set_", "Limit a queue: runs at a time, runs per key, starts per second."
            ),
            "pause": Command("jobs.queues:pause", "Pause a queue: its runs wait until it is resumed."),
            "resume": Command("jobs.queues:resume", "Resume a paused queue."),
        },
    ),
    "content": Group(
        "Publish, unpublish and archive entities at a local time.",
        {
            "schedule": Command(
                "content.schedules:schedule", "Plan an action on an entity, once or by a rule."
            ),
            "window": Command(
                "content.schedules:window", "Publish an entity at one time, unpublish it at another."
            ),
            "release": Command("content.releases:release", "Plan actions that go out together."),
            "releases": Command("content.releases:releases", "List releases, in the order of their time."),
            "check": Command(
                "content.releases:check", "Check a release: what would fail if it went out now?"
            ),
            "add-items": Command("content.releases:add_items", "Add actions at the end of a release."),
            "remove-item": Command("content.releases:remove_item", "Remove an action from a release."),
            "list": Command("content.schedules:list_", "List planned actions in the order of their time."),
            "show": Command("content.schedules:show", "Show a planned action, and how it was carried out."),
            "calendar": Command(
                "content.calendar:calendar", "Show a month or a week: what is planned, and what happened."
            ),
            "reschedule": Command("content.schedules:reschedule", "Move an action to another time."),
            "cancel": Command("content.schedules:cancel", "Cancel a planned action."),
            "skip": Command("content.schedules:skip", "Skip the next time of a series."),
            "run": Command("content.schedules:run", "Carry out an action now."),
            "approve": Command("content.schedules:approve", "Approve an action that needs approval."),
            "occurrences": Command(
                "content.schedules:occurrences",
                "List the times of an action, with those before and after each.",
            ),
            "executions": Command("content.schedules:executions", "List what was carried out, and how."),
            "entities": Command(
                "content.schedules:entities", "List entities, show one, or make its next version."
            ),
            "import": Command("content.bulk:import_content", "Plan many actions from JSON lines or CSV."),
            "feeds": Command("content.schedules:feeds", "List calendar feeds, without their addresses."),
            "add-feed": Command(
                "content.schedules:add_feed", "Make a calendar feed: an address for your own calendar."
            ),
            "revoke-feed": Command(
                "content.schedules:revoke_feed", "Revoke a calendar feed: its address answers no more."
            ),
            "adapters": Command(
                "content.settings:adapters", "List the adapters that were configured, or show one."
            ),
            "set-adapter": Command(
                "content.settings:set_adapter", "Configure an adapter, or change its configuration."
            ),
            "remove-adapter": Command(
                "content.settings:remove_adapter", "Remove an adapter: what is planned with it fails."
            ),
            "notices": Command(
                "content.settings:notices", "Show where authors are told what became of their content."
            ),
            "set-notices": Command(
                "content.settings:set_notices", "Send signed webhooks that tell what became of content."
            ),
            "remove-notices": Command("content.settings:remove_notices", "Stop sending notices."),
        },
    ),
    **NOTIFICATION_GROUPS,
    "keys": Group(
        "Make, list, rotate and revoke API keys.",
        {
            "create": Command("security.access:create_key", "Make an API key."),
            "list": Command("security.access:list_keys", "List API keys, without their texts."),
            "rotate": Command(
                "security.access:rotate_key", "Make a new key like this one; both are good for a while."
            ),
            "revoke": Command(
                "security.access:revoke_key", "Revoke an API key: it is refused within two seconds."
            ),
        },
    ),
    "namespaces": Group(
        "Make namespaces, look at them, set their quotas.",
        {
            "create": Command("security.access:create_namespace", "Make a namespace."),
            "list": Command("security.access:list_namespaces", "List the namespaces that you may see."),
            "show": Command(
                "security.access:show_namespace", "Show a namespace: its quotas, and what it uses."
            ),
            "set": Command("security.access:set_namespace", "Set quotas of a namespace."),
        },
    ),
    "sessions": Group(
        "See which browsers are signed in, and sign them out.",
        {
            "list": Command("security.people:list_", "List browsers that are signed in."),
            "end": Command(
                "security.people:end", "End a session: its browser is signed out within two seconds."
            ),
            "end-all": Command("security.people:end_all", "End all your sessions, or those of one person."),
        },
    ),
    "audit": Group(
        "See who changed what, export it, verify it.",
        {
            "list": Command("security.audit:list_", "List changes, the latest first."),
            "export": Command("security.audit:export", "Write all changes to the standard output."),
            "verify": Command(
                "security.audit:verify", "Check that the audit is complete and was not changed."
            ),
        },
    ),
    "bench": Group(
        "Measure how fast Sexton is on this machine.",
        {
            "hot-second": Command(
                "bench.command:hot_second", "Run many jobs that are due at the same instant."
            ),
            "steady": Command(
                "bench.command:steady", "Fire at a constant rate and measure how late runs start."
            ),
            "size": Command("bench.command:size", "Measure what very many jobs cost."),
            "campaign": Command("bench.command:campaign", "Send a campaign to very many recipients."),
            "content": Command(
                "bench.command:content", "Plan very many actions on content, and carry many out at once."
            ),
            "console": Command(
                "bench.command:console_pages", "Ask what the pages of the console ask, over very many jobs."
            ),
        },
    ),
    "calendar": Group(
        "Give your own calendar what is planned.",
        {
            "feeds": Command("runs.calendar:feeds", "List feeds of the calendar, without their addresses."),
            "add-feed": Command(
                "runs.calendar:add_feed", "Make a feed of what is planned: an address for your own calendar."
            ),
            "revoke-feed": Command(
                "runs.calendar:revoke_feed", "Revoke a feed of the calendar: its address answers no more."
            ),
        },
    ),
    "targets": Group(
        "Try out what runs do.",
        {
            "test": Command(
                "jobs.targets:send_test", "Send a test: carry out a target once, and show the result."
            ),
        },
    ),
    "secret": Group(
        "Secrets that targets name, and the one that webhooks are signed with.",
        {
            "set": Command("security.secret:set_", "Store a secret, read from the standard input."),
            "list": Command("security.secret:list_", "List the names of secrets. No value is shown."),
            "delete": Command("security.secret:delete", "Delete a secret."),
            "key": Command("security.secret:key", "Make a key for SEXTON_SECRET_KEY."),
            "rekey": Command("security.secret:rekey", "Encrypt every secret with a new key."),
            "show": Command("security.secret:show", "Show the secret that webhooks are signed with."),
            "rotate": Command(
                "security.secret:rotate", "Make a new secret; the old one stays valid for a while."
            ),
        },
    ),
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = run(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`sexton next … | head`): nothing is wrong, and there is no reader to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    sys.exit(code)


def run(tokens: list[str]) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a dash must not turn an answer into a traceback.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    if tokens in ([], ["--help"], ["-h"]):
        print(_overview())
        return DONE
    if tokens and tokens[0] in GROUPS and tokens[1:] in ([], ["--help"], ["-h"]):
        print(_group_overview(tokens[0]))
        return DONE
    if tokens == ["--version"]:
        print(__version__)
        return DONE

    import zoneinfo

    from cyclopts import CycloptsError

    from sexton.cli.output import RefusedError, show_error, show_refusal, show_usage_error
    from sexton.errors import InvalidField, SextonError

    # Every node must use the tzdata wheel: the operating system's copy may be older on one than on another.
    zoneinfo.reset_tzpath(to=())
    try:
        result = app()(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        hint = f"sexton {_command_of(tokens)}--help shows what it takes"
        show_usage_error(_usage_message(error), hint, as_json="--json" in tokens)
        return REFUSED
    except RefusedError as refused:
        show_refusal(refused, as_json="--json" in tokens)
        return REFUSED
    except SextonError as error:
        show_error(error, as_json="--json" in tokens)
        return REFUSED if isinstance(error, InvalidField) else NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


def _usage_message(error: CycloptsError) -> str:
    from cyclopts import UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"one argument too many: {error.unused_tokens[0]}"
    return str(error)


def _command_of(tokens: list[str]) -> str:
    """The words of the command that was meant, as far as there is one: `jobs add `."""
    first, second = (*tokens, "", "")[:2]
    if first in GROUPS:
        return f"{first} {second} " if second in GROUPS[first].commands else f"{first} "
    return f"{first} " if first in COMMANDS else ""


def app() -> App:
    """All commands, none of them loaded yet."""
    from cyclopts import App, Parameter

    root = App(
        name="sexton",
        help="A distributed scheduler.",
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for name, command in COMMANDS.items():
        root.command(f"sexton.cli.{command.path}", name=name)
    for name, group in GROUPS.items():
        part = App(name=name, help=group.summary)
        for verb, command in group.commands.items():
            part.command(f"sexton.cli.{command.path}", name=verb)
        root.command(part)
    root.register_install_completion_command(help="Complete commands and options with the Tab key.")
    return root


def _overview() -> str:
    commands = "\n".join(f"  {name:<9}{command.summary}" for name, command in COMMANDS.items())
    groups = "\n".join(
        textwrap.fill(
            ", ".join(group.commands), 79, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14
        )
        for name, group in GROUPS.items()
    )
    return f"""\
Usage: sexton COMMAND

A distributed scheduler: fires every job on time in its own time zone.

Commands:
{commands}

Commands of several parts, like sexton jobs list:
{groups}

Options:
  --help     Show this, or what a command takes: sexton COMMAND --help
  --version  Show the version.
  --install-completion  Complete commands and options with the Tab key.

Environment:
  SEXTON_URL      The server. Default: the one running on this machine.
  SEXTON_API_KEY  The key it needs, if it needs one.
  SEXTON_NAMESPACE  Whose jobs, where the key may see several namespaces.

Exit codes:
  0    done
  1    not done, or `diff --exit-code` found a difference
  2    refused: wrong usage, or a schedule or time that cannot be read
  130  interrupted"""


def _group_overview(name: str) -> str:
    group = GROUPS[name]
    width = max(map(len, group.commands)) + 2
    commands = "\n".join(f"  {verb:<{width}}{command.summary}" for verb, command in group.commands.items())
    return f"""\
Usage: sexton {name} COMMAND

{group.summary}

Commands:
{commands}

  sexton {name} COMMAND --help shows what a command takes."""
