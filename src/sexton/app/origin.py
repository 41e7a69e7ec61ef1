"""Where another process can load an application, as `multiprocessing` does when it spawns a process.

The module that made the application is imported again, and those of its handlers. A module that was started
as the program is loaded under another name than `__main__`, so that code under `if __name__ == "__main__":`
does not run. If it still calls `app.run()`, everything is loaded by then.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sexton.engine.worker.isolation import Origin

PROGRAM = "__main__"


def origin_of(name: str, module: str, parts: Iterable[Any]) -> Origin:
    """The origin of the application of this name that the module has made; `parts` are its handlers,
    providers and listeners."""
    modules = dict.fromkeys([module, *map(_module_of, parts)])
    program_module = program_file = obstacle = None
    if PROGRAM in modules:
        program = sys.modules[PROGRAM]
        spec, file = getattr(program, "__spec__", None), getattr(program, "__file__", None)
        if spec is not None:
            program_module = spec.name
        elif file is not None:
            program_file = str(Path(file).resolve())
        else:
            obstacle = "the program that made it has no file"
    return Origin(
        app=name,
        program_file=program_file,
        program_module=program_module,
        modules=[each for each in modules if each != PROGRAM],
        path=list(sys.path),
        arguments=list(sys.argv),
        obstacle=obstacle,
    )


def _module_of(part: Any) -> str:
    while isinstance(part, functools.partial):
        part = part.func
    found = getattr(inspect.unwrap(part), "__module__", None)
    return found if isinstance(found, str) else type(part).__module__
