"""The second wall between namespaces: every statement that touches what belongs to one names the namespace,
or a key that implies it. What is left is a list, with the reason of each."""

from __future__ import annotations

import re

from sexton.postgres.statement import load_all

# What belongs to a namespace.
OWNED = (
    "jobs", "job_revisions", "timers", "problems", "queues", "runs", "history", "attempts", "run_logs",
    "dead", "requests", "secrets", "keys", "content_schedules", "content_entities", "content_versions",
    "content_changes", "content_releases", "content_notices", "content_adapters", "content_feeds",
    "segments", "audiences", "audience_members", "campaigns", "campaign_chunks", "campaign_meters",
    "notification_meters", "digests", "digest_gatherings", "digest_events", "sequences", "sequence_members",
    "notification_settings", "recipients", "templates", "template_versions", "messages", "message_timers",
    "message_events", "message_receipts", "recipient_counts", "suppressions",
    "notification_schedules", "lanes", "meters", "audit", "audit_pending", "audit_entries", "activity",
)  # fmt: skip
TOUCHES = re.compile(rf"\bsexton\.({'|'.join(OWNED)})\b")
# Ids of things that were looked up in their namespace, or that the engine itself has read.
KEYS = {
    "job_id", "job_ids", "jobs", "run_id", "run_ids", "runs", "ids", "lane", "lanes", "node", "nodes",
    "shard", "shards", "key_id", "campaign_id", "schedule_id", "schedules", "window_id",
}  # fmt: skip

UPKEEP = "keeps the whole cluster going, for all namespaces"
FIGURE = "a figure of the whole cluster: its callers need a role in all namespaces"
SIZE = "decides how large a sample is, and is told to no caller"
SECRET = "found by the hash of a secret that only its holder has"
APART = {
    "access/read_session": SECRET,
    "access/take_link": SECRET,
    "activity/remove_old": UPKEEP,
    "audit/is_pending": UPKEEP,
    "audit/read_head": UPKEEP,
    "audit/remove": UPKEEP,
    "cluster/mend_shards": UPKEEP,
    "content/find_feed": SECRET,
    "cluster/remove_nodes": UPKEEP,
    "jobs/estimate_timers": SIZE,
    "jobs/find_next_pause_end": UPKEEP,
    "jobs/remove_completed": UPKEEP,
    "jobs/remove_requests": UPKEEP,
    "reading/count_dead": FIGURE,
    "reading/count_jobs": FIGURE,
    "reading/count_runs": FIGURE,
    "reading/count_timers": FIGURE,
    "reading/count_work": FIGURE,
    "reading/examine_partitions": FIGURE,
    "reading/examine_problems": FIGURE,
    "recording/expire": UPKEEP,
    "recording/find_sweepable": UPKEEP,
    "recording/lock_overdue": UPKEEP,
    "recording/promote_orphans": UPKEEP,
    "recording/reap": UPKEEP,
    "recording/stop_overlapped": UPKEEP,
    "zones/list_in_use": UPKEEP,
    "zones/lock_timers": UPKEEP,
}


def test_every_statement_names_the_namespace_or_what_implies_it() -> None:
    found = set()
    for name, statement in load_all().items():
        text = "\n".join(line for line in statement.text.splitlines() if not line.lstrip().startswith("--"))
        named = "namespace" in text or not KEYS.isdisjoint(statement.parameters)
        if TOUCHES.search(text) and not named:
            found.add(name)
    assert sorted(found) == sorted(APART)
