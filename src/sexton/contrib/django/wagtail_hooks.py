"""The labels of Sexton's actions in Wagtail's history of a page or a snippet. Wagtail loads this module."""

from __future__ import annotations

from typing import Any

from wagtail import hooks  # type: ignore[import-not-found]
from wagtail.log_actions import LogFormatter  # type: ignore[import-not-found]

WORDS = {
    "sexton.publish": ("Publish by Sexton", "Published by Sexton"),
    "sexton.unpublish": ("Unpublish by Sexton", "Unpublished by Sexton"),
    "sexton.archive": ("Archive by Sexton", "Archived by Sexton"),
}


@hooks.register("register_log_actions")  # type: ignore[untyped-decorator]
def register_log_actions(actions: Any) -> None:
    for action, (label, message) in WORDS.items():
        actions.register_action(action)(_formatter(label, message))


def _formatter(label: str, message: str) -> type[Any]:
    def format_message(self: Any, entry: Any) -> str:
        actor = entry.data.get("actor")
        return f"{message}, planned by {actor}" if actor else message

    return type("SextonFormatter", (LogFormatter,), {"label": label, "format_message": format_message})
