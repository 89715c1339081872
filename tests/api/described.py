"""Compares the answers that tests get with the OpenAPI document: every test of the service is a test of the document.

The document is made of the types of answers in Python. JSON may differ from them: a number of 256 bits is text.
"""

from __future__ import annotations

import functools
import json
import re

import httpx
from jsonschema import Draft202012Validator

from scripts.openapi import PAGE


@functools.cache
def document():
    """Return the committed document. A test compares it with that of the service."""
    return json.loads(PAGE.read_text(encoding="utf-8"))


@functools.cache
def paths():
    """Return the paths of the document as patterns, the plain ones first."""
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", entry)))), entry) for entry in paths]


@functools.cache
def validator(path, method, status, media_type):
    """Return the validator of an answer's JSON.

    Raises:
        AssertionError: The document does not have such an answer.
    """
    answers = document()["paths"][path][method]["responses"]
    described = answers.get(status) or answers.get("default")
    assert described is not None, f"{method} {path} does not describe the status {status}"
    content = described.get("content", {})
    assert media_type in content, f"{method} {path} does not describe {media_type} for {status}"
    return Draft202012Validator({**content[media_type].get("schema", {}), "components": document()["components"]})


def compare(response):
    """Compare an answer with the document, if the document has its path.

    Args:
        response: The answer, before its body is read.
    """
    request = response.request
    path = next((path_ for pattern, path_ in paths() if pattern.fullmatch(request.url.path)), None)
    method = "get" if request.method == "HEAD" else request.method.lower()
    if path is None or method not in document()["paths"][path] or response.status_code == httpx.codes.NOT_MODIFIED:
        return
    media_type = response.headers["content-type"].partition(";")[0]
    described = validator(path, method, str(response.status_code), media_type)
    if media_type.endswith("json") and request.method != "HEAD":
        errors = [f"{error.json_path}: {error.message}" for error in described.iter_errors(json.loads(response.read()))]
        assert not errors, (f"{method} {request.url} breaks docs/openapi.json", errors[:5])


def comparing_client(url):
    """Return an HTTP client that compares each answer.

    Args:
        url: The service.
    """
    return httpx.Client(base_url=url, timeout=120, event_hooks={"response": [compare]})
