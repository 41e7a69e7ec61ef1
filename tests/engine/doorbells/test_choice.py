"""The queue that the settings name."""

from __future__ import annotations

import pytest

from sexton.config import QUEUE_SCHEMES, Settings, load
from sexton.engine.doorbells import choice
from sexton.engine.doorbells.choice import KINDS, choose_broker
from sexton.errors import InvalidField


def test_postgres_alone_needs_no_broker() -> None:
    assert choose_broker(Settings()) is None


@pytest.mark.parametrize("scheme", QUEUE_SCHEMES)
def test_every_address_has_its_broker(scheme: str) -> None:
    make = choose_broker(load({"queue_url": QUEUE_SCHEMES[scheme]}, environment={}))
    assert make is not None
    assert make("c").name == KINDS[scheme].extra


def test_a_missing_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda package: None)
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
