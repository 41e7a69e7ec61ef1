"""Notifications: messages that are sent at a time, once, by e-mail, SMS, push or into an inbox.

A product on the engine. `channels/` sends; the other modules say what, to whom and when.
"""
