"""The share of signed ceilings that metered sellers charge: on the page of an agent, as a remark."""

from __future__ import annotations

from hashlib import sha256

import httpx
import pytest
from sqlalchemy import delete, insert

from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database, snapshot
from bilateral.index.payments.queries import metered_sales
from bilateral.index.payments.tables import payment
from bilateral.index.reading.registries import AgentKey
from tests.api.world import served
from tests.explorer.stored import BASE, BUYER, CLIENT, IDENTITY, NOTHING, RIVAL, TOKEN, WALLET, account, evidence_index
from tests.explorer.test_evidence import page

KEY = AgentKey(BASE, IDENTITY, 1, ())
DOLLAR = 10**6


def paid(amount, ceiling, agent=1, owner=WALLET, payer=CLIENT, kinship=None, block=2):
    """Return the row of a payment; of a metered one if it has a ceiling."""
    paid.rows += 1
    kind = "eip3009" if ceiling is None else "permit2-upto"
    place = (BASE, block, paid.rows, NOTHING, 1_750_000_100, sha256(b"%d" % paid.rows).digest(), TOKEN)
    values = (payer, owner, amount, amount, NOTHING, IDENTITY, agent, owner, kinship, 0, kind, ceiling)
    return dict(zip([column.name for column in payment.c], (*place, *values), strict=True))


paid.rows = 100


def others(*shares):
    """Return payments to other sellers, who charge some shares in per cent."""
    return [
        paid(share * DOLLAR, 100 * DOLLAR, agent=20 + n, owner=account(f"seller {n}")) for n, share in enumerate(shares)
    ]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('metered') / 'index.sqlite'}")
    yield engine
    engine.dispose()


@pytest.fixture
def sales(engine):
    def read(*rows):
        with engine.begin() as connection:
            connection.execute(delete(payment))
            connection.execute(insert(payment), list(rows))
        with snapshot(engine) as connection:
            found = metered_sales(connection, KEY, {WALLET})
        return found and (found.share, found.others)

    return read


def test_a_seller_without_a_meter_has_no_share(sales):
    assert sales(paid(DOLLAR, None), *others(40)) is None


def test_a_seller_that_charges_what_was_used_gets_its_share_and_no_remark(sales):
    assert sales(paid(30 * DOLLAR, 100 * DOLLAR), *others(20)) == (0.3, None)


@pytest.mark.parametrize(("charged", "remark"), [(9_899, None), (9_900, 0.4), (10_000, 0.4)])
def test_who_takes_99_of_100_where_others_take_less_gets_a_remark(sales, charged, remark):
    assert sales(paid(charged, 10_000), *others(30, 40, 100)) == (charged / 10_000, remark)


@pytest.mark.parametrize("shares", [(), (99, 100, 100)])
def test_who_takes_all_where_others_do_or_where_nobody_else_sells_gets_no_remark(sales, shares):
    assert sales(paid(DOLLAR, DOLLAR), *others(*shares)) == (1.0, None)


def test_many_small_payments_to_oneself_hide_no_share(sales):
    fakes = [paid(1, 10_000 * DOLLAR) for _ in range(200)]
    own = [paid(90 * DOLLAR, 10_000 * DOLLAR, payer=WALLET, kinship="owner")]
    assert sales(paid(50 * DOLLAR, 50 * DOLLAR), *fakes, *own, *others(40)) == (pytest.approx(1, abs=1e-5), 0.4)


def test_a_seller_of_one_huge_ceiling_speaks_for_no_other_seller(sales):
    low = [paid(10**9 * DOLLAR // 100, 10**9 * DOLLAR, agent=50, owner=account("loud")) for _ in range(20)]
    assert sales(paid(DOLLAR, DOLLAR), *low, *others(100, 100)) == (1.0, None)


def test_the_page_of_an_agent_shows_the_share_and_the_remark(tmp_path):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    evidence_index(database)
    stored = open_database(database)
    with stored.begin() as connection:
        rows = [paid(DOLLAR, DOLLAR, block=1), paid(25 * DOLLAR, 100 * DOLLAR, 2, RIVAL, BUYER, block=1)]
        connection.execute(delete(payment))
        connection.execute(insert(payment), rows)
    stored.dispose()
    settings = ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9)
    with served(settings) as url, httpx.Client(base_url=url, timeout=120) as site:
        taking, metering = (page(site, f"/base/{agent}").text for agent in (1, 2))
    assert "charged 100 % of the amounts that buyers signed for, while other sellers charged 25 %." in taking
    assert "charged 25 % of the amounts that buyers signed for." in metering
