"""Who may do what: `sexton keys`, `namespaces`, `sessions`, `login`, `audit`, `secret`."""
