"""Content scheduling: publish, unpublish and archive entities at a local time, once or repeatedly.

A product on the engine, built on the public parts of Sexton. Every planned action is a job: the engine
decides when it fires, retries it and records its runs. This package adds what the action does:

- `schedule`, `window`: plan, move and cancel actions; - `kind`: the kind of target that carries them out;
`execution` decides, under a lock, whether an action is still planned, and which actions must come first; -
`adapters`: the systems that store entities; `builtin` stores them in PostgreSQL, and changes them in the
transaction that ends the run; - `read`: planned actions, past ones, and the state of an entity.

The race it must win: an action that is moved or cancelled just before it is due must not be carried out. Its
row in `content_schedules` is the fence: changing an action and carrying it out both lock this row.
"""
