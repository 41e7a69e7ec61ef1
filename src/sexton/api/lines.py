"""Many things in one request: JSON lines or CSV, read as they arrive and applied in chunks, each all or
nothing.

The body is never held as a whole. If a line of a chunk is refused, the whole chunk is refused; the other
chunks are applied. With an Idempotency-Key every chunk is remembered on its own, so that an interrupted
import can be sent again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec

from sexton.api import problems
from sexton.api.operation import Answer, Call
from sexton.api.problems import LineError
from sexton.api.replay import StoredAnswer, check_key, fingerprint, once
from sexton.api.request_id import request_id_of
from sexton.errors import InvalidField, RefusedLines
from sexton.postgres.transaction import Context
from sexton.printable import counted
from sexton.refusal import each_line

CSV = "text/csv"
LONGEST_LINE = 512 * 1024
MOST_ERRORS = 1000
# A chunk is also cut by size: fewer lines if they are long.
LARGEST_CHUNK = 8 * 1024 * 1024

Chunk = list[tuple[int, bytes]]
T = TypeVar("T")


class CsvColumns(Protocol):
    """Reads lines by the columns that the first line names."""

    def read(self, line: bytes) -> Any: ...


class LinesBody:
    """The lines of a request: their number, and the errors of refused lines."""

    def __init__(
        self, call: Call, chunk_size: int, columns: Callable[[bytes], CsvColumns] | None = None
    ) -> None:
        self.count = 0
        self.errors: list[LineError] = []
        self._call = call
        self._chunk_size = chunk_size
        self._columns = columns if is_csv(call) else None
        self._key = call.request.headers.get("idempotency-key")

    async def taken(self, take: Callable[[Chunk, list[Any]], Awaitable[T]]) -> AsyncIterator[T]:
        """The result of each chunk that was not refused. `take` gets the chunk and its parsed lines."""
        reader: CsvColumns | None = None
        async for chunk in chunks_of(self._call.request.stream(), self._chunk_size):
            if self._columns is not None and reader is None:
                reader = self._columns(chunk[0][1])
                chunk = chunk[1:]
            self.count += len(chunk)
            lines = [line for _, line in chunk]
            try:
                items = lines if reader is None else each_line(lines, reader.read)
                if items:
                    yield await take(chunk, items)
            except RefusedLines as refused:
                self.errors += _line_errors(refused, chunk)[: MOST_ERRORS - len(self.errors)]

    async def once(
        self, chunk: Chunk, meaning: str, make: Callable[[Context], Awaitable[T]], type_: type[T]
    ) -> T:
        """Apply a chunk; if the request has a key, only once."""
        if self._key is None:
            return await make(self._call.context)

        async def effect(context: Context) -> StoredAnswer:
            return StoredAnswer(201, {}, msgspec.json.encode(await make(context)))

        first = f"{check_key(self._key)[:200]}#{chunk[0][0]}"
        print_ = fingerprint("POST", meaning, b"\n".join(line for _, line in chunk))
        stored, _ = await once(self._call.context, first, print_, effect)
        return msgspec.json.decode(stored.body, type=type_)

    def answer(self, answer: msgspec.Struct, thing: str, number: int, done: str) -> Answer:
        """The answer: `number` things were `done`, and which lines were refused."""
        if not self.errors:
            return Answer(answer)
        refused, things = counted(len(self.errors), "line"), counted(self.count, thing)
        response = problems.problem(
            422,
            "lines_refused",
            f"{refused} refused; of {things} {number:,} were {done}",
            field=f"line {self.errors[0].line}",
            hint="correct the lines and send the chunks that were refused again",
            errors=msgspec.to_builtins(self.errors),
            request_id=request_id_of(self._call.request),
            **msgspec.to_builtins(answer),
        )
        return Answer(response.content, status=422, headers={"Content-Type": problems.MEDIA_TYPE})


def is_csv(call: Call) -> bool:
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower() == CSV


async def chunks_of(stream: AsyncIterator[bytes], size: int) -> AsyncIterator[Chunk]:
    """Cut a stream of bytes into chunks of whole lines, each with its number. Empty lines count, but are no
    items."""
    rest, number = b"", 0
    chunk: Chunk = []
    weight = 0
    async for part in stream:
        *lines, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
        if len(rest) > LONGEST_LINE:
            raise _too_long(number + len(lines) + 1)
        for line in lines:
            number += 1
            if line.strip():
                chunk.append((number, line))
                weight += len(line)
            if len(chunk) >= size or weight > LARGEST_CHUNK:
                yield chunk
                chunk, weight = [], 0
    if rest.strip():
        chunk.append((number + 1, rest))
    if chunk:
        yield chunk


def _line_errors(refused: RefusedLines, chunk: Chunk) -> list[LineError]:
    """The errors of a refused chunk, numbered by the lines of the file: a refusal counts the items of the
    chunk."""
    return [
        LineError(
            line=chunk[index - 1][0],
            code=error.code,
            detail=error.message,
            field=getattr(error, "field", None),
            hint=error.hint,
        )
        for index, error in refused.errors
    ]


def _too_long(line: int) -> InvalidField:
    return InvalidField(
        "body_too_large",
        f"line {line} is longer than {LONGEST_LINE} bytes",
        field=f"line {line}",
        hint="payloads may have 256 KiB",
    )
