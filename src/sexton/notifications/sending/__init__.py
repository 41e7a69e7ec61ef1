"""Sends due messages: claims or holds them, gives them to their channel, and settles them."""
