"""A campaign: recipients from a list, a segment of them, a check, and the word to go."""

import json
import time

from ask import ask

people = [
    {"user_id": f"customer-{n}", "email": f"customer-{n}@example.com", "fields": {"plan": "pro" if n % 2 else "free"}}
    for n in range(20)
]  # fmt: skip
lines = "\n".join(json.dumps(person) for person in people).encode()
ask("POST", "/recipients/bulk", lines, "application/x-ndjson")
ask("PUT", "/templates/spring", {"email": {"subject": "Spring", "text": "Everything is cheaper."}})
ask("PUT", "/segments/pro", {"filter": {"field": "plan", "is": "pro"}})
made = ask(
    "POST",
    "/campaigns",
    {"name": "spring", "template_id": "spring", "channel": "email", "audience": {"segment": "pro"}},
)
check = ask("POST", f"/campaigns/{made['campaign_id']}/check")
print(f"{check['recipients']} recipients, {check['unreachable']} of them cannot be reached")
ask("POST", f"/campaigns/{made['campaign_id']}/start")
while (shown := ask("GET", f"/campaigns/{made['campaign_id']}"))["status"] not in ("done", "failed"):
    time.sleep(0.5)
print(f"{shown['status']}: {shown['counts']['sent']} sent")
