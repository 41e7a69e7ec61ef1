"""The options of aiokafka's clients for an address."""

from __future__ import annotations

from typing import Any

from sexton.connections.address import Address
from sexton.connections.tls import context_of
from sexton.errors import InvalidField

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def kafka_options(address: Address, *, field: str) -> dict[str, Any]:
    """The brokers, and how to connect to them; with a user, by SASL. Raises `InvalidField`."""
    options: dict[str, Any] = {"bootstrap_servers": address.servers}
    mechanism = address.options.get("sasl", "PLAIN").upper()
    if mechanism not in MECHANISMS:
        raise InvalidField(
            "bad_address", f"sasl is {mechanism!r}", field=field, hint=f"it takes {', '.join(MECHANISMS)}"
        )
    if "sasl" in address.options and address.user is None:
        raise InvalidField(
            "bad_address",
            "sasl is given, but no user",
            field=field,
            hint=f"write {address.scheme}://user:password@host:9092",
        )
    context, protocol = context_of(address, field), "PLAINTEXT"
    if context is not None:
        options["ssl_context"], protocol = context, "SSL"
    if address.user is not None:
        options |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": address.user,
            "sasl_plain_password": address.password or "",
        }
        protocol = f"SASL_{protocol}"
    return {**options, "security_protocol": protocol}
