"""`make fuzz-api`: requests that schemathesis makes of the OpenAPI document, on both engines.

Pytest does not collect this file by itself: schemathesis has an environment of its own.
"""

from __future__ import annotations

import os
import subprocess

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


def fuzz(client, *options):
    command = [os.environ["FUZZ_COMMAND"], "run", f"{str(client.base_url).rstrip('/')}/openapi.json"]
    limits = ["--max-examples", os.environ["FUZZ_REQUESTS"], "--seed", "1", "--workers", "1"]
    ran = subprocess.run(  # noqa: S603  # the pinned schemathesis
        [*command, "--checks", CHECKS, *limits, *options], check=False, timeout=3600
    )
    return ran.returncode


def test_no_request_makes_the_service_fail_or_break_its_document(api):
    assert fuzz(api) == 0


def test_no_request_about_buyers_with_payments_does_either(buyers):  # noqa: F811  # the fixture
    assert fuzz(buyers, "--include-path-regex", OF_BUYERS) == 0
