"""The queue that the settings name."""

from __future__ import annotations

import pytest

from sexton.config import Settings, load
from sexton.connections import scheme
from sexton.connections.scheme import SCHEMES, examples
from sexton.engine.doorbells.choice import choose_broker
from sexton.errors import InvalidField


def test_postgres_alone_needs_no_broker() -> None:
    assert choose_broker(Settings()) is None


@pytest.mark.parametrize(("name", "url"), examples("queue").items())
def test_every_address_has_its_broker(name: str, url: str) -> None:
    make = choose_broker(load({"queue_url": url}, environment={}))
    assert make is not None
    assert make("c").name == SCHEMES[name].server


def test_a_missing_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheme, "find_spec", lambda package: None)
    with pytest.raises(InvalidField) as refused:
        choose_broker(Settings(queue_url="amqp://localhost/"))
    assert refused.value.field == "queue_url"
    assert refused.value.hint == "pip install 'sexton[rabbitmq]'"


@pytest.mark.parametrize(
    ("url", "said"), [("carrier-pigeon://loft", "no queue 'carrier-pigeon'"), ("redis://", "no address")]
)
def test_an_address_that_cannot_be_is_refused(url: str, said: str) -> None:
    with pytest.raises(InvalidField, match=said) as refused:
        load({"queue_url": url}, environment={})
    assert refused.value.field == "queue_url"
