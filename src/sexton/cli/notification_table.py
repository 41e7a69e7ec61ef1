"""The commands of notifications; part of the table of all commands."""

from __future__ import annotations

from sexton.cli.table import Command, Group

NOTIFICATION_GROUPS = {
    "notify": Group(
        "Send messages at the right local time, and see why they went when they went.",
        {
            "send": Command("sexton.cli.notify:send", "Schedule a message."),
            "list": Command("sexton.cli.notify:list_", "List messages, the latest first."),
            "show": Command("sexton.cli.notify:show", "Show a message."),
            "why": Command("sexton.cli.notify:why", "Say why a message went when it went, or did not."),
            "cancel": Command("sexton.cli.notify:cancel", "Call a message off that was not submitted."),
            "reschedule": Command("sexton.cli.notify:reschedule", "Send a message at another time."),
            "resend": Command(
                "sexton.cli.notify:resend", "Send a message again that is unconfirmed or has failed."
            ),
            "confirm": Command("sexton.cli.notify:confirm", "Count a message as sent that is unconfirmed."),
            "schedules": Command(
                "sexton.cli.recurring:list_", "List notifications that recur, with their next times."
            ),
            "show-schedule": Command("sexton.cli.recurring:show", "Show a notification that recurs."),
            "add-schedule": Command(
                "sexton.cli.recurring:add", "Notify again and again, at local times, by a rule."
            ),
            "change-schedule": Command("sexton.cli.recurring:change", "Change a notification that recurs."),
            "pause-schedule": Command("sexton.cli.recurring:pause", "Pause a notification that recurs."),
            "resume-schedule": Command(
                "sexton.cli.recurring:resume", "Resume a notification that recurs, with its next time."
            ),
            "delete-schedule": Command(
                "sexton.cli.recurring:delete",
                "Delete a notification that recurs; its messages stay.",
            ),
            "settings": Command(
                "sexton.cli.notify:settings",
                "Decide what holds for all messages, or show it.",
            ),
        },
    ),
    "recipients": Group(
        "Say who gets messages: addresses, zones, quiet hours.",
        {
            "set": Command("sexton.cli.recipients:set_", "Make a recipient, or change some of her fields."),
            "list": Command("sexton.cli.recipients:list_", "List recipients in the order of their ids."),
            "show": Command("sexton.cli.recipients:show", "Show a recipient."),
            "import": Command(
                "sexton.cli.recipients:import_recipients",
                "Make or change many recipients from JSON lines or CSV.",
            ),
            "export": Command(
                "sexton.cli.recipients:export", "Print all that is known of a recipient, as JSON."
            ),
            "erase": Command(
                "sexton.cli.recipients:erase",
                "Erase all traces of a person. The audit keeps that it was done.",
            ),
        },
    ),
    "templates": Group(
        "Write the texts of messages.",
        {
            "put": Command("sexton.cli.templates:put", "Make the next version of a template."),
            "list": Command("sexton.cli.templates:list_", "List templates with their latest versions."),
            "show": Command("sexton.cli.templates:show", "Show a template."),
            "versions": Command(
                "sexton.cli.templates:versions", "List the versions of a template, the latest first."
            ),
            "preview": Command(
                "sexton.cli.templates:preview", "Show a template as a recipient would get it."
            ),
            "test": Command("sexton.cli.templates:try_", "Send a test message at once."),
            "delete": Command(
                "sexton.cli.templates:delete",
                "Delete a template. Messages that were made with it still go out.",
            ),
        },
    ),
    "providers": Group(
        "Say who sends notifications, and try it out.",
        {
            "list": Command("sexton.cli.providers:list_", "List providers, and how they are doing."),
            "set": Command("sexton.cli.providers:set_", "Configure a provider, or change it."),
            "show": Command("sexton.cli.providers:show", "Show a provider; secrets by their names."),
            "remove": Command("sexton.cli.providers:remove", "Remove a provider."),
            "test": Command(
                "sexton.cli.providers:try_out", "Reach a provider, or send a test message with it."
            ),
        },
    ),
    "campaigns": Group(
        "Send a template to many recipients, at their local time.",
        {
            "create": Command("sexton.cli.campaigns:create", "Make a campaign."),
            "list": Command("sexton.cli.campaigns:list_", "List campaigns, the latest first."),
            "check": Command(
                "sexton.cli.campaigns:check",
                "Check a campaign: how many, when, who cannot be reached.",
            ),
            "start": Command(
                "sexton.cli.campaigns:start", "Start a campaign: at its time, or at once if it has none."
            ),
            "pause": Command("sexton.cli.campaigns:pause", "Pause a campaign: no batch begins any more."),
            "resume": Command(
                "sexton.cli.campaigns:resume",
                "Resume a campaign that is paused, late, or at its canary.",
            ),
            "cancel": Command("sexton.cli.campaigns:cancel", "Cancel a campaign: nothing more goes out."),
            "resend": Command(
                "sexton.cli.campaigns:resend", "Send again what is unconfirmed: it may arrive twice."
            ),
            "confirm": Command("sexton.cli.campaigns:confirm", "Count as sent what is unconfirmed."),
            "status": Command(
                "sexton.cli.campaigns:status", "Show how a campaign stands; with --watch, as it goes."
            ),
        },
    ),
    "segments": Group(
        "Save filters on recipients, for campaigns.",
        {
            "put": Command("sexton.cli.audiences:put_segment", "Save a filter on recipients under a name."),
            "list": Command("sexton.cli.audiences:list_segments", "List segments by name."),
            "show": Command(
                "sexton.cli.audiences:show_segment", "Show a segment, and how many recipients meet it."
            ),
            "delete": Command(
                "sexton.cli.audiences:delete_segment",
                "Delete a segment. Campaigns whose ledger is written keep it.",
            ),
        },
    ),
    "audiences": Group(
        "Upload lists of recipients, for campaigns.",
        {
            "upload": Command(
                "sexton.cli.audiences:upload", "Upload a list of recipients, instead of the one before."
            ),
            "list": Command("sexton.cli.audiences:list_audiences", "List uploaded lists by name."),
            "show": Command(
                "sexton.cli.audiences:show_audience", "Show how many recipients an uploaded list names."
            ),
            "delete": Command(
                "sexton.cli.audiences:delete_audience",
                "Delete an uploaded list. Campaigns whose ledger is written keep it.",
            ),
        },
    ),
    "digests": Group(
        "Gather events of a recipient, and send them as one message.",
        {
            "put": Command("sexton.cli.digests:put", "Make a digest, or change it."),
            "list": Command("sexton.cli.digests:list_", "List digests by name."),
            "show": Command("sexton.cli.digests:show", "Show a digest."),
            "add": Command("sexton.cli.digests:add", "Add an event to the next digest of a recipient."),
            "delete": Command(
                "sexton.cli.digests:delete",
                "Delete a digest. What has been gathered is sent at its time.",
            ),
        },
    ),
    "sequences": Group(
        "Send messages with waits between them, until an event comes.",
        {
            "put": Command("sexton.cli.sequences:put", "Make a sequence, or change it."),
            "list": Command("sexton.cli.sequences:list_", "List sequences by name."),
            "show": Command("sexton.cli.sequences:show", "Show a sequence with its steps."),
            "enter": Command(
                "sexton.cli.sequences:enter",
                "Let a recipient enter a sequence: each step becomes a message.",
            ),
            "member": Command(
                "sexton.cli.sequences:member", "Show a recipient in a sequence, with her messages."
            ),
            "leave": Command(
                "sexton.cli.sequences:leave",
                "Stop a sequence for a recipient: what was not submitted is cancelled.",
            ),
            "event": Command(
                "sexton.cli.sequences:event",
                "Tell of something that a recipient did: sequences that stop on it end.",
            ),
            "delete": Command(
                "sexton.cli.sequences:delete",
                "Delete a sequence. Those who have entered it keep their messages.",
            ),
        },
    ),
}
