"""The servers that tests may need, one entry each: what to install, how to start it, when it is ready.

To add one: write a function that starts it in a `Place` and returns its address, and an entry in `SERVERS`.
Tests get the address with `tests.servers.address`, by the name of the variable, and are marked `servers`.
"""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sexton.postgres.server import private_server
from tests.servers.place import Place, free_port


@dataclass(frozen=True, slots=True)
class Server:
    """`programs` must all be found for it to count as installed; `packages` are Debian's, `wheels` PyPI's."""

    name: str
    variable: str
    start: Callable[[Place], str]
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    ready: Callable[[str], bool] = lambda address: accepts(address)


def accepts(address: str) -> bool:
    """Whether somebody accepts connections at the first host and port of a URL."""
    parts = urlsplit(address.replace("[", "").split(",")[0])
    try:
        socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 0), timeout=1).close()
    except OSError:
        return False
    return True


def says(address: str, question: bytes, answer: bytes) -> bool:
    """Whether a server that is asked in plain words answers so."""
    parts = urlsplit(address)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1) as connection:
            connection.sendall(question)
            return answer in connection.recv(4096)
    except OSError:
        return False


def start_redis(place: Place) -> str:
    port = free_port()
    place.run(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", place.folder]
    )
    return f"redis://127.0.0.1:{port}/0"


def start_etcd(place: Place) -> str:
    clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    place.run(
        [
            "etcd",
            f"--data-dir={place.folder / 'data'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ],
        {"ETCD_UNSUPPORTED_ARCH": {"aarch64": "arm64"}.get(platform.machine(), "")},
    )
    return clients.replace("http:", "etcd:")


def start_zookeeper(place: Place) -> str:
    """Short ticks: a session may end after two of them."""
    port = free_port()
    configuration = place.write(
        "zoo.cfg",
        f"tickTime=250\ndataDir={place.folder}\nclientPortAddress=127.0.0.1\nclientPort={port}\n"
        "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n",
    )
    place.write("log4j.properties", "log4j.rootLogger=OFF\n")
    place.run(
        [
            "java",
            "-Xmx128m",
            "-cp",
            f"{place.folder}:/usr/share/java/zookeeper.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            configuration,
        ]
    )
    return f"zookeeper://127.0.0.1:{port}"


def start_pgbouncer(place: Place) -> str:
    """In transaction mode, in front of a PostgreSQL of its own. It refuses to run as root."""
    postgres = urlsplit(place.stack.enter_context(private_server(place.folder / "postgres")))
    where = parse_qs(postgres.query)
    folder, port = where["host"][0], free_port()
    user = postgres.username or "postgres"
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": "20",
        "max_client_conn": "500",
    }
    if os.geteuid() == 0:
        settings["user"] = Path(folder).owner()
    lines = "\n".join(f"{name} = {value}" for name, value in settings.items())
    target = f"host={folder} port={where.get('port', ['5432'])[0]} user={user}"
    configuration = place.write("pgbouncer.ini", f"[databases]\n* = {target}\n\n[pgbouncer]\n{lines}\n")
    place.folder.chmod(0o755)
    place.run(["pgbouncer", configuration])
    return f"postgresql://{user}@127.0.0.1:{port}{postgres.path}?sslmode=disable"


SERVERS = (
    Server(
        "redis",
        "SEXTON_TEST_REDIS_URL",
        start_redis,
        programs=("redis-server",),
        packages=("redis-server",),
        ready=lambda address: says(address, b"PING\r\n", b"+PONG"),
    ),
    Server(
        "etcd",
        "SEXTON_TEST_ETCD_URL",
        start_etcd,
        programs=("etcd",),
        packages=("etcd-server",),
        ready=lambda address: says(address, b"GET /health HTTP/1.0\r\n\r\n", b'"true"'),
    ),
    Server(
        "zookeeper",
        "SEXTON_TEST_ZOOKEEPER_URL",
        start_zookeeper,
        programs=("java", "/usr/share/java/zookeeper.jar"),
        packages=("zookeeper", "default-jre-headless"),
        ready=lambda address: says(address, b"ruok", b"imok"),
    ),
    Server(
        "pgbouncer",
        "SEXTON_TEST_PGBOUNCER_URL",
        start_pgbouncer,
        programs=("pgbouncer",),
        packages=("pgbouncer",),
    ),
)
