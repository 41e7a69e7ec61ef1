"""The HTTP API: `application.make_app` builds it from the operations, whose table is `routes`."""
