"""The commands that work on the database itself."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest

from sexton.cli.security.secret import interrupted
from sexton.config import Settings
from sexton.errors import Conflict
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.targets.http.step import signing_secret
from tests.conftest import with_database

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Sexton


@pytest.fixture(autouse=True)
def configured(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXTON_DATABASE_URL", database_url)


def test_migrate(sexton: Sexton, database_url: str) -> None:
    assert "up to date" in sexton("migrate").out
    assert sexton("migrate", "--check").code == 0
    empty = with_database(database_url, "postgres")
    checked = sexton("migrate", "--check", "--json", "--database-url", empty)
    assert checked.code == 1
    assert checked.json()["pending"][0].startswith("0001")
    assert "create table sexton.jobs" in sexton("migrate", "--print").out


def test_the_secret_is_made_once_and_rotated(sexton: Sexton) -> None:
    first = sexton("secret", "show").out.strip()
    assert first.startswith("whsec_")
    assert sexton("secret", "show", "--json").json() == {"secret": first, "previous": None}
    assert sexton("secret", "rotate").code == 2
    second = sexton("secret", "rotate", "--yes", "--json").json()
    assert second["previous"] == first
    third = sexton("secret", "rotate", "--yes", "--json").json()
    assert third["previous"] == second["secret"]
    assert len({first, second["secret"], third["secret"]}) == 3


def test_doctor_gives_facts_bounds_and_advice(sexton: Sexton, database_url: str) -> None:
    found = sexton("doctor", "--json").json()
    # The server of the tests does not wait for the disk; the doctor does not like that.
    assert found["facts"]["fsync"] == "off"
    assert [each["serious"] for each in found["findings"] if "fsync" in each["what"]] == [True]
    assert found["facts"]["migrations"] == "up to date"
    assert found["bounds"]["late at most, if a scheduler dies"].startswith("5.5 s")
    told = sexton("doctor").out
    assert "PostgreSQL" in told
    unmigrated = sexton("doctor", "--database-url", with_database(database_url, "postgres"))
    assert unmigrated.code == 1
    assert "sexton migrate" in unmigrated.out


def test_no_database_says_what_to_do(sexton: Sexton, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SEXTON_DATABASE_URL")
    result = sexton("doctor", "--data", str(tmp_path / "nowhere"))
    assert result.code == 1
    assert "sexton up" in result.err
    assert not (tmp_path / "nowhere").exists()
    lost = sexton("doctor", "--database-url", "postgresql://127.0.0.1:1/nothing", "--json")
    assert (lost.code, lost.json()["error"]["code"]) == (1, "database_unavailable")
    assert "--database-url" in lost.err


def test_a_secret_says_which_hosts_may_get_it(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXTON_SECRET_KEY", secrets.new_key())
    refused = sexton("secret", "set", "crm", "--json", stdin="s3cret-value")
    assert refused.code == 2
    assert "--host crm.example.com" in refused.err
    kept = sexton("secret", "set", "crm", "--host", "crm.example.com", "--kind", "http", stdin="s3cret-value")
    assert "crm is kept for hosts crm.example.com and targets of the kind http" in kept.out
    assert "crm.example.com" in sexton("secret", "list").out
    address = sexton("secret", "set", "broker", "--json", stdin="amqp://me:hunter22@mq.example.com/")
    assert address.json()["hosts"] == ["mq.example.com"]
    assert sexton("secret", "set", "crm", "--kind", "letter", stdin="x").code == 2


def test_secrets_get_a_new_key_and_a_lost_key_is_told(
    sexton: Sexton, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEXTON_SECRET_KEY", secrets.new_key())
    sexton("secret", "set", "crm", "--host", "crm.example.com", stdin="s3cret-value")
    new = tmp_path / "new.key"
    assert sexton("secret", "rekey", "--yes").code == 2
    changed = sexton("secret", "rekey", "--yes", "--to", str(new), "--json").json()
    assert changed == {"changed": 1, "deleted": [], "file": str(new)}
    told = [each["what"] for each in sexton("doctor", "--json").json()["findings"]]
    assert "secrets that cannot be read with the key here: crm" in told
    assert sexton("secret", "rekey", "--yes", "--to", str(tmp_path / "other.key")).code == 1
    monkeypatch.setenv("SEXTON_SECRET_KEY", f"@{new}")
    told = [each["what"] for each in sexton("doctor", "--json").json()["findings"]]
    assert not any("secrets" in what for what in told)
    monkeypatch.setenv("SEXTON_SECRET_KEY", secrets.new_key())
    forgot = sexton("secret", "rekey", "--yes", "--forget", "--to", str(tmp_path / "last.key"), "--json")
    assert forgot.json()["deleted"] == ["crm"]


async def test_a_lost_key_file_is_not_replaced(database: Database, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with_key = await secrets.with_own_key(Context(database), settings)
    await secrets.keep(Context(database), with_key, "crm", "s3cret-value")
    secrets.key_file(tmp_path / "data").unlink()
    with pytest.raises(secrets.SecretError, match="is gone, and crm cannot be read") as raised:
        await secrets.with_own_key(Context(database), settings)
    assert "sexton secret rekey --forget" in (raised.value.hint or "")
    assert not secrets.key_file(tmp_path / "data").exists()


async def test_a_key_file_that_another_process_makes_meanwhile_is_taken(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes start at once on an empty directory: the slower one finds what the faster has sealed."""
    settings = Settings(data=tmp_path / "data")
    look = secrets.unreadable

    async def look_late(context: Context, source: str | None) -> list[str]:
        monkeypatch.undo()
        other = await secrets.with_own_key(context, settings)
        await signing_secret(context.database, other.secret_key)
        return await look(context, source)

    monkeypatch.setattr(secrets, "unreadable", look_late)
    mine = await secrets.with_own_key(Context(database), settings)
    assert await signing_secret(database, mine.secret_key)


