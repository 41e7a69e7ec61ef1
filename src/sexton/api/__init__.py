"""The HTTP API: `application.make_app` builds it from the operations.

A room has the name of what it shows (`jobs`, `runs`, `engine`, `content`, `notifications`, `security`);
`console` is what the pages read beside. In each, `routes` is the table of what can be asked, and the modules
beside it carry it out. What all share stands here: routes, operations, problems, the document, the server.
"""
