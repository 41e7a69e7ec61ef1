"""A reminder the evening before an appointment, at 18:00 where the patient lives."""

from ask import ask

ask("PUT", "/recipients/ann", {"email": "ann@example.com", "timezone": "Europe/Berlin"})
ask(
    "PUT",
    "/templates/appointment",
    {
        "email": {
            "subject": "Your appointment on {{ at | date }}",
            "text": "We expect you at {{ at | time }}.",
        },
        "variables": {"at": "datetime"},
        "urgency": "time_sensitive",
    },
)
made = ask(
    "POST",
    "/notifications",
    {
        "user_id": "ann",
        "channel": "email",
        "template_id": "appointment",
        "template_vars": {"at": "2030-06-04T07:30:00Z"},
        "local_time": "2030-06-03 18:00",
    },
)
print(f"{made['notification_id']} is {made['status']}, and goes at {made['send_at_utc']}")
