"""Where entities live: one adapter each, all with the contract in `base`."""
