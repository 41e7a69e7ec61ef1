"""Notifications: the right message, at the right local time, once.

A product on the engine, made with what any user of Sexton may use. The ledger is the table `messages`: one
row for each message to one recipient. It says everything about the message; what is unusual (held,
suppressed, fallen back, tried again, expired, delivered, bounced) is one row each in `message_events`.

The engine decides when. A wave is a job for one second of a namespace; its run sends all messages that are
due, whichever wave they belong to, and a hundred thousand messages of one second are one job. A hold, a
retry and a fall-back move the message on, to another wave. A campaign is one job, and its runs are chunks
of its ledger.

The race it must win: a message is sent once, whatever dies. A batch is marked as being submitted before it
is given to the channel and settled after it, under keys that never change. What a crash leaves in between
is sent again only where the provider knows the key; elsewhere it is `unconfirmed`, and waits for a person's
word.
"""
