"""The vectors of this folder are what the scripts write, and Python reads them as they say. TypeScript does so, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bilateral.core.errors import DocumentError, UnreachableDocumentError
from bilateral.documents.ipfs import read_file
from bilateral.documents.loader import parse_ipfs_uri
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.keys import is_signature_of
from tests.vectors import exchanges, headers, ipfs, signatures
from tests.vectors.__main__ import FOLDER, MODULES, text_of


def listed(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_bytes())


@pytest.mark.parametrize("name", ["headers", "ipfs", "signatures"])
def test_file_is_what_its_script_writes(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(MODULES[name].vectors()) + "\n"


@pytest.mark.parametrize(
    "vector", signatures.vectors()["signatures"], ids=lambda vector: f"{vector['algorithm']} {vector['name']}"
)
def test_signature_is_valid_or_not_as_the_vector_says(vector):
    key, signature = vector["publicKey"], bytes.fromhex(vector["signature"])
    assert is_signature_of(signatures.DIGEST, signature, key, vector["algorithm"]) is vector["isValid"]


@pytest.mark.parametrize("vector", headers.vectors(), ids=lambda vector: vector["name"])
def test_header_is_read_or_not_as_the_vector_says(vector):
    message = decode_header(vector["header"])
    assert (message is not None) is vector["isReadable"]
    assert vector["value"] is None or vector["value"] == message


@pytest.mark.parametrize("vector", ipfs.vectors()["files"], ids=lambda vector: vector["name"])
def test_file_of_ipfs_is_read_or_not_as_the_vector_says(vector):
    blocks = {entry["cid"]: bytes.fromhex(entry["block"]) for entry in ipfs.vectors()["blocks"]}

    def fetch(cid):
        if str(cid) not in blocks:
            raise UnreachableDocumentError("no gateway has it")
        return blocks[str(cid)]

    try:
        content = read_file(fetch, *parse_ipfs_uri(vector["uri"]), 1024 * 1024).hex()
    except DocumentError:
        content = None
    assert content == vector["content"]


def test_each_recorded_exchange_is_judged_as_the_vector_says():
    vectors = listed("exchanges")
    made = exchanges.bases()
    assert vectors["bases"] == json.loads(json.dumps(made))
    assert len(vectors["cases"]) > 300
    listed_cases = [{name: case.pop(name) for name in ("base", "name", "changes")} for case in vectors["cases"]]
    assert listed_cases == json.loads(
        json.dumps([{"base": base, "name": name, "changes": changes} for base, name, changes in exchanges.cases()])
    )
    for expected, case in zip(vectors["cases"], listed_cases, strict=True):
        verification = exchanges.judge(exchanges.changed(made[case["base"]], case["changes"]))
        assert json.loads(json.dumps(exchanges.verdict(verification))) == expected, case["name"]


def test_each_case_has_a_name_of_its_own():
    names = [(base, name) for base, name, _ in exchanges.cases()]
    assert len(set(names)) == len(names)
