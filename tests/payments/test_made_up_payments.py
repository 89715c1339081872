"""Client, server and index agree with a plain model about payments of every kind. `make prove` tries many more."""

from __future__ import annotations

import pytest

from scripts._anvil import running_anvil
from tests.payments.chain import OPTIONS
from tests.payments.stories import ACTS, CASES, CHANNEL_ACTS
from tests.payments.trial import run

COUNT = 12 * len(CASES) // 11 + 12
"""As many as have every act and flaw, and some more."""


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    database = f"sqlite:///{tmp_path_factory.mktemp('payments')}/index.sqlite"
    with running_anvil(*OPTIONS) as url:
        return run(url, COUNT, 1, database)


def test_client_server_and_index_agree_with_the_model(trial):
    assert trial.disagreements == []


def test_every_act_and_flaw_comes_and_most_payments_count(trial):
    assert set(ACTS) | set(CHANNEL_ACTS) <= set(trial.tally)
    assert trial.tally["index with traces"] > trial.tally["index without traces"] > COUNT // 4
