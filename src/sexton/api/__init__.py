"""The HTTP API: `application.make_app` builds it from the operations.

Each package has the name of what it shows (`jobs`, `runs`, `engine`, `content`, `notifications`, `security`);
`console` serves the pages. In each, `routes` is the table of routes, and the modules beside it carry them
out. This package holds what they share: routes, operations, problems, the OpenAPI document, the server.
"""
