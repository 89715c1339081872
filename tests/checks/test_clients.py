"""Should I serve this client?"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from bilateral.checks import (
    BuyerRecord,
    Finding,
    FoundFindings,
    Newcomers,
    Policy,
    ProvenTier,
    Severity,
    Trust,
    UnknownAgentError,
    Verdict,
)
from bilateral.checks.verdicts import DAY
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.values.failures import FailureCount, FailureReason
from tests.checks.ledger import (
    CHAIN_ID,
    START,
    account,
    authorized,
    client_rated,
    codes,
    feedback,
    registered,
    revoked,
    transferred,
    wallet_set,
)

CLIENT, SERVER, STRANGER = account(0xC1), account(0xC2), account(0xC3)
SERVERS = range(10, 30)
TRUSTING = Policy(trust=Trust(agents=tuple(SERVERS)))


@pytest.fixture
def rated(ledger):
    """Agent 1 is a client that twenty servers rated 90; agent 2 is the server that asks."""
    ledger.block(registered(1, CLIENT), registered(2, SERVER))
    ledger.block(*(registered(number, account(0x5000 + number)) for number in SERVERS))
    ledger.block(*(client_rated(1, number, 90) for number in SERVERS))
    return ledger


def test_well_rated_client_is_accepted_with_the_figures(rated):
    check = rated.client(policy=TRUSTING, for_server=2)
    assert (check.verdict, codes(check), check.account) == (Verdict.ACCEPT, {}, CLIENT)
    assert (check.figures["rating"]["rating"], check.figures["rating"]["raters"]) == (Decimal("90.00"), 20)
    assert [(entry["server"], entry["rating"]) for entry in check.figures["rated_by"][:2]] == [
        (f"{CHAIN_ID}:29", 90),
        (f"{CHAIN_ID}:28", 90),
    ]


def test_account_stands_for_the_agent_that_it_acts_as(rated):
    assert rated.client(CLIENT, policy=TRUSTING) == rated.client(1, policy=TRUSTING)
    rated.block(wallet_set(1, STRANGER))
    assert rated.client(STRANGER, policy=TRUSTING).agent == f"{CHAIN_ID}:1"


def test_own_low_rating_declines_whatever_others_say(rated):
    rated.block(client_rated(1, 2, 35))
    check = rated.client(policy=TRUSTING, for_server=2)
    assert codes(check) == {"low_rating_by_us": "decline"}
    (reason,) = check.reasons
    assert (reason.evidence[0].event, reason.evidence[0].block) == ("ClientRated", rated.head)
    assert check.figures["rating_by_us"] == 35


@pytest.mark.parametrize(("rating", "code"), [(70, "rated_by_us"), (69, "low_rating_by_us")])
def test_seventy_is_the_lowest_own_rating_that_passes(rated, rating, code):
    rated.block(client_rated(1, 2, rating))
    assert code in codes(rated.client(policy=TRUSTING, for_server=SERVER))


def test_ratings_of_unlisted_servers_do_not_count(rated):
    rated.block(registered(99, STRANGER), client_rated(1, 99, 0))
    assert rated.client(policy=TRUSTING).figures["rating"]["left_out"] == 1
    assert rated.client(policy=Policy(trust=Trust(accounts=(STRANGER,)))).figures["rating"]["rating"] == Decimal(0)


def test_servers_above_a_lower_bound_are_trusted(rated):
    rated.block(*(feedback(10, account(0x9000 + number), 100) for number in range(40)))
    policy = Policy(trust=Trust(minimum_lower_bound=90))
    figures = rated.client(policy=policy).figures["rating"]
    assert (figures["raters"], figures["left_out"]) == (1, 19)


def test_ratings_by_own_agents_do_not_count(rated):
    rated.block(registered(3, CLIENT), client_rated(1, 3, 100))
    check = rated.client()
    assert (check.figures["rating"]["own"], check.figures["rating"]["raters"]) == (1, 20)
    assert codes(check)["own_ratings"] == "caution"


@pytest.mark.parametrize(
    ("anonymous", "severity"), [("accept", "note"), ("caution", "caution"), ("decline", "decline")]
)
def test_policy_decides_about_clients_without_an_agent(rated, anonymous, severity):
    check = rated.client(STRANGER, policy=Policy(anonymous=Newcomers(anonymous)))
    assert (codes(check), check.agent, check.account) == ({"no_agent": severity}, None, STRANGER)


@pytest.mark.parametrize(("value", "code"), [(0, "only_lowest"), (100, "only_highest"), (1, None), (99, None)])
def test_client_that_gives_one_value_to_all_is_named(rated, value, code):
    rated.block(*(feedback(number, CLIENT, value) for number in range(10, 15)))
    reasons = codes(rated.client(policy=TRUSTING))
    assert reasons == ({} if code is None else {code: "caution" if value == 0 else "note"})


def test_four_feedbacks_judge_nobody(rated):
    rated.block(*(feedback(number, CLIENT, 0) for number in range(10, 14)))
    assert codes(rated.client(policy=TRUSTING)) == {}


def test_revoked_feedback_judges_nobody(rated):
    rated.block(*(feedback(number, CLIENT, 0) for number in range(10, 15)))
    rated.block(revoked(10, CLIENT))
    check = rated.client(policy=TRUSTING)
    assert codes(check) == {}
    assert check.figures["given"] == {
        "count": 5,
        "is_cut": False,
        "agents": 5,
        "revoked": 1,
        "lowest": 4,
        "highest": 0,
    }


def test_client_with_the_owner_of_the_server_is_related(rated):
    rated.block(transferred(1, CLIENT, SERVER))
    rated.block(transferred(1, SERVER, CLIENT))
    check = rated.client(policy=TRUSTING, for_server=2)
    assert codes(check)["related"] == "caution"
    assert any(SERVER in reason.sentence for reason in check.reasons)


def test_account_of_the_server_itself_is_related(rated):
    assert "related" in codes(rated.client(SERVER, for_server=2))


@pytest.mark.parametrize(
    "feedback_event", [feedback(2, STRANGER, 90), authorized(2, STRANGER, 90)], ids=["open", "authorized"]
)
def test_age_of_an_account_without_an_agent_counts_from_what_it_did_first(rated, feedback_event):
    policy = Policy(minimum_age_days=2)
    fresh = rated.client(STRANGER, policy=policy)
    assert "The account has never been seen; the policy requires an age of 2 days." in {
        reason.sentence for reason in fresh.reasons
    }
    assert (fresh.figures["age_days"], fresh.figures["first_seen"]) == (None, None)
    first = rated.block(feedback_event)
    rated.block(feedback(2, STRANGER, 90, 2), hours=47)
    young = rated.client(STRANGER, policy=policy)
    (reason,) = [reason for reason in young.reasons if reason.code == "too_young"]
    assert reason.sentence == "The account was first seen 1 day ago; the policy requires an age of 2 days."
    assert [(entry.event, entry.block) for entry in reason.evidence] == [("NewFeedback", first)]
    rated.block(feedback(2, STRANGER, 90, 3), hours=1)
    assert "too_young" not in codes(rated.client(STRANGER, policy=policy))
    paid = BuyerRecord(Decimal(40), 1, first_at=START - 5 * DAY)
    assert rated.client(STRANGER, policy=policy, buyers=lambda *_: paid).figures["age_days"] >= 5


def test_record_of_the_buyer_counts(rated):
    def buyers(connection, moment, buyer):
        assert (moment.chain_id, buyer) == (CHAIN_ID, CLIENT)
        return BuyerRecord(Decimal(40), 7)

    policy = TRUSTING.model_copy(update={"minimum_buyer_score": Decimal(41)})
    check = rated.client(policy=policy, buyers=buyers)
    assert codes(check) == {"low_buyer_score": "decline"}
    assert check.figures["buyer"] == {"score": Decimal(40), "payments": 7}
    assert codes(rated.client(policy=TRUSTING, buyers=buyers)) == {}


def test_failed_settlements_with_the_server_that_asks_call_for_caution(rated):
    reasons = {FailureReason.INSUFFICIENT_BALANCE: 2, FailureReason.AUTHORIZATION_CANCELED: 1}
    check = rated.client(policy=TRUSTING, failures=FailureCount(3, START, reasons))
    assert codes(check) == {"failed_settlements": "caution"}
    assert check.reasons[0].sentence == (
        "3 payments to you failed after you had delivered the service, "
        f"the last on {datetime.fromtimestamp(START, UTC).date()}: "
        "1 by authorization canceled, 2 by insufficient balance."
    )
    assert check.figures["failed_settlements"] == {"number": 3, "last_at": START, "reasons": reasons}


def test_client_without_failed_settlements_gets_no_reason(rated):
    check = rated.client(policy=TRUSTING, failures=FailureCount())
    assert (codes(check), check.figures["failed_settlements"]["number"]) == ({}, 0)
    assert "failed_settlements" not in rated.client(policy=TRUSTING).figures


def test_fresh_account_with_a_proven_tier_is_not_too_young(rated):
    policy = Policy(minimum_age_days=2)
    check = rated.client(STRANGER, policy=policy, tier_proof=ProvenTier("trusted", 22_000))
    (reason,) = [reason for reason in check.reasons if reason.code == "tier_proven"]
    expected = "The buyer behind the account proved privately, for day 22000, that its tier is at least trusted."
    assert reason.sentence == expected
    assert codes(check)["tier_proven"] == "note"
    assert "too_young" not in codes(check)


def test_findings_are_reasons_like_the_others(rated):
    def findings(connection, moment, accounts):
        assert accounts == [CLIENT]
        return FoundFindings(
            (
                Finding("links-1", CLIENT, "links", "The account paid its raters."),
                Finding("blocks-2", CLIENT, "blocks", "The account is in a circle.", Severity.DECLINE),
            ),
            analysis=1,
        )

    check = rated.client(policy=TRUSTING, findings=findings)
    assert [(reason.code, reason.severity, reason.sentence) for reason in check.reasons] == [
        ("finding", "decline", "The account is in a circle."),
        ("finding", "caution", "The account paid its raters."),
    ]
    assert [finding["finding"] for finding in check.figures["findings"]] == ["links-1", "blocks-2"]


def test_unknown_agents_are_errors(rated):
    with pytest.raises(UnknownAgentError, match="agent 77 does not exist"):
        rated.client(77)
    with pytest.raises(UnknownAgentError, match="agent 78 does not exist"):
        rated.client(1, for_server=78)
    with pytest.raises(MalformedIdentifierError):
        rated.client("0x12")
    with pytest.raises(MalformedIdentifierError, match="identity registry is not"):
        rated.client(1, for_server="1:2")


@pytest.mark.parametrize("text", ["0x12", "0X" + "1" * 39, "0x", "0x" + "1" * 41])
def test_account_of_the_wrong_length_is_shown_in_the_message(rated, text):
    with pytest.raises(MalformedIdentifierError, match=f'^"{text}" is not an agent id: .*40 hexadecimal digits'):
        rated.client(text)
    with pytest.raises(MalformedIdentifierError, match=f'^"{text}" is not an agent id: '):
        rated.server(text)
