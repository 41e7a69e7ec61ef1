"""Recipients: addresses, quiet hours, suppressions, unsubscribing, inboxes."""
