"""What to write instead, told from types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from sexton.model import Overlap
from sexton.refusal import remedy


class Inner(msgspec.Struct):
    place: Literal["here", "there"]


class Outer(msgspec.Struct):
    one: Literal["only"]
    overlap: Overlap
    share: Annotated[float, msgspec.Meta(gt=0, le=1)]
    least: Annotated[int, msgspec.Meta(ge=1)]
    most: Annotated[int, msgspec.Meta(le=5000)]
    both: str | Inner
    inner: Inner | None = None
    inners: list[Inner] = []
    names: dict[str, int] = {}
    anything: Any = None


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "give an object"),
        ("one", "use only"),
        ("overlap", "use ALLOW, SKIP, QUEUE_ONE or CANCEL_RUNNING"),
        ("share", "give a number above 0, up to 1"),
        ("least", "give a whole number, 1 or more"),
        ("most", "give a whole number up to 5,000"),
        ("both", "give text or give an object"),
        ("inner", "give an object"),
        ("inner.place", "use here or there"),
        ("inners", "give a list"),
        ("inners[3]", "give an object"),
        ("inners[3].place", "use here or there"),
        ("names[...]", "give a whole number"),
        ("anything", None),
        ("unknown", None),
    ],
)
def test_a_field_is_told_by_its_type(path: str, words: str | None) -> None:
    assert remedy(Outer, path) == words
