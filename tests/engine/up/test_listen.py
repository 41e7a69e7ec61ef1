"""Where the api listens, and who may be let in there."""

from __future__ import annotations

import socket

import pytest

from sexton.engine.up.listen import PORTS, listen
from sexton.errors import InvalidField


def test_a_taken_port_gives_the_next_free_one() -> None:
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with listen("127.0.0.1", port) as first, listen("127.0.0.1", port) as second:
        assert first.getsockname()[1] == port
        assert port < second.getsockname()[1] < port + PORTS


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_names_of_this_machine(host: str) -> None:
    try:
        socket.getaddrinfo(host, 0)[0]
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"no {host} here")
    with listen(host, 0) as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidField) as refused, listen(host, 7390):
        pass
    assert refused.value.field == "host"
