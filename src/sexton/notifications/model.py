"""The values of notifications: statuses, urgencies, events."""

from __future__ import annotations

from enum import StrEnum

#: The prefixes of ids: of a message, of a campaign.
MESSAGE = "n"
CAMPAIGN = "k"

#: The queue of all runs of notifications.
QUEUE = "notifications"


class MessageStatus(StrEnum):
    """The status of a message."""

    PENDING = "pending"  # its time has not come, or it waits for a retry
    HELD = "held"  # its time has come, and something holds it
    PROCESSING = "processing"  # it is being submitted to a provider
    SENT = "sent"  # a provider has accepted it
    DELIVERED = "delivered"
    FAILED = "failed"
    BOUNCED = "bounced"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # it was too late
    SUPPRESSED = "suppressed"  # the recipient does not want it, or cannot get it
    UNCONFIRMED = "unconfirmed"  # it may have been sent: a person decides whether to send it again


#: Not submitted yet: these messages can be cancelled and rescheduled.
OPEN = (MessageStatus.PENDING, MessageStatus.HELD)


class Urgency(StrEnum):
    """How a message is treated when it is late or fails."""

    ASAP = "asap"  # retried at once; by default quiet hours do not hold it
    TIME_SENSITIVE = "time_sensitive"  # expires 30 minutes late
    DIGEST = "digest"  # expires 24 hours late


#: How late a message of an urgency may be, by default.
EXPIRES_SECONDS = {Urgency.TIME_SENSITIVE: 30 * 60, Urgency.DIGEST: 24 * 3600}


class EventKind(StrEnum):
    """An unusual event of a message: a line in `why`."""

    HELD = "held"
    RELEASED = "released"
    SUPPRESSED = "suppressed"
    FELL_BACK = "fell_back"
    RETRY = "retry"
    NOTED = "noted"  # another provider was tried first, or messages are only written to files
    DEFERRED = "deferred"  # no attempt was counted: a circuit is open, or a rate reached
    EXPIRED = "expired"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RESCHEDULED = "rescheduled"
    UNCONFIRMED = "unconfirmed"
    RESENT = "resent"
    CONFIRMED = "confirmed"  # a person decided that it counts as sent
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    OPENED = "opened"
    READ = "read"
    UNSUBSCRIBED = "unsubscribed"
