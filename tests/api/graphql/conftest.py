"""GraphQL over the world's index, without HTTP."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bilateral.api.graphql.execution import Checked, GraphqlRequest
from bilateral.index.reading.registries import Registries, read_registries
from tests.api.world import CHAIN_ID


@pytest.fixture(scope="session")
def registries(api_reader):
    return api_reader.read(read_registries)


@pytest.fixture(scope="session")
def query(api_reader, registries):
    """Answer a query, as the route does. Errors are raised."""
    # A second chain, without rows: queries about all chains take another way than those about one.
    (known,) = registries.by_chain.values()
    several = Registries({**registries.by_chain, 1: [replace(entry, chain_id=1) for entry in known]})

    def answer(text, variables=None, *, chain=CHAIN_ID):
        checked = Checked(GraphqlRequest(text, variables or {}))
        return json.loads(api_reader.read(checked.answer, several, chain))["data"]

    return answer
