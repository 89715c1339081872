"""Every public method of the client runs on each deployment, and does what docs/deployed-registries.md says."""

from __future__ import annotations

import pytest

from tests.sdk.deployed import buyer_scenarios, scenarios  # noqa: F401  # they register themselves
from tests.sdk.deployed.catalogue import SCENARIOS, outcome
from tests.sdk.deployed.page import PAGE, outcomes_on, public_names, with_table
from tests.sdk.deployed.world import COLUMNS

pytestmark = pytest.mark.one_client

TABLE = outcomes_on(PAGE.read_text(encoding="utf-8"))


def test_every_public_name_of_the_client_has_a_scenario():
    assert set(SCENARIOS) == set(public_names())


def test_the_page_has_a_column_for_each_deployment_in_the_form_of_the_script():
    assert tuple(TABLE) == COLUMNS, "run `make deployed-registries`"
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, TABLE) == page


@pytest.mark.parametrize("name", public_names())
@pytest.mark.parametrize("column", COLUMNS)
def test_method_does_what_the_page_says(worlds, column, name):
    assert outcome(name, worlds[column]) == TABLE[column][name], "run `make deployed-registries`"
