"""What watchtowers measured weighs in a check, as of its block, and an unknown state never counts against an agent."""

from __future__ import annotations

import json

import pytest

from bilateral.checks import Payment, Policy
from bilateral.index.measurements.recording import record
from bilateral.index.measurements.values import Change, Outcome, Protocol
from tests.checks.ledger import HOUR, START, account, codes, feedback, registered, revoked
from tests.checks.test_servers import data_uri, naming
from tests.index.measurements.rows import endpoint_id, state_row

OWNER, TOWER, STRANGER = account(0xA1), account(0xB1), account(0xC1)
MCP, SHOP = "https://seller.example/mcp", "https://seller.example/buy"
MCP_KEY, SHOP_KEY = endpoint_id(Protocol.MCP, MCP), endpoint_id(Protocol.X402, SHOP)
SERVICES = [{"name": "mcp", "endpoint": MCP}, {"name": "x402", "endpoint": SHOP}]
DAY = 24 * HOUR
NOW = START + 30 * DAY
QUIET = Policy(newcomers="accept")
PAID = Payment(OWNER)
USUAL = {"no_ratings", "domain_unproven"}


def current(key, state, *, at=NOW, code="ok", since=None, vantage="eu-1"):
    return state_row(key, vantage, state, code, at if since is None else since, at)


def both(state, **fields):
    return [current(key, state, **fields) for key in (MCP_KEY, SHOP_KEY)]


def at_now(ledger):
    """Store a block of now, with an event whose time is that of answers."""
    return ledger.block(feedback(2, STRANGER, 50, index=ledger.head + 1), hours=30 * 24 - ledger.head)


@pytest.fixture
def seller(any_ledger):
    """An agent with two endpoints, a month old."""
    uri = data_uri(registrations=naming(), x402Support=True, services=SERVICES)
    any_ledger.block(registered(1, OWNER, uri), registered(2, STRANGER))
    at_now(any_ledger)
    any_ledger.settle()
    return any_ledger


def ask(seller, policy=QUIET, **options):
    """Return what measurements make of the agent."""
    check = seller.server(1, policy=policy, **options)
    return {code: severity for code, severity in codes(check).items() if code not in USUAL}


def sentence_of(check, code):
    (sentence,) = [reason.sentence for reason in check.reasons if reason.code == code]
    return sentence


def test_index_without_a_watchtower_says_nothing_about_endpoints(seller):
    assert ask(seller) == {}
    check = seller.server(1, policy=QUIET)
    assert (check.measurements, "measured_at" in check.figures) == (0, False)


def test_agent_that_answers_has_no_reason_against_it(seller):
    record(seller.engine, currents=[current(MCP_KEY, Outcome.DOWN), current(SHOP_KEY, Outcome.GATED)])
    assert ask(seller) == {}
    figures = seller.server(1, policy=QUIET).figures
    assert figures["measured_at"] == NOW
    assert [(entry["protocol"], entry["state"]) for entry in figures["endpoints"]] == [
        ("mcp", "down"),
        ("x402", "gated"),
    ]


def test_agent_whose_endpoints_are_all_down_is_unreachable(seller):
    record(seller.engine, currents=both(Outcome.UP, at=NOW - DAY))
    down = [Change(key, NOW - HOUR, "state", "up", "down", "refused") for key in (MCP_KEY, SHOP_KEY)]
    record(seller.engine, changes=down, currents=both(Outcome.DOWN))
    assert ask(seller) == {"unreachable": "caution"}
    assert ask(seller, Policy(name="strict", newcomers="accept"))["unreachable"] == "decline"
    assert sentence_of(seller.server(1), "unreachable") == (
        "All 2 endpoints have been down since 2023-12-14 21:13 UTC (refused), as of 2023-12-14 22:13 UTC."
    )


def test_agent_that_never_answered_is_not_to_be_paid_after_a_week(seller):
    record(seller.engine, currents=both(Outcome.DOWN, at=NOW - 7 * DAY + 1))
    record(seller.engine, currents=both(Outcome.DOWN))
    assert ask(seller, payment=PAID) == {"never_alive": "caution"}
    record(seller.engine, currents=both(Outcome.DOWN, at=NOW + HOUR))
    assert ask(seller) == {"never_alive": "caution"}
    assert ask(seller, payment=PAID) == {"never_alive": "decline"}


def test_state_that_is_not_known_is_no_failure(seller):
    record(seller.engine, currents=[current(MCP_KEY, Outcome.DOWN)])
    assert ask(seller) == {"not_measured": "note"}


def test_measurement_of_the_day_before_counts_no_more(seller):
    record(seller.engine, currents=both(Outcome.DOWN, at=NOW - DAY))
    assert ask(seller) == {"never_alive": "caution"}
    seller.block(feedback(2, STRANGER, 50, index=999))
    assert ask(seller) == {"not_measured": "note"}
    assert ask(seller, QUIET.model_copy(update={"maximum_measurement_age_hours": 25})) == {"never_alive": "caution"}


