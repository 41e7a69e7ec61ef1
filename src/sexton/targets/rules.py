"""What is refused of a target when its job is made, so that no run fails for it at night."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from sexton.connections.address import Address
from sexton.connections.scheme import examples
from sexton.errors import InvalidField
from sexton.refusal import check_text
from sexton.security.placeholder import SECRET_PLACE, SecretRef, check_secret_name, secret_names
from sexton.targets.http.rules import check_http
from sexton.targets.spec import (
    CeleryTarget,
    MessageTarget,
    ShellTarget,
    Target,
)
from sexton.targets.template import RUN_NAMES, check_template

HINT = (
    'write {"handler": "name"}, {"http": {"url": "https://…"}}, {"message": {…}}, {"celery": {…}} '
    'or {"shell": {"command": […]}}'
)
LARGEST_SCRIPT = 64 * 1024
LONGEST_WAIT = 366 * 86_400
# SQS takes ten attributes; Sexton has seven of its own.
MOST_HEADERS = {"sqs": 3}

# What stands for a secret while an address is looked at; it can also be a port.
HIDDEN = "1"

# What the templates of a dead_letter_target find as their payload.
LETTER = dict.fromkeys(
    ("run_id", "job_id", "job_name", "died_at", "reason", "error", "error_group", "scheduled_at", "trigger",
     "missed", "attempt", "idempotency_key", "parent_run", "payload"),
    "",
)  # fmt: skip


def check_target(target: Target, payload: Any, field: str = "target") -> None:
    """That it is of one kind, and can be carried out."""
    given = [name for name in target.__struct_fields__ if getattr(target, name) is not None]
    if len(given) != 1:
        kinds = target.__struct_fields__
        what = f"both {' and '.join(given)}" if given else f"none of {', '.join(kinds)}"
        raise InvalidField("bad_target", f"the target has {what}", field=field, hint=HINT)
    if target.handler is not None:
        check_text(target.handler, f"{field}.handler", 200)
    elif target.http is not None:
        check_http(target.http, f"{field}.http")
    elif target.message is not None:
        _check_message(target.message, payload, f"{field}.message")
    elif target.celery is not None:
        _check_celery(target.celery, payload, f"{field}.celery")
    elif target.shell is not None:
        _check_shell(target.shell, f"{field}.shell")


def check_dead_letter_target(target: Target) -> Target:
    """An http or message target that says at once whether it has the letter."""
    field = "dead_letter_target"
    if target.kind not in ("http", "message"):
        raise InvalidField(
            "bad_target",
            f"dead letters are not taken to a {target.kind}",
            field=field,
            hint='write {"http": {"url": "https://…"}} or {"message": {…}}',
        )
    check_target(target, LETTER, field)
    if "async" in (target.http and target.http.mode, target.message and target.message.mode):
        raise InvalidField(
            "bad_mode",
            "nobody reports later of a dead letter",
            field=f"{field}.{target.kind}.mode",
            hint="leave it out",
        )
    return target


def _check_message(message: MessageTarget, payload: Any, field: str) -> None:
    _check_address(message.url, message.broker, f"{field}.url")
    for name, template in (("topic", message.topic), ("key", message.key)):
        if template is not None:
            check_text(template, f"{field}.{name}", 500)
            _check_places(template, payload, f"{field}.{name}")
    most = MOST_HEADERS.get(message.broker, 50)
    if len(message.headers) > most:
        raise InvalidField(
            "too_many",
            f"{message.broker} takes {most} headers beside those of Sexton",
            field=f"{field}.headers",
            hint="leave some out, or put them into the payload",
        )
    for name, value in message.headers.items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
            raise InvalidField(
                "bad_header",
                f"{name!r} is not the name of a header",
                field=f"{field}.headers",
                hint="use letters, digits, dots, dashes and underscores",
            )
        if name.lower().startswith("sexton-") or name.lower() == "idempotency-key":
            raise InvalidField(
                "bad_header", f"{name} is set by Sexton", field=f"{field}.headers", hint="leave it out"
            )
        if value:
            check_text(value, f"{field}.headers.{name}", 2000)
            _check_places(value, payload, f"{field}.headers.{name}")
    if message.exchange:
        check_text(message.exchange, f"{field}.exchange", 255)
    if message.wait_seconds is not None:
        if message.mode != "async":
            raise InvalidField(
                "bad_mode",
                "wait_seconds is for the asynchronous mode",
                field=f"{field}.wait_seconds",
                hint='add "mode": "async", or leave it out',
            )
        if not 1 <= message.wait_seconds <= LONGEST_WAIT:
            raise InvalidField(
                "out_of_range",
                f"wait_seconds is {message.wait_seconds}",
                field=f"{field}.wait_seconds",
                hint=f"give a number from 1 to {LONGEST_WAIT}",
            )
    for name, broker, default in (("exchange", "rabbitmq", ""), ("redis_type", "redis", "stream")):
        if message.broker != broker and getattr(message, name) != default:
            raise InvalidField(
                "bad_target",
                f"{name} is for {broker}, not for {message.broker}",
                field=f"{field}.{name}",
                hint="leave it out",
            )


def _check_celery(celery: CeleryTarget, payload: Any, field: str) -> None:
    _check_address(celery.url, celery.broker, f"{field}.url")
    check_text(celery.task, f"{field}.task", 500)
    check_text(celery.queue, f"{field}.queue", 255)
    for name, given in (("args", celery.args), ("kwargs", celery.kwargs)):
        each_text(given, partial(_check_places, payload=payload, field=f"{field}.{name}"))
    if celery.result_url is not None:
        _check_address(celery.result_url, "redis", f"{field}.result_url")
        if not celery.wait:
            raise InvalidField(
                "bad_target",
                "result_url is given, but nothing waits for the result",
                field=f"{field}.wait",
                hint='add "wait": true',
            )
    elif celery.wait and celery.broker != "redis":
        raise InvalidField(
            "bad_target",
            "waiting for a result needs the application's Redis result backend",
            field=f"{field}.result_url",
            hint='add "result_url": "redis://host:6379/0"',
        )


def _check_shell(shell: ShellTarget, field: str) -> None:
    if (shell.command is None) == (shell.script is None):
        raise InvalidField(
            "bad_target",
            "it takes either a command or a script",
            field=f"{field}.command",
            hint='write "command": ["program", "argument"]',
        )
    if shell.command is not None:
        if not shell.command or not shell.command[0].strip() or len(shell.command[0]) > 200:
            raise InvalidField(
                "bad_target",
                "the command has no program, or one with more than 200 characters",
                field=f"{field}.command",
                hint='write "command": ["program", "argument"]',
            )
        if len(shell.command) > 1000 or sum(map(len, shell.command)) > LARGEST_SCRIPT:
            raise InvalidField(
                "too_long",
                f"the command has more than 1000 words or {LARGEST_SCRIPT} characters",
                field=f"{field}.command",
                hint="pass the data in the payload: the command gets it on its standard input",
            )
    else:
        check_text(shell.script or "", f"{field}.script", LARGEST_SCRIPT)
    for name, value in shell.environment.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name) or name.startswith("SEXTON_"):
            raise InvalidField(
                "bad_environment",
                f"{name!r} cannot be the name of a variable here",
                field=f"{field}.environment",
                hint="use letters, digits and underscores; SEXTON_… is set by Sexton",
            )
        secret_names(value, f"{field}.environment.{name}")
    for words in (*(shell.command or ()), *shell.environment.values(), shell.directory or ""):
        if "\0" in words:
            raise InvalidField("nul_character", "it has a NUL character", field=field, hint="remove it")
    if shell.directory is not None and not shell.directory.startswith("/"):
        raise InvalidField(
            "bad_target",
            f"{shell.directory!r} is not an absolute path",
            field=f"{field}.directory",
            hint="write /srv/reports",
        )
    for name in ("success_codes", "permanent_codes"):
        codes = getattr(shell, name)
        if not all(0 <= code <= 255 for code in codes or ()):
            raise InvalidField(
                "out_of_range", f"{name} is {codes}", field=f"{field}.{name}", hint="list codes from 0 to 255"
            )


def _check_address(url: str | SecretRef, broker: str, field: str) -> None:
    """An address, a secret that holds one, or an address in which secrets have their places."""
    if isinstance(url, SecretRef):
        check_secret_name(url.secret, f"{field}.secret")
        return
    check_text(url, field, 2048)
    if SECRET_PLACE.fullmatch(url):
        secret_names(url, field)
        return
    secret_names(url, field)
    known = examples("message", broker)
    if url.partition("://")[0] not in known or re.search(r"[\s\\]", url):
        raise InvalidField(
            "bad_url",
            f"this is not the address of a {broker}",
            field=field,
            hint=f"write {', '.join(known.values())}",
        )
    address = Address.read(SECRET_PLACE.sub(HIDDEN, url), field=field)
    # Of a NATS without a password, the user is a token.
    shown = address.user if broker == "nats" and address.password is None else address.password
    if shown not in (None, "", HIDDEN, "guest"):
        raise InvalidField(
            "bad_url",
            "the address holds a password that everybody who sees the job would see",
            field=field,
            hint='keep it as a secret: sexton secret set NAME, then {"secret": "NAME"} or ${secret:NAME}',
        )


def _check_places(template: str, payload: Any, field: str) -> None:
    secret_names(template, field)
    check_template(SECRET_PLACE.sub("", template) or "x", payload, field=field, names=RUN_NAMES)


def each_text(value: Any, visit: Callable[[str], object]) -> None:
    """Every text inside a JSON value."""
    match value:
        case str():
            visit(value)
        case list():
            for item in value:
                each_text(item, visit)
        case dict():
            for item in value.values():
                each_text(item, visit)
