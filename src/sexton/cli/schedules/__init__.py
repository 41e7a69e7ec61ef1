"""`sexton next` and `sexton diff`: they ask a schedule, and need no server."""
