"""Roles: each may do what the ones before it may; a worker stands apart."""

from __future__ import annotations

from pathlib import Path

from sexton.security.role import MEANINGS, Role


def test_roles_contain_each_other_in_order() -> None:
    order = [Role.VIEWER, Role.OPERATOR, Role.EDITOR, Role.ADMIN]
    for place, role in enumerate(order):
        assert [role.allows(needed) for needed in order] == [rank <= place for rank in range(4)]


def test_a_worker_stands_apart() -> None:
    assert [Role.WORKER.allows(needed) for needed in Role] == [False, False, False, False, True]
    assert [role.allows(Role.WORKER) for role in Role] == [False, False, False, True, True]


def test_every_role_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Role)


def test_the_documentation_shows_the_roles() -> None:
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    for role, meaning in MEANINGS.items():
        assert f"| {role} | {meaning} |" in page
