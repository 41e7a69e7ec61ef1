"""Ask the HTTP API: SEXTON_URL says where it is, SEXTON_API_KEY who asks, if that is needed."""

import json
import os
import urllib.request


def ask(method, path, body=None, content_type="application/json"):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    headers = {"Content-Type": content_type}
    if key := os.environ.get("SEXTON_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    url = os.environ["SEXTON_URL"] + "/api/v1" + path
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None
