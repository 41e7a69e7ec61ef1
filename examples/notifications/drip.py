"""A drip sequence: a welcome at once, tips on the third and the seventh day at 09:00, until she buys."""

from ask import ask

ask("PUT", "/recipients/ann", {"email": "ann@example.com", "timezone": "Europe/Berlin"})
for name in ("welcome", "tips", "offer"):
    ask("PUT", f"/templates/{name}", {"email": {"subject": name.capitalize(), "text": "Dear customer, …"}})
ask(
    "PUT",
    "/sequences/onboarding",
    {
        "steps": [
            {"template_id": "welcome", "channel": "email", "day": 0},
            {"template_id": "tips", "channel": "email", "day": 3, "at": "09:00"},
            {"template_id": "offer", "channel": "email", "day": 7, "at": "09:00"},
        ],
        "stop_on": ["purchased"],
    },
)
member = ask("POST", "/sequences/onboarding/members", {"user_id": "ann"})
print(f"{len(member['steps'])} messages are planned")
stopped = ask("POST", "/notifications/events", {"user_id": "ann", "event": "purchased"})
print(f"stopped: {', '.join(stopped['stopped'])}")
