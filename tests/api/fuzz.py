"""`make fuzz-api`: requests that schemathesis makes of the OpenAPI document, on both engines.

Pytest does not collect this file by itself: schemathesis has an environment of its own.
"""

from __future__ import annotations

import os
import subprocess

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)


def test_no_request_makes_the_service_fail_or_break_its_document(api):
    command = [os.environ["FUZZ_COMMAND"], "run", f"{str(api.base_url).rstrip('/')}/openapi.json", "--checks", CHECKS]
    limits = ["--max-examples", os.environ["FUZZ_REQUESTS"], "--seed", "1", "--workers", "1"]
    ran = subprocess.run([*command, *limits], check=False, timeout=3600)  # noqa: S603  # the pinned schemathesis
    assert ran.returncode == 0
