"""Feedback that needs a signature, by the client: authorised by the agent's owner, or sent by somebody else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from bilateral.client import AuthorizedSummary, SignedFeedback
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    IndexMismatchError,
    InvalidArgumentError,
    NodeError,
    NotAgentOwnerError,
    UnrepresentableValueError,
)
from bilateral.core.identifiers import FeedbackId
from bilateral.documents import prepare_feedback_file
from tests.sdk.client.helpers import nonce_of
from tests.sdk.client.unreliable import answers, refuses

pytestmark = pytest.mark.one_client


def now(web3):
    return datetime.fromtimestamp(web3.eth.get_block("latest")["timestamp"], UTC)


def test_an_authorised_client_gives_feedback(connect, owner, reviewer, agent):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address)
    client = connect(reviewer)
    authorized_feedback = client.give_authorized_feedback(agent, 92, authorization, tag1="defi", tag2="swap").wait()
    assert (
        authorized_feedback.agent,
        authorized_feedback.client,
        authorized_feedback.score,
        authorized_feedback.tag1,
        authorized_feedback.tag2,
    ) == (
        agent,
        reviewer.address,
        92,
        "defi",
        "swap",
    )
    (read,) = client.get_authorized_feedback(agent)
    assert read == replace(authorized_feedback, position=0, given_at=read.given_at, uri=None, hash=None)
    assert abs(read.given_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert client.get_authorized_summary(agent) == AuthorizedSummary(agent, 1, Decimal(92))


@pytest.mark.parametrize("form", ["object", "bytes", "text"])
def test_an_authorisation_is_handed_over_in_any_form(connect, owner, reviewer, agent, form):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address)
    form_of = {"object": authorization, "bytes": authorization.encoded, "text": str(authorization)}[form]
    assert connect(reviewer).give_authorized_feedback(agent, 1, form_of).wait().score == 1


def test_an_authorisation_is_for_so_much_feedback(connect, owner, reviewer, agent, web3):
    client = connect(reviewer)
    authorization = connect(owner).authorize_feedback(agent, reviewer.address, count=2)
    assert authorization.auth.index_limit == 2
    for score in (80, 91):
        client.give_authorized_feedback(agent, score, authorization).wait()
    before = nonce_of(web3, reviewer)
    with pytest.raises(ContractRevertError) as caught:
        client.give_authorized_feedback(agent, 1, authorization)
    assert caught.value.reason == "index_limit_reached"
    assert caught.value.arguments == {"lastIndex": 2, "indexLimit": 2}
    assert nonce_of(web3, reviewer) == before
    assert client.get_authorized_summary(agent).average == 85  # the registry cuts 85.5
    again = connect(owner).authorize_feedback(agent, reviewer.address, last_index=2)
    assert again.auth.index_limit == 3
    assert connect(owner).authorize_feedback(agent, reviewer.address, index_limit=9).auth.index_limit == 9


@pytest.mark.parametrize(("told", "last_index"), [(2**63, 0), (1, 0), (0, 1), (7, 8)])
def test_a_node_alone_does_not_choose_the_signed_index_limit(
    connect, node, owner, reviewer, agent, told, last_index, deployment
):
    lie = answers(f"0x{told:064x}")
    node.interference["eth_call"] = lambda parameters, forward: (
        lie() if parameters[0]["to"] == deployment.authorized else forward()
    )
    client = connect(owner, to=node.url)
    with pytest.raises(IndexMismatchError, match=f"has given {told} feedback entries .*, not {last_index}: ") as caught:
        client.authorize_feedback(agent, reviewer.address, last_index=last_index)
    error = caught.value
    assert (error.client, error.node_index, error.last_index) == (reviewer.address, told, last_index)
    assert client.authorize_feedback(agent, reviewer.address, last_index=told).auth.index_limit == told + 1


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(days=365_000)])
@pytest.mark.parametrize("method", ["authorize_feedback", "sign_feedback"])
def test_a_node_alone_does_not_choose_how_long_a_signature_lasts(
    connect, node, owner, reviewer, agent, web3, ahead, method
):
    late = answers({"timestamp": hex(int((now(web3) + ahead).timestamp()))})
    node.interference["eth_getBlockByNumber"] = late
    signer, last = (owner, reviewer.address) if method == "authorize_feedback" else (reviewer, 5)
    client = connect(signer, to=node.url)
    with pytest.raises(InvalidArgumentError, match="more than a day ahead: pass a"):
        getattr(client, method)(agent, last)
    later = {"expiry" if method == "authorize_feedback" else "deadline": now(web3) + ahead + timedelta(hours=1)}
    assert getattr(client, method)(agent, last, **later)


def test_an_authorisation_expires(connect, owner, reviewer, agent, web3):
    client = connect(owner)
    default = client.authorize_feedback(agent, reviewer.address)
    moment = now(web3) + timedelta(hours=1)
    assert client.authorize_feedback(agent, reviewer.address, expiry=moment).auth.expiry == int(moment.timestamp())
    assert default.auth.expiry == int((now(web3) + timedelta(days=1)).timestamp())
    with pytest.raises(InvalidArgumentError, match="has passed"):
        client.authorize_feedback(agent, reviewer.address, expiry=now(web3) - timedelta(seconds=1))
    with pytest.raises(InvalidArgumentError, match="time zone"):
        client.authorize_feedback(agent, reviewer.address, expiry=datetime(2100, 1, 1))  # noqa: DTZ001


def test_only_the_owner_authorises(connect, owner, other_owner, reviewer, agent):
    with pytest.raises(NotAgentOwnerError) as caught:
        connect(other_owner).authorize_feedback(agent, reviewer.address)
    assert (caught.value.signer, caught.value.owner) == (other_owner.address, owner.address)


@pytest.mark.parametrize("numbers", [{"count": 0}, {"index_limit": 2**64}, {"index_limit": -1}, {"index_limit": True}])
def test_an_invalid_limit_is_refused(connect, owner, reviewer, agent, numbers):
    with pytest.raises(InvalidArgumentError):
        connect(owner).authorize_feedback(agent, reviewer.address, **numbers)


def test_an_authorisation_is_for_one_client(connect, owner, reviewer, other_reviewer, agent):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address)
    with pytest.raises(ContractRevertError) as caught:
        connect(other_reviewer).give_authorized_feedback(agent, 1, authorization)
    assert caught.value.reason == "client_not_authorized"


@pytest.mark.parametrize(
    ("score", "tags", "authorization"),
    [
        (256, {}, b""),
        (-1, {}, b""),
        (True, {}, b""),
        (1, {"tag1": "x" * 33}, b""),
        (1, {"tag2": "x\0"}, b""),
        (1, {}, "0xno"),
    ],
)
@pytest.mark.parametrize("file", [None, prepare_feedback_file(text="Said")])
def test_authorised_feedback_that_does_not_fit_is_refused(connect, reviewer, agent, score, tags, authorization, file):
    with pytest.raises(InvalidArgumentError):
        connect(reviewer).give_authorized_feedback(agent, score, authorization, file=file, **tags)


def test_a_score_is_100_at_most(connect, owner, reviewer, agent):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address)
    assert connect(reviewer).give_authorized_feedback(agent, 100, authorization, tag1="x" * 32).wait().score == 100
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).give_authorized_feedback(agent, 101, authorization)
    assert caught.value.reason == "score_too_high"


def test_authorised_feedback_comes_with_a_file(connect, owner, reviewer, agent):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address)
    client = connect(reviewer)
    authorized_feedback = client.give_authorized_feedback(
        agent, 5, authorization, file=prepare_feedback_file(text="Said")
    ).wait()
    file = client.state.loader.load(authorized_feedback.uri, authorized_feedback.hash).feedback()
    assert (file.text, file.value) == ("Said", 5)


@pytest.mark.parametrize("tags", [{"tag1": "reachable"}, {"tag1": "tradingYield", "tag2": "swap"}])
def test_a_score_is_a_score_whatever_its_tag_means_to_open_feedback(connect, owner, reviewer, agent, tags):
    authorization = connect(owner).authorize_feedback(agent, reviewer.address, count=2)
    client = connect(reviewer)
    assert client.give_authorized_feedback(agent, 100, authorization, **tags).wait().score == 100
    file = prepare_feedback_file(text="Said")
    authorized_feedback = client.give_authorized_feedback(agent, 100, authorization, **tags, file=file).wait()
    stored = client.state.loader.load(authorized_feedback.uri, authorized_feedback.hash).feedback()
    assert (authorized_feedback.score, stored.value, stored.value_decimals) == (100, 100, 0)
    assert (authorized_feedback.tag1, stored.tag1) == (tags["tag1"], tags["tag1"])


def test_authorised_feedback_is_read_by_pages_and_clients(connect, node, owner, reviewer, other_reviewer, agent):
    for signer, former, scores in ((reviewer, 0, (1, 2)), (other_reviewer, 0, (3,)), (reviewer, 2, (4,))):
        count = len(scores)
        authorization = connect(owner).authorize_feedback(agent, signer.address, count=count, last_index=former)
        for score in scores:
            connect(signer).give_authorized_feedback(agent, score, authorization).wait()

    def one_at_a_time(parameters, forward):
        data = bytes.fromhex(parameters[0]["data"][2:])
        is_page = len(data) >= 4 + 3 * 32 and int.from_bytes(data[-32:]) > 1
        return refuses("out of gas")(parameters, forward) if is_page else forward()

    for client in (connect(), connect(to=node.url)):
        node.interference["eth_call"] = one_at_a_time

        def scores(client=client, **options):
            return [entry.score for entry in client.get_authorized_feedback(agent, **options)]

        assert scores() == [1, 2, 3, 4]
        assert scores(client_address=reviewer.address) == [1, 2, 4]
        assert scores(offset=1, limit=2) == [2, 3]
        assert scores(limit=0) == scores(offset=4) == []


def test_a_node_that_refuses_the_smallest_page_fails(connect, node, agent):
    client = connect(to=node.url)
    client.get_deployment()
    node.interference["eth_call"] = refuses("out of gas")
    with pytest.raises(NodeError, match="out of gas"):
        client.get_authorized_feedback(agent)


def test_an_agent_without_authorised_feedback_has_no_average(connect, agent):
    assert connect().get_authorized_summary(agent) == AuthorizedSummary(agent, 0, None)
    assert connect().get_authorized_feedback(agent) == []


def test_somebody_else_pays_for_signed_feedback(connect, newcomer, payer, agent, web3):
    file = prepare_feedback_file(text="Signed")
    signed = connect(newcomer).sign_feedback(agent, "99.5", "uptime", "week", "https://a.example", file)
    handed_over = SignedFeedback.from_json(signed.to_json())
    assert handed_over == signed
    entry = connect(payer).submit_signed_feedback(handed_over).wait()
    assert entry.id == FeedbackId(agent, newcomer.address, 1)
    assert (entry.value, entry.tags, entry.event.endpoint) == (Decimal("99.5"), ("uptime", "week"), "https://a.example")
    assert connect().get_feedback(entry.id).text == "Signed"
    assert nonce_of(web3, newcomer) == 0


def test_signed_feedback_counts_once(connect, newcomer, payer, agent):
    signed = connect(newcomer).sign_feedback(agent, 1)
    client = connect(payer)
    client.submit_signed_feedback(signed).wait()
    with pytest.raises(ContractRevertError) as caught:
        client.submit_signed_feedback(signed)
    assert caught.value.reason == "unexpected_feedback_index"
    assert connect(newcomer).sign_feedback(agent, 1).feedback.feedback_index == 2


def test_signed_feedback_is_what_was_signed(connect, newcomer, payer, agent):
    signed = connect(newcomer).sign_feedback(agent, 1)
    changed = replace(signed, feedback=replace(signed.feedback, value=100))
    with pytest.raises(ContractRevertError) as caught:
        connect(payer).submit_signed_feedback(changed)
    assert caught.value.reason == "invalid_signature"
    assert caught.value.arguments == {"signer": newcomer.address}


def test_signed_feedback_has_a_deadline(connect, newcomer, agent, web3):
    client = connect(newcomer)
    with pytest.raises(InvalidArgumentError, match="has passed"):
        client.sign_feedback(agent, 1, deadline=now(web3) - timedelta(seconds=1))
    moment = now(web3) + timedelta(hours=1)
    assert client.sign_feedback(agent, 1, deadline=moment).feedback.deadline == int(moment.timestamp())


def test_feedback_that_the_registry_would_refuse_is_not_signed(connect, owner, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).sign_feedback(agent, 1)
    assert caught.value.reason == "self_feedback"
    with pytest.raises(UnrepresentableValueError):
        connect(owner).sign_feedback(agent, 101, "starred")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"agent_id": "1"}', pytest.param("[" * 100_000, id="deep")])
def test_an_invalid_text_of_signed_feedback_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="this is not signed feedback"):
        SignedFeedback.from_json(text)


def test_signed_feedback_with_a_field_of_the_wrong_type_is_refused(connect, newcomer, agent):
    signed = connect(newcomer).sign_feedback(agent, 1)
    with pytest.raises(InvalidArgumentError, match="wrong type"):
        SignedFeedback.from_json(signed.to_json().replace('"value": 1,', '"value": "1",'))


@pytest.mark.parametrize("arguments", [{"offset": -1}, {"limit": -1}, {"limit": 2**256}])
def test_a_number_of_feedback_is_not_negative(connect, agent, arguments):
    with pytest.raises(InvalidArgumentError, match="a whole number from 0"):
        connect().get_authorized_feedback(agent, **arguments)


def test_an_account_that_may_act_for_an_agent_gets_no_authorisation(connect, owner, agent):
    with pytest.raises(InvalidArgumentError, match="may act for the agent"):
        connect(owner).authorize_feedback(agent, owner.address)
