"""The commands of notifications; part of the table of all commands."""

from __future__ import annotations

from sexton.cli.table import Command, Group

NOTIFICATION_GROUPS = {
    "notify": Group(
        "Send messages at the right local time, and see why they went when they went.",
        {
            "send": Command("notifications.notify:send", "Schedule a message."),
            "list": Command("notifications.notify:list_", "List messages, the latest first."),
            "show": Command("notifications.notify:show", "Show a message."),
            "why": Command("notifications.notify:why", "Say why a message went when it went, or did not."),
            "cancel": Command("notifications.notify:cancel", "Call messages off that were not submitted."),
            "reschedule": Command("notifications.notify:reschedule", "Send a message at another time."),
            "resend": Command(
                "notifications.notify:resend", "Send a message again that is unconfirmed or has failed."
            ),
            "confirm": Command(
                "notifications.notify:confirm", "Count a message as sent that is unconfirmed."
            ),
            "schedules": Command(
                "notifications.recurring:list_", "List notifications that recur, with their next times."
            ),
            "show-schedule": Command("notifications.recurring:show", "Show a notification that recurs."),
            "add-schedule": Command(
                "notifications.recurring:add", "Notify again and again, at local times, by a rule."
            ),
            "change-schedule": Command(
                "notifications.recurring:change", "Change a notification that recurs."
            ),
            "pause-schedule": Command("notifications.recurring:pause", "Pause a notification that recurs."),
            "resume-schedule": Command(
                "notifications.recurring:resume", "Resume a notification that recurs, with its next time."
            ),
            "delete-schedule": Command(
                "notifications.recurring:delete", "Delete a notification that recurs; its messages stay."
            ),
            "settings": Command(
                "notifications.notify:settings", "Decide what holds for all messages, or show it."
            ),
        },
    ),
    "recipients": Group(
        "Say who gets messages: addresses, zones, quiet hours.",
        {
            "set": Command(
                "notifications.recipients:set_", "Make a recipient, or change some fields of one."
            ),
            "list": Command("notifications.recipients:list_", "List recipients in the order of their ids."),
            "show": Command("notifications.recipients:show", "Show a recipient."),
            "import": Command(
                "notifications.recipients:import_recipients",
                "Make or change many recipients from JSON lines or CSV.",
            ),
            "export": Command(
                "notifications.recipients:export", "Print all that is known of a recipient, as JSON."
            ),
            "erase": Command(
                "notifications.recipients:erase",
                "Erase all traces of a person. The audit keeps that it was done.",
            ),
        },
    ),
    "templates": Group(
        "Write the texts of messages.",
        {
            "put": Command("notifications.templates:put", "Make the next version of a template."),
            "list": Command("notifications.templates:list_", "List templates with their latest versions."),
            "show": Command("notifications.templates:show", "Show a template."),
            "versions": Command(
                "notifications.templates:versions", "List the versions of a template, the latest first."
            ),
            "preview": Command(
                "notifications.templates:preview", "Show a template as a recipient would get it."
            ),
            "test": Command("notifications.templates:try_", "Send a test message at once."),
            "delete": Command(
                "notifications.templates:delete",
                "Delete a template. Messages that were made with it still go out.",
            ),
        },
    ),
    "providers": Group(
        "Say who sends notifications, and try it out.",
        {
            "list": Command("notifications.providers:list_", "List providers, and how they are doing."),
            "set": Command("notifications.providers:set_", "Configure a provider, or change it."),
            "show": Command("notifications.providers:show", "Show a provider; secrets by their names."),
            "remove": Command("notifications.providers:remove", "Remove a provider."),
            "test": Command(
                "notifications.providers:try_out", "Reach a provider, or send a test message with it."
            ),
        },
    ),
    "campaigns": Group(
        "Send a template to many recipients, at their local time.",
        {
            "create": Command("notifications.campaigns:create", "Make a campaign."),
            "list": Command("notifications.campaigns:list_", "List campaigns, the latest first."),
            "check": Command(
                "notifications.campaigns:check", "Check a campaign: how many, when, who cannot be reached."
            ),
            "start": Command(
                "notifications.campaigns:start", "Start a campaign: at its time, or at once if it has none."
            ),
            "pause": Command("notifications.campaigns:pause", "Pause a campaign: no batch begins any more."),
            "resume": Command(
                "notifications.campaigns:resume", "Resume a campaign that is paused, late, or at its canary."
            ),
            "cancel": Command("notifications.campaigns:cancel", "Cancel a campaign: nothing more goes out."),
            "resend": Command(
                "notifications.campaigns:resend", "Send again what is unconfirmed: it may arrive twice."
            ),
            "confirm": Command("notifications.campaigns:confirm", "Count as sent what is unconfirmed."),
            "status": Command(
                "notifications.campaigns:status", "Show how a campaign stands; with --watch, as it goes."
            ),
        },
    ),
    "segments": Group(
        "Save filters on recipients, for campaigns.",
        {
            "put": Command(
                "notifications.audiences:put_segment", "Save a filter on recipients under a name."
            ),
            "list": Command("notifications.audiences:list_segments", "List segments by name."),
            "show": Command(
                "notifications.audiences:show_segment", "Show a segment, and how many recipients meet it."
            ),
            "delete": Command(
                "notifications.audiences:delete_segment",
                "Delete a segment. Campaigns whose ledger is written keep it.",
            ),
        },
    ),
    "audiences": Group(
        "Upload lists of recipients, for campaigns.",
        {
            "upload": Command(
                "notifications.audiences:upload", "Upload a list of recipients, instead of the one before."
            ),
            "list": Command("notifications.audiences:list_audiences", "List uploaded lists by name."),
            "show": Command(
                "notifications.audiences:show_audience", "Show how many recipients an uploaded list names."
            ),
            "delete": Command(
                "notifications.audiences:delete_audience",
                "Delete an uploaded list. Campaigns whose ledger is written keep it.",
            ),
        },
    ),
    "digests": Group(
        "Gather events of a recipient, and send them as one message.",
        {
            "put": Command("notifications.digests:put", "Make a digest, or change it."),
            "list": Command("notifications.digests:list_", "List digests by name."),
            "show": Command("notifications.digests:show", "Show a digest."),
            "add": Command("notifications.digests:add", "Add an event to the next digest of a recipient."),
            "delete": Command(
                "notifications.digests:delete", "Delete a digest. What has been gathered is sent at its time."
            ),
        },
    ),
    "sequences": Group(
        "Send messages with waits between them, until an event comes.",
        {
            "put": Command("notifications.sequences:put", "Make a sequence, or change it."),
            "list": Command("notifications.sequences:list_", "List sequences by name."),
            "show": Command("notifications.sequences:show", "Show a sequence with its steps."),
            "enter": Command(
                "notifications.sequences:enter",
                "Let a recipient enter a sequence: each step becomes a message.",
            ),
            "member": Command(
                "notifications.sequences:member", "Show a recipient in a sequence, with the messages."
            ),
            "leave": Command(
                "notifications.sequences:leave",
                "Stop a sequence for a recipient: what was not submitted is cancelled.",
            ),
            "event": Command(
                "notifications.sequences:event",
                "Tell of something that a recipient did: sequences that stop on it end.",
            ),
            "delete": Command(
                "notifications.sequences:delete",
                "Delete a sequence. Those who have entered it keep their messages.",
            ),
        },
    ),
}
