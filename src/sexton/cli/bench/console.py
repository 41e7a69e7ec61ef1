"""The console over very many jobs and a long history: what each view asks and how long the answers take, what
open consoles cost the process that serves them, and, with a browser, when people see something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sexton.cli.bench.console_data import fill
from sexton.cli.bench.console_requests import ask, serving
from sexton.cli.bench.console_views import find_examples
from sexton.cli.bench.harness import Say, ground
from sexton.cli.bench.open_consoles import follow


async def console(
    url: str, *, jobs: int, history: int, consoles: int, seconds: float, browser: Path | None, say: Say
) -> dict[str, Any]:
    """One measurement; `say` gets a line of progress now and then."""
    async with ground(url) as made:
        counted = await fill(made, jobs, history, say)
        examples = await find_examples(made, jobs)
        async with serving(made) as server:
            asked = await ask(made, server, examples, say)
            seen: dict[str, Any] = {}
            if browser is not None:
                from sexton.cli.bench.browser import paint, update

                seen = await paint(browser, server, examples, say)
                seen |= await update(browser, made, server, say)
            followed = await follow(made, server, examples, consoles, seconds, say) if consoles else {}
    return {"jobs": jobs, "history": history, **counted, **asked, **seen, **followed}
