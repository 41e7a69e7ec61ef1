from django.core.management import call_command
from django.db.models import F

from news.models import Digest
from sexton.contrib.django.project import app
from sexton.errors import NotFound


@app.job("0 3 * * *", name="clear-sessions", timezone="Europe/Berlin", max_retries=3)
def clear_sessions():
    call_command("clearsessions")


@app.handler("send-digest")
def send_digest(run, digest: int):
    Digest.objects.filter(pk=digest).update(issues=F("issues") + 1)
    return {"issue": Digest.objects.get(pk=digest).issues}


def plan(digest):
    """Make the job of a digest, or bring it in line."""
    name, schedule = f"digest-{digest.name}", digest.get_schedule_parsed()
    try:
        app.sync.edit(name, schedule=schedule)
    except NotFound:
        app.sync.schedule(send_digest, name=name, schedule=schedule, payload={"digest": digest.pk})
