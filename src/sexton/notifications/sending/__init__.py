"""The way of a message that is due: held or claimed, given to its channel, settled."""
