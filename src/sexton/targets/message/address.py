"""The address of a broker in a target: it names that broker, and holds no password that people can see."""

from __future__ import annotations

import re

from sexton.connections.address import Address
from sexton.connections.scheme import examples
from sexton.errors import InvalidField
from sexton.refusal import check_text
from sexton.security.placeholder import PLACEHOLDER, SecretRef, check_secret_name, secret_names

# Stands for a secret while an address is checked; it can also be a port.
HIDDEN = "1"


def check_broker_address(url: str | SecretRef, broker: str, field: str) -> None:
    """An address, a secret that holds one, or an address that names secrets inside."""
    if isinstance(url, SecretRef):
        check_secret_name(url.secret, f"{field}.secret")
        return
    check_text(url, field, 2048)
    secret_names(url, field)
    if PLACEHOLDER.fullmatch(url):
        return
    known = examples("message", broker)
    if url.partition("://")[0] not in known or re.search(r"[\s\\]", url):
        what, hint = f"this is not the address of a {broker}", f"write {', '.join(known.values())}"
        raise InvalidField("bad_url", what, field=field, hint=hint)
    address = Address.read(PLACEHOLDER.sub(HIDDEN, url), field=field)
    # Of a NATS without a password, the user is a token.
    shown = address.user if broker == "nats" and address.password is None else address.password
    if shown not in (None, "", HIDDEN, "guest"):
        what = "the address holds a password, and the job is shown with it"
        hint = 'keep it as a secret: sexton secret set NAME, then {"secret": "NAME"} or ${secret:NAME}'
        raise InvalidField("bad_url", what, field=field, hint=hint)