def test_agent_that_asks_not_to_be_probed_is_not_measured(seller):
    asking = [{**service, "probe": False} for service in SERVICES]
    seller.block(registered(3, OWNER, data_uri(registrations=naming(3), services=asking)))
    seller.settle()
    record(seller.engine, currents=both(Outcome.DOWN))
    check = seller.server(3, policy=QUIET)
    assert codes(check)["not_measured"] == "note"
    assert sentence_of(check, "not_measured") == "The registration file asks watchtowers not to probe the agent."


def test_agent_that_goes_up_and_down_is_unstable(seller):
    record(seller.engine, currents=[current(MCP_KEY, Outcome.DEGRADED, code="flapping")])
    assert ask(seller) == {"unstable": "caution"}


def test_listing_that_sells_and_asks_for_no_payment_is_free(seller):
    record(seller.engine, currents=[current(SHOP_KEY, Outcome.UP, code="free")])
    assert ask(seller) == {"free_of_charge": "note"}


@pytest.mark.parametrize(
    ("kind", "old", "new", "code", "expected"),
    [
        ("price", {"eip155:8453/0xa": "100"}, {"eip155:8453/0xa": "150"}, None, {"price_changed": "note"}),
        ("price", {"eip155:8453/0xa": "100"}, {"eip155:8453/0xa": "151"}, None, {"price_changed": "caution"}),
        ("pay_to", {"eip155:8453": STRANGER}, {"eip155:8453": OWNER.lower()}, None, {"pay_to_changed": "note"}),
        ("pay_to", [OWNER], [STRANGER], None, {"pay_to_changed": "caution"}),
        ("pay_to", [OWNER], [STRANGER], "rotates", {"pay_to_rotates": "note"}),
        ("keys", ["a"], ["b"], None, {"keys_changed": "caution"}),
        ("tools", "a", "b", None, {}),
    ],
)
def test_change_of_what_an_endpoint_says_is_told_for_a_week(seller, kind, old, new, code, expected):
    record(seller.engine, currents=both(Outcome.UP), changes=[Change(SHOP_KEY, NOW - 6 * DAY, kind, old, new, code)])
    assert ask(seller) == expected
    seller.block(feedback(2, STRANGER, 50, index=999), hours=25)
    record(seller.engine, currents=both(Outcome.UP, at=NOW + DAY))
    assert ask(seller) == {}


def test_payment_to_the_changed_account_is_declined(seller):
    record(seller.engine, currents=both(Outcome.UP), changes=[Change(SHOP_KEY, NOW, "pay_to", [OWNER], [STRANGER])])
    assert ask(seller, payment=Payment(STRANGER)) == {"pay_to_differs": "decline", "pay_to_changed": "decline"}


def test_signals_of_watchtowers_that_the_policy_names_stand_in_for_measurements(seller):
    trusting = QUIET.model_copy(update={"watchtowers": (TOWER,)})
    assert ask(seller, trusting) == {"not_measured": "note"}
    seller.block(feedback(1, STRANGER, 0, tag=b"reachable"))
    assert ask(seller, trusting) == {"not_measured": "note"}
    seller.block(feedback(1, TOWER, 0, tag=b"reachable"))
    assert ask(seller, trusting) == {"unreachable": "caution"}
    seller.block(feedback(1, TOWER, 1, index=2, tag=b"reachable"))
    assert ask(seller, trusting) == {}
    seller.block(revoked(1, TOWER, 2))
    assert ask(seller, trusting) == {"unreachable": "caution"}
    assert ask(seller) == {}


def test_answer_is_given_again_after_a_thousand_later_measurements(seller):
    record(seller.engine, currents=both(Outcome.UP))
    before = seller.server(1, policy=QUIET)
    states = ["up", "down"]
    later = [
        Change(key, NOW + number, "state", states[number % 2], states[1 - number % 2], "refused")
        for number in range(1, 501)
        for key in (MCP_KEY, SHOP_KEY)
    ]
    record(seller.engine, changes=later, currents=both(Outcome.DOWN, at=NOW + 2 * HOUR))
    assert ask(seller) == {"unreachable": "caution"}
    repeated = seller.server(1, policy=QUIET, measurements=before.measurements)
    assert json.dumps(repeated, default=vars) == json.dumps(before, default=vars)
    seller.block(feedback(2, STRANGER, 50, index=999))
    record(seller.engine, currents=both(Outcome.UP, at=NOW + 3 * HOUR))
    assert seller.server(1, policy=QUIET, at_block=before.block, measurements=before.measurements) == before
