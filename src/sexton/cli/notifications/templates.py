"""`sexton templates`: the texts of messages."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import routes
from sexton.cli import many
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import Yes, pair, read_object, read_text, short_time, show_fields

Variables = Annotated[tuple[str, ...], Parameter(name="--var", help="A value: name=value. Repeatable.")]


@command(
    routes.PUT_TEMPLATE,
    without=("email", "sms", "push", "in_app", "others", "variables"),
)
def put(
    ask: Ask,
    file: Annotated[
        str | None, Parameter(help="The texts as JSON, or @FILE: what PUT /templates takes.")
    ] = None,
    /,
    *,
    subject: Annotated[str | None, Parameter(help="Subject of the e-mail.")] = None,
    text: Annotated[str | None, Parameter(help="Plain text of the e-mail, or @FILE.")] = None,
    html: Annotated[str | None, Parameter(help="HTML of the e-mail, or @FILE.")] = None,
    sms: Annotated[str | None, Parameter(help="The text of the SMS.")] = None,
) -> int:
    """Make the next version of a template.

    sexton templates put hello --subject 'Hello' --text 'Hello {{ name }}' --sms 'Hi {{ name }}'
    """
    body = read_object(file, "file")
    if subject is not None:
        parts = {name: read_text(each, name) for name, each in (("text", text), ("html", html)) if each}
        body["email"] = {"subject": subject, **parts}
    if sms is not None:
        body["sms"] = {"text": sms}
    return ask.shown(show, **body)


@command(routes.PREVIEW_TEMPLATE, without=("template_vars",))
def preview(ask: Ask, *, var: Variables = ()) -> int:
    """Show a template as a recipient would get it.

    sexton templates preview hello --channel sms --var name=Ann
    """

    def view(found: list[dict[str, Any]]) -> None:
        out = console()
        for number, each in enumerate(found):
            if number:
                write(out, "")
            length = ""
            if each.get("sms_length") is not None:
                segments = f"{each['sms_segments']} segments ({each['sms_encoding']})"
                length = f", {each['sms_length']} characters, {segments}"
            write(out, f"{each['channel']} ({each['locale']}{length})", "bold")
            for name, text in each["parts"].items():
                write(out, f"{name}: {text}")

    return ask.shown(view, template_vars=_values(var))


@command(routes.TRY_TEMPLATE, without=("template_vars", "address"))
def try_(
    ask: Ask,
    *,
    address: Annotated[str | None, Parameter(help="Address to send to. Default: that of --user-id.")] = None,
    var: Variables = (),
) -> int:
    """Send a test message at once.

    sexton templates test hello --channel email --address ann@example.org
    """
    more = {} if address is None else {"address": address}
    return ask.shown(
        lambda found: write(
            console(), f"{found['notification_id']} is sent: sexton notify why {found['notification_id']}"
        ),
        template_vars=_values(var),
        **more,
    )


@command(routes.DELETE_TEMPLATE, chosen=routes.TemplateActionFilter)
def delete(
    ask: Ask,
    template: Annotated[
        str | None, Parameter(help="The template's id. Without one: all that match a filter.")
    ] = None,
    /,
    *,
    dry_run: many.DryRun = False,
    yes: Yes = False,
) -> int:
    """Delete templates. Messages that were made with them still go out.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """

    def view(_: Any) -> None:
        write(console(), f"{template} is deleted")

    return many.act_alike(ask, template, "delete", view, many.TEMPLATES, yes=yes, dry_run=dry_run)


@command(routes.ACT_ON_TEMPLATES, without=many.HOW)
def restore(ask: Ask, template: Annotated[str, Parameter(help="The template's id.")], /) -> int:
    """Restore a template that was deleted."""
    return many.act_on_one(ask, "restore", many.TEMPLATES, template)


def _values(given: tuple[str, ...]) -> dict[str, str]:
    return dict(pair(each, "=", "var", "name=Ann") for each in given)


def show(found: dict[str, Any]) -> None:
    out = console()
    write(out, f"{found['template_id']}, version {found['version']} of {found['latest_version']}", "bold")
    names = ("variables", "urgency", "expires_seconds", "topic", "created_by", "created_at")
    show_fields(out, [(name, found[name]) for name in names])
    for locale, channels in found["locales"].items():
        for channel, parts in channels.items():
            write(out, f"\n{channel} ({locale})", "bold")
            for name, text in parts.items():
                write(out, f"{name}: {text}")


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("template", "version", "languages", "channels", "changed", elastic=("template",))
    for each in found:
        channels = sorted({channel for texts in each["locales"].values() for channel in texts})
        languages = ", ".join(each["locales"])
        cells = (str(each["version"]), languages, ", ".join(channels), short_time(each["created_at"]))
        table.add(each["template_id"], *cells)
    table.print(none="No templates: sexton templates put makes one.")


def show_versions(found: list[dict[str, Any]]) -> None:
    table = Table("version", "languages", "by", "at")
    for each in found:
        table.add(
            str(each["version"]),
            ", ".join(each["locales"]),
            each["created_by"],
            short_time(each["created_at"]),
        )
    table.print()
