"""The OpenAPI document of the service."""

from __future__ import annotations

import json

from scripts.openapi import PAGE, document


def test_the_committed_document_is_that_of_the_service():
    assert PAGE.read_text(encoding="utf-8") == document(), "run make openapi"


def test_the_service_gives_its_document(api):
    answer = api.get("/openapi.json").json()
    assert answer == json.loads(PAGE.read_text(encoding="utf-8"))
    assert answer["openapi"].startswith("3.1.")


def test_every_operation_names_its_problems_and_says_what_it_does():
    for path, operations in json.loads(document())["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            if path.startswith("/v1"):
                assert "application/problem+json" in operation["responses"]["400"]["content"], path
