"""Plan the launch of a product: the post goes out at nine in Berlin, the banner is up on weekdays.

sexton up                             # in one terminal
python examples/content/plan.py       # in another
"""

from __future__ import annotations

import asyncio

from sexton import Sexton

app = Sexton(name="launch")
BERLIN = {"timezone": "Europe/Berlin", "created_by": "ann"}


async def main() -> None:
    async with app.connected():
        await app.content.save("post/42", {"title": "Spring"}, by="ann")
        await app.content.save("banner/7", {"text": "New: spring"}, by="ann")
        post = await app.content.schedule("publish", "post/42", local_time="2099-03-13 09:00", **BERLIN)
        await app.content.window(
            "banner/7",
            "2099-03-16 09:00",
            "2099-03-16 17:00",
            recurrence_rule="FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=3",
            **BERLIN,
        )
        # A day later after all: it does not go out at its old time.
        await app.content.reschedule(post.schedule_id, local_time="2099-03-14 09:00")
        for each in await app.content.calendar("2099-03-01", "2099-04-01", timezone="Europe/Berlin"):
            print(f"{each.local_time_display}  {each.action} {each.content_id}  {each.status}")


if __name__ == "__main__":
    asyncio.run(main())
