"""The target kind `content`: carries out the action or release that the payload names."""

from __future__ import annotations

from typing import Any, ClassVar

from sexton.config import Settings
from sexton.content.adapters.table import adapters, load_adapters
from sexton.content.spec import ContentTarget
from sexton.targets.base import OpenKind, TargetKind, TargetServices


class ContentKind(TargetKind[ContentTarget]):
    name = "content"
    spec = ContentTarget
    example: ClassVar[Any] = {"adapter": "builtin"}
    how_to_serve = "start one that has the adapter {need}"

    def need(self, spec: ContentTarget) -> str:
        return spec.kind or spec.adapter

    def configure(self, settings: Settings) -> None:
        load_adapters(settings)

    def served(self, settings: Settings) -> list[str]:
        return sorted(name for name, kind in adapters().items() if kind.served())

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.content.execution import OpenContent

        return OpenContent(services)
