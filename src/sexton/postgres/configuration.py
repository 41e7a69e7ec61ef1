"""The settings of the private PostgreSQL, fitted to the machine."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

PORT = 5432
SYNC_METHOD = "syncfs" if sys.platform == "linux" else "fsync"


def configuration(socket_directory: Path) -> str:
    buffers = min(max(_memory_bytes() // 16, 64 << 20), 1 << 30)
    return f"""\
# Written by Sexton at every start; put settings of your own into postgresql.conf.
listen_addresses = ''
port = {PORT}
unix_socket_directories = '{socket_directory}'
unix_socket_permissions = 0700
max_connections = 200
timezone = 'UTC'
lc_messages = 'C'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'

fsync = on
synchronous_commit = on
shared_buffers = {buffers >> 20}MB
# This build has only pglz. With it, what touches pages first after a checkpoint took ten times as long.
wal_compression = off
max_wal_size = 4GB
min_wal_size = 256MB
checkpoint_timeout = 15min
recovery_init_sync_method = {SYNC_METHOD}  # after a crash; file by file it takes seconds
random_page_cost = 1.1
jit = off
# Statements are short. Workers of parallel queries need /dev/shm, of which a container has 64 MB.
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0

# Rows of live runs come and go all the time.
autovacuum_naptime = 15s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_cost_limit = 1000

logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_checkpoints = off
log_lock_waits = on
log_min_duration_statement = 5s
"""


def _memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory
