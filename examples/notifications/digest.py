"""A weekly digest: comments are gathered, and sent together on Monday at 09:00 where the author lives."""

from ask import ask

ask("PUT", "/recipients/ann", {"email": "ann@example.com", "timezone": "Europe/Berlin"})
ask(
    "PUT",
    "/templates/comments",
    {
        "email": {
            "subject": "{{ count }} new comments",
            "text": "{% for event in events %}{{ event.author }}: {{ event.text }}\n{% endfor %}",
        }
    },
)
ask(
    "PUT",
    "/digests/comments",
    {"template_id": "comments", "channel": "email", "schedule": "0 9 * * mon", "max_events": 50},
)
for number, author in enumerate(("bob", "eve"), 1):
    event = ask(
        "POST",
        "/digests/comments/events",
        {
            "user_id": "ann",
            "event_id": f"comment-{number}",
            "data": {"author": author, "text": "well written"},
        },
    )
    print(f"{event['event_id']} is in {event['notification_id']}, which goes at {event['send_at_utc']}")
