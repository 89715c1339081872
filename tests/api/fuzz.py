"""`make fuzz-api`: requests that schemathesis makes of the OpenAPI document, on both engines.

Each service is asked twice: with whatever values the document allows, and with values that its index has, so that most
requests find something. Pytest does not collect this file by itself: schemathesis has an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from urllib.parse import urlsplit

import pytest

from tests.api.described import document, paths
from tests.api.known_values import with_known_values
from tests.buyers.service.conftest import (  # noqa: F401  # fixtures of the service for buyers
    buyers,
    buyers_database,
    buyers_market,
    buyers_settings,
)

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)
OF_BUYERS = "^/(api|[.]well-known)/"


def fuzz(client, folder, *options, is_known):
    """Send requests, print how many of each operation found something, and return the exit code.

    Args:
        client: A client of the service.
        folder: A folder for the document and the report.
        *options: Further options of schemathesis.
        is_known: True to ask for what the index has.
    """
    asked, report = folder / "openapi.json", folder / "report.har"
    described = client.get("/openapi.json").json()
    asked.write_text(json.dumps(with_known_values(client, described) if is_known else described))
    command = [os.environ["FUZZ_COMMAND"], "run", str(asked), "--url", str(client.base_url).rstrip("/")]
    limits = ["--max-examples", os.environ["FUZZ_REQUESTS"], "--seed", "1", "--workers", "1"]
    ran = subprocess.run(  # noqa: S603  # the pinned schemathesis
        [*command, "--checks", CHECKS, *limits, "--report-har-path", str(report), *options], check=False, timeout=3600
    )
    entries = json.loads(report.read_text())["log"]["entries"]
    answered, counter = Counter(), Counter()
    for entry in entries:
        name, status = operation(entry["request"]), entry["response"]["status"]
        if name is None:
            continue
        answered[name] += 1
        counter[name] += 200 <= status < 300
    for name in sorted(answered):
        print(f"{counter[name]:6} of {answered[name]:6} answers to {name} were 2xx")
    return ran.returncode


def operation(request):
    """Return the method and the path of the document that a request is of; None for an unknown method or path."""
    path, method = urlsplit(request["url"]).path, request["method"].lower()
    described = next((value for pattern, value in paths() if pattern.fullmatch(path)), None)
    return f"{method} {described}" if method in document()["paths"].get(described, {}) else None


@pytest.mark.parametrize("is_known", [True, False], ids=["known values", "any values"])
def test_no_request_makes_the_service_fail_or_break_its_document(api, tmp_path, is_known):
    assert fuzz(api, tmp_path, is_known=is_known) == 0


@pytest.mark.parametrize("is_known", [True, False], ids=["known values", "any values"])
def test_no_request_about_buyers_with_payments_does_either(buyers, tmp_path, is_known):  # noqa: F811  # the fixture
    assert fuzz(buyers, tmp_path, "--include-path-regex", OF_BUYERS, is_known=is_known) == 0
