"""Content scheduling: publish, unpublish and archive entities at a local time, once or again and again.

A product on the engine, made with what any user of Sexton may use. Every planned action is a job: the engine
decides when it fires, tries it again and keeps its account. What is added here is what the action means:

- `schedule`, `window`: make, move and call off actions;
- `kind`: the kind of target that carries them out; `execution` decides, under a lock, whether an action still
  stands, and what must come before it;
- `adapters`: where entities live; `builtin` keeps them in PostgreSQL, and changes them in the transaction
  that ends the run;
- `read`: what is planned, what happened, and the state of an entity.

The race it must win: an action that was moved or called off a moment before it is due does not go out. Its
row in `content_schedules` is the fence. Changing an action locks the row, and so does carrying it out.
"""
