"""Where tests keep their files: in memory, if the machine has enough of it.

A test database is a thousand small files, and hundreds of tests have one of their own. To copy one and to
drop it again took 190 to 450 ms of a processor on ext4, and 30 to 56 ms in memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
# A whole run has needed up to 2.5 GB; in a container this file system often has 64 MB.
LEAST_BYTES = 6 << 30


@contextmanager
def in_memory(environment: Mapping[str, str], memory: Path = MEMORY) -> Iterator[dict[str, str]]:
    """The environment, with a TMPDIR in memory for as long as the block runs. One that is given stays."""
    if "TMPDIR" in environment or not _has_room(memory):
        yield dict(environment)
        return
    with tempfile.TemporaryDirectory(
        prefix="sexton-tests-", dir=memory, ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o1777)  # as /tmp: PostgreSQL and scripts may run as other users
        yield {**environment, "TMPDIR": folder}


def _has_room(memory: Path) -> bool:
    return memory.is_dir() and min(shutil.disk_usage(memory).free, _available_bytes()) >= LEAST_BYTES


def _available_bytes() -> int:
    """What programs may still take without others having to leave memory."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0
