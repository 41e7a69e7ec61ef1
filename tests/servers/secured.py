"""The same servers as people really run them: with TLS, a certificate asked of every client, and a user with
a password that has every awkward character."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping
from urllib.parse import quote

from tests.servers.sandbox import Sandbox, free_port, program
from tests.servers.table import run_etcd, run_rabbitmq
from tests.targets.services import Authority

USER = "sexton"
PASSWORD = "p@s:s/w?r#d%41&=+ü"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"

Start = Callable[[Authority, Sandbox], str]


def start_redis(authority: Authority, sandbox: Sandbox) -> str:
    port = free_port()
    # Its hash, for a configuration has quotes of its own.
    users = f"user default off\nuser {USER} on #{hashlib.sha256(PASSWORD.encode()).hexdigest()} ~* &* +@all\n"
    configuration = sandbox.write(
        "redis.conf",
        f"port 0\ntls-port {port}\nbind 127.0.0.1\nsave ''\ndir {sandbox.folder}\n{users}"
        f"tls-cert-file {authority.server}\ntls-key-file {authority.server}\n"
        f"tls-ca-cert-file {authority.ca}\ntls-auth-clients yes\n",
    )
    sandbox.run(["redis-server", configuration])
    return f"rediss://{LOGIN}@127.0.0.1:{port}/0"


def start_rabbitmq(authority: Authority, sandbox: Sandbox) -> str:
    port = free_port()
    files = f'{{cacertfile, "{authority.ca}"}}, {{certfile, "{authority.server}"}}'
    configuration = sandbox.write(
        "advanced.config",
        f"""[{{rabbit, [
            {{tcp_listeners, []}},
            {{ssl_listeners, [{{"127.0.0.1", {port}}}]}},
            {{ssl_options, [{files}, {{keyfile, "{authority.server}"}},
                            {{verify, verify_peer}}, {{fail_if_no_peer_cert, true}}]}},
            {{default_user, <<"{USER}">>}},
            {{default_pass, <<{", ".join(map(str, PASSWORD.encode()))}>>}}
        ]}}].
        """,
    )
    run_rabbitmq(sandbox, port, {"RABBITMQ_ADVANCED_CONFIG_FILE": str(configuration)})
    return f"amqps://{LOGIN}@127.0.0.1:{port}/"


def start_nats(authority: Authority, sandbox: Sandbox) -> str:
    port = free_port()
    configuration = sandbox.write(
        "nats.conf",
        f"""listen: "127.0.0.1:{port}"
        jetstream {{ store_dir: "{sandbox.folder / "data"}" }}
        authorization {{ user: "{USER}", password: "{PASSWORD}" }}
        tls {{
            cert_file: "{authority.server}", key_file: "{authority.server}"
            ca_file: "{authority.ca}", verify: true
        }}
        """,
    )
    sandbox.run(["nats-server", "-c", configuration])
    return f"tls://{LOGIN}@127.0.0.1:{port}"


def start_mosquitto(authority: Authority, sandbox: Sandbox) -> str:
    port = free_port()
    users = sandbox.write("users", "")
    maker = program("mosquitto_passwd", sandbox.programs)
    subprocess.run([maker or "mosquitto_passwd", "-b", users, USER, PASSWORD], check=True)
    configuration = sandbox.write(
        "mosquitto.conf",
        f"listener {port} 127.0.0.1\npassword_file {users}\ncafile {authority.ca}\n"
        f"certfile {authority.server}\nkeyfile {authority.server}\nrequire_certificate true\n"
        # Otherwise it leaves root's rights, and cannot read what is in a folder of root's.
        + ("user root\n" if os.geteuid() == 0 else ""),
    )
    sandbox.run(["mosquitto", "-c", configuration])
    return f"mqtts://{LOGIN}@127.0.0.1:{port}"


def start_etcd(authority: Authority, sandbox: Sandbox) -> str:
    """Its users are made by the test: it has none before it is asked to."""
    clients = f"https://127.0.0.1:{free_port()}"
    files = f"--cert-file={authority.server}", f"--key-file={authority.server}"
    run_etcd(sandbox, clients, *files, f"--trusted-ca-file={authority.ca}", "--client-cert-auth")
    return f"etcd+ssl://{LOGIN}@{clients.partition('://')[2]}"


STARTS: Mapping[str, Start] = {
    "redis": start_redis,
    "rabbitmq": start_rabbitmq,
    "nats": start_nats,
    "mosquitto": start_mosquitto,
    "etcd": start_etcd,
}