async def test_a_key_file_of_another_user_is_refused(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could know what is encrypted with it: also one that was there before the data."""
    path = secrets.key_file(tmp_path / "data")
    secrets.make_key_file(path)
    settings = Settings(data=tmp_path / "data")
    for mode in (0o600, 0o644):
        path.chmod(mode)
        assert (await secrets.with_own_key(Context(database), settings)).secret_key == f"@{path}"
    for mode in (0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(Conflict, match="may write it"):
            await secrets.with_key_at_start(Context(database), settings)
    path.chmod(0o600)
    owner = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    with pytest.raises(Conflict, match="another user owns"):
        await secrets.with_own_key(Context(database), settings)


async def test_a_lost_key_is_missed_by_whatever_was_encrypted(database: Database, tmp_path: Path) -> None:
    """Secrets of other namespaces count, and what webhooks are signed with."""
    settings = Settings(data=tmp_path / "data")
    key = await secrets.with_own_key(Context(database), settings)
    await signing_secret(database, key.secret_key)
    path = secrets.key_file(tmp_path / "data")
    content = path.read_text()
    path.unlink()
    with pytest.raises(secrets.SecretError, match="gone, and webhook_secret cannot be read"):
        await secrets.with_own_key(Context(database), settings)
    path.write_text(content)
    await secrets.keep(Context(database, "billing"), key, "crm", "s3cret-value")
    path.unlink()
    with pytest.raises(secrets.SecretError, match="gone, and crm, webhook_secret cannot be read"):
        await secrets.with_own_key(Context(database), settings)
    assert not secrets.key_file(tmp_path / "data").exists()


def test_a_key_for_secrets_is_made_without_a_database(sexton: Sexton) -> None:
    for made in (sexton("secret", "key").out.strip(), sexton("secret", "key", "--json").json()["key"]):
        assert len(base64.b64decode(made)) == 32


def test_reshard(sexton: Sexton, own_database_url: str) -> None:
    done = sexton("reshard", "6", "--database-url", own_database_url)
    assert (done.code, done.out[:27]) == (0, "6 shards instead of 4: 0 of")
    assert "the schedulers give theirs up" in done.err
    assert sexton("reshard", "6", "--database-url", own_database_url).out == "It already has 6 shards.\n"
    assert sexton("reshard", "2", "--json", "--database-url", own_database_url).json()["before"] == 6
    assert sexton("reshard", "5000", "--database-url", own_database_url).code == 2


async def test_a_change_of_the_key_that_was_interrupted_is_noticed(
    database: Database, tmp_path: Path
) -> None:
    """The secrets are encrypted anew, and the process dies before the new key file is in its place."""
    context, old, new = Context(database), secrets.new_key(), tmp_path / "key.new"
    secrets.make_key_file(new)
    assert not await interrupted(context, old, new)
    await secrets.keep(context, Settings(secret_key=old), "crm", "s3cret-value")
    assert not await interrupted(context, old, new)
    await secrets.rekey(context, old, f"@{new}")
    assert await interrupted(context, old, new)
    assert not await interrupted(context, f"@{new}", new)
