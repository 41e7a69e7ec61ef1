"""An HTTP request as a target."""
