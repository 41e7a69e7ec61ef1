"""Spreads jobs by their ids: over the shards, and over the seconds of their jitter."""

from __future__ import annotations

MASK = 0xFFFFFFFFFFFFFFFF


def shard_of(job_id: int, shards: int) -> int:
    """The shard of a job: the same in every process and version, evenly spread."""
    mixed = (job_id ^ (job_id >> 31)) * 0x9E3779B97F4A7C15 & MASK
    return (mixed >> 32) % shards


def jitter_of(job_id: int, jitter_seconds: int) -> float:
    """The fixed offset of a job within its jitter, in seconds with milliseconds. Neighbouring ids get
    unrelated offsets."""
    if not jitter_seconds:
        return 0.0
    mixed = job_id + 0x9E3779B97F4A7C15 & MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK
    return (mixed ^ (mixed >> 31)) % (jitter_seconds * 1000) / 1000
