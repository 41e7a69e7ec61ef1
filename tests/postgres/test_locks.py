"""The numbers of advisory locks: all in one file, and each once."""

from __future__ import annotations

import re

from sexton.postgres import locks
from sexton.postgres.migrate import migrations

NUMBERS = {name: number for name, number in vars(locks).items() if name.isupper()}


def test_no_two_locks_have_the_same_number() -> None:
    assert len(set(NUMBERS.values())) == len(NUMBERS)


def test_the_numbers_in_functions_of_the_database_are_declared_too() -> None:
    text = "\n".join(migration.text for migration in migrations())
    used = {int(number) for number in re.findall(r"\((\d+)::bigint << 32\)", text)}
    assert used == {locks.SHARDS, locks.CATCH_UP}
