"""Texts are compiled and rendered aside: the process answers others meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.notifications.spec import EmailParts, PreviewRequest, TemplateSpec
from sexton.notifications.templates.aside import aside
from sexton.notifications.templates.preview import preview
from sexton.notifications.templates.rendering import TextCompiler
from sexton.notifications.templates.template import put_template
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context

TEXTS = TemplateSpec(email=EmailParts(subject="Hello {{ name }}", text="Hello"))


async def test_neither_a_new_version_nor_a_preview_keeps_others_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, context = list[str](), Context(database)
    compile_ = TextCompiler.compile

    def watched(self: TextCompiler, name: str, text: str) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        compiled.append(text)
        return compile_(self, name, text)

    monkeypatch.setattr(TextCompiler, "compile", watched)
    await put_template(context, "mail", TEXTS)
    assert compiled == ["Hello {{ name }}", "Hello"]
    for wish in (PreviewRequest(), PreviewRequest(texts=TEXTS)):
        compiled.clear()
        [shown] = await preview(context, "mail", wish)
        assert shown.parts["text"] == "Hello"
        assert compiled


async def test_its_errors_are_those_of_the_caller() -> None:
    def refuse(field: str) -> None:
        raise InvalidField("bad_value", "no", field=field, hint="write yes")

    with pytest.raises(InvalidField) as refused:
        await aside(refuse, "x")
    assert refused.value.field == "x"
