"""Notifications: sends each message once, at the right local time.

A product on the engine, built on the public parts of Sexton. The table `messages` is the ledger: one row for
each message to one recipient, with its state. Unusual events (held, suppressed, fallen back, retried,
expired, delivered, bounced) are rows of `message_events`.

The engine decides when. A wave is a job for one second of a namespace. Its run sends all messages that are
due, whichever wave they belong to, so a hundred thousand messages of one second are one job. A hold, a retry
and a fall-back move a message to another wave. A campaign is one job, and its runs send chunks of its
messages.

The race it must win: a message is sent once, whichever process dies. A batch is marked as being submitted
before it is given to the channel, and settled after it, with keys that never change. Messages that a crash
leaves in between are sent again only if the provider recognises the key; else they are `unconfirmed` until a
person decides.
"""
