"""Telling workers that there is something to claim: PostgreSQL's NOTIFY, or a broker.

    firing ──► ringer ──► broker ──► receiver of a worker ──► claim by id in PostgreSQL
    firing ──► NOTIFY ──────────────► claimer of a worker ──► claim in PostgreSQL

A doorbell only rings. A broker carries more: notices, each with the ids of some runs of one lane. In both
cases a worker has a run only after it has claimed it in PostgreSQL. So a notice that is lost, repeated, late
or out of order costs time, never correctness: workers drop the notice of a run that they cannot claim, and
the ringer rings again for a run that no worker claims.

    base        the contracts: `Doorbell`, `Broker`, and what a notice is
    postgres    NOTIFY as the doorbell: cancels and changes of lanes come this way with every broker, too
    redis, rabbitmq, nats, kafka, sqs    one broker each
    choice      the broker that `queue_url` names
    connection  the connection of a process to its broker, with deadlines
    ringer      the publishing side, in the scheduler; the consuming side is `sexton.engine.worker.receiver`

What breaks it: a broker that is away. The claimers then look into PostgreSQL by themselves every
`poll_seconds`, and the ringer drops what it cannot send and counts it.
"""
