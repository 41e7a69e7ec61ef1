"""Ways to deliver a notification: a provider each, all with the contract in `base`."""
