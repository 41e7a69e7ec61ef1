"""How jobs are spread by their ids: over the shards, and over the seconds of their jitter."""

from __future__ import annotations


def shard_of(job_id: int, shards: int) -> int:
    """Which shard a job belongs to: the same in every process and version, spread evenly."""
    mixed = (job_id ^ (job_id >> 31)) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 32) % shards


def jitter_of(job_id: int, jitter_seconds: int) -> float:
    """A job's own fixed offset within its jitter window, in seconds, to the millisecond."""
    mixed = (job_id + 0x9E3779B9) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 20) % (jitter_seconds * 1000) / 1000 if jitter_seconds else 0.0
