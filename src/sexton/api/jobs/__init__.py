"""Jobs over HTTP, with their queues and targets."""
