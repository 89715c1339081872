"""Reading much feedback by the client: all of an agent's, searches, averages, and nodes that limit them."""

from __future__ import annotations

import time
from decimal import Decimal
from itertools import pairwise

import pytest
from eth_abi import encode

from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, NodeError, UnexpectedAnswerError, UnrepresentableValueError
from bilateral.core.identifiers import checksummed
from bilateral.core.values import FeedbackValue
from bilateral.core.values.summaries import summarize
from bilateral.documents import prepare_feedback_file
from tests.sdk.client.unreliable import answers, refuses
from tests.sdk.servers import respond


@pytest.fixture
def reviewed(connect, reviewer, other_reviewer, agent):
    """An agent with feedback of two clients."""
    first, second = connect(reviewer), connect(other_reviewer)
    first.give_feedback(agent, 80, "starred", "finance").wait()
    second.give_feedback(agent, "99.5", "uptime").wait()
    first.give_feedback(agent, 90, "starred").wait()
    first.give_feedback(agent, 1, "reachable").wait()
    first.revoke_feedback(agent, 2).wait()
    return agent


def values(entries):
    return [entry.value for entry in entries]


def test_all_feedback_is_read_by_client_then_by_index(connect, reviewed, reviewer, other_reviewer):
    entries = connect().read_all_feedback(reviewed)
    assert [(entry.id.client, entry.id.on_chain_index) for entry in entries] == [
        (reviewer.address, 1),
        (reviewer.address, 2),
        (other_reviewer.address, 1),
    ]
    assert values(entries) == [80, 90, Decimal("99.5")]
    assert connect().get_clients(reviewed) == [reviewer.address, other_reviewer.address]


def test_all_feedback_is_read_by_reviewer_and_tag(connect, reviewed, reviewer, other_reviewer):
    client = connect()
    assert values(client.read_all_feedback(reviewed, reviewers=[other_reviewer.address.lower()])) == [Decimal("99.5")]
    assert values(client.read_all_feedback(reviewed, tag1="starred")) == [80, 90]
    assert values(client.read_all_feedback(reviewed, tag2="finance")) == [80]
    assert client.read_all_feedback(reviewed, reviewers=[]) == []
    twice = [reviewer.address, reviewer.address]
    assert values(client.read_all_feedback(reviewed, reviewers=twice)) == [80, 90]


def test_an_agent_without_feedback_has_none(connect, agent):
    client = connect()
    assert client.read_all_feedback(agent) == client.get_clients(agent) == client.search_feedback(agent) == []
    summary = client.get_reputation_summary(agent)
    assert (summary.count, summary.average, summary.reviewers, summary.is_everybody) == (0, None, (), True)


@pytest.mark.one_client
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [80, 90, Decimal("99.5")]),
        ({"tags": ["starred"]}, [80, 90]),
        ({"tags": ["finance", "starred"]}, [80]),
        ({"min_value": "80.5"}, [90, Decimal("99.5")]),
        ({"min_value": 80, "max_value": 90}, [80, 90]),
        ({"max_value": Decimal("79.999")}, []),
        ({"include_revoked": True, "tags": ["reachable"]}, [1]),
        ({"tags": ["reachable"]}, []),
    ],
)
def test_feedback_is_searched(connect, reviewed, query, expected):
    assert values(connect().search_feedback(reviewed, **query)) == expected


def test_a_bound_of_another_type_is_refused(connect, reviewed):
    with pytest.raises(UnrepresentableValueError):
        connect().search_feedback(reviewed, min_value=0.5)


def test_several_agents_are_searched(connect, register, reviewer):
    first, second = register(), register()
    client = connect(reviewer)
    client.give_feedback(first, 1).wait()
    client.give_feedback(second, 2).wait()
    assert values(client.search_feedback(agent_ids=[second, first, second])) == [2, 1]
    assert values(client.search_feedback(first, agent_ids=[second])) == [1, 2]


def test_all_feedback_of_a_reviewer_is_found(connect, register, newcomer, reviewer):
    first, second = register(), register()
    client = connect(newcomer)
    client.give_feedback(first, 1).wait()
    client.give_feedback(second, 2).wait()
    connect(reviewer).give_feedback(first, 3).wait()
    assert values(client.search_feedback(reviewers=[newcomer.address])) == [1, 2]


def test_a_search_for_everything_is_refused(connect):
    for reviewers in (None, []):
        with pytest.raises(InvalidArgumentError, match="pass an agent or a reviewer"):
            connect().search_feedback(reviewers=reviewers)


@pytest.mark.one_client
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"capabilities": ["tools"]}, [1]),
        ({"capabilities": ["prompts", "tools"], "names": ["analyzer"]}, [1]),
        ({"names": ["greeting"]}, [2]),
        ({"capabilities": ["tools"], "names": ["greeting"]}, []),
        ({"skills": ["trading"]}, [2]),
        ({"skills": ["nlp/summary"]}, [3]),
        ({"tasks": ["task-1"]}, [3]),
    ],
)
def test_feedback_is_found_by_the_contents_of_its_file(connect, reviewer, other_reviewer, agent, query, expected):
    client = connect(reviewer)
    for value, content in enumerate(
        (
            {"capability": "tools", "name": "analyzer"},
            {"capability": "prompts", "name": "greeting", "skill": "trading"},
            {"task": "task-1", "oasf_skills": ["nlp/summary"]},
        ),
        1,
    ):
        client.give_feedback(agent, value, feedback_file=prepare_feedback_file(**content)).wait()
    connect(other_reviewer).give_feedback(agent, 4).wait()
    assert values(client.search_feedback(agent, **query)) == expected


def test_a_search_loads_files(connect, reviewer, agent):
    client = connect(reviewer)
    client.give_feedback(agent, 1, feedback_file=prepare_feedback_file(text="Said")).wait()
    client.give_feedback(agent, 2).wait()
    assert [entry.text for entry in client.search_feedback(agent, load_files=True)] == ["Said", ""]
    assert [entry.event for entry in client.search_feedback(agent)] == [None, None]


def test_a_summary_says_whose_it_is(connect, reviewed, reviewer, other_reviewer):
    client = connect()
    everybody = client.get_reputation_summary(reviewed, "starred")
    assert (everybody.count, everybody.average, everybody.is_everybody) == (2, Decimal(85), True)
    assert everybody.reviewers == (reviewer.address, other_reviewer.address)
    trusted = client.get_reputation_summary(reviewed, reviewers=[other_reviewer.address])
    assert (trusted.count, trusted.average, trusted.is_everybody) == (1, Decimal("99.5"), False)
    assert client.get_reputation_summary(reviewed, reviewers=[]).count == 0


def limited(most):
    """A node that refuses calls for the feedback of more clients than that, or of all."""

    def answer(parameters, forward):
        data = bytes.fromhex(parameters[0]["data"][2:])
        if data[:4].hex() in _BY_CLIENT:
            start = 4 + int.from_bytes(data[36:68])
            number = int.from_bytes(data[start : start + 32])
            if number == 0 or number > most:
                return refuses("out of gas")(parameters, forward)
        return forward()

    return answer


_BY_CLIENT = {"81bbba58", "d9d84224"}  # getSummary, readAllFeedback
_GET_CLIENTS = "0x42dd519c"


@pytest.mark.one_client
@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_node_that_limits_calls_is_asked_for_parts(connect, node, reviewed, most):
    whole, limited_client = connect(), connect(to=node.url)
    node.interference["eth_call"] = limited(most)
    assert limited_client.read_all_feedback(reviewed, tag1="starred") == whole.read_all_feedback(
        reviewed, tag1="starred"
    )
    everything = limited_client.read_all_feedback(reviewed, include_revoked=True)
    assert everything == whole.read_all_feedback(reviewed, include_revoked=True)
    assert limited_client.get_reputation_summary(reviewed) == whole.get_reputation_summary(reviewed)


@pytest.mark.one_client
@pytest.mark.parametrize("refusal", [refuses("block range too large"), lambda *_: 413], ids=["JSON-RPC", "HTTP"])
def test_a_node_that_limits_logs_is_asked_for_ranges(connect, node, reviewed, reviewer, refusal):
    asked = []

    def limit(parameters, forward):
        first, last = (int(parameters[0][name], 16) for name in ("fromBlock", "toBlock"))
        asked.append((first, last))
        return refusal(parameters, forward) if last - first >= 7 else forward()

    node.interference["eth_getLogs"] = limit
    feedback = connect(to=node.url).get_feedback(reviewed, reviewer.address, 0)
    assert feedback == connect().get_feedback(reviewed, reviewer.address, 0)
    ranges = [(first, last) for first, last in asked if last - first < 7]
    assert ranges[0][0] == 0
    assert ranges[-1][0] <= feedback.event.block <= ranges[-1][1]  # and no further
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(ranges))


def test_a_node_that_gives_no_clients_is_asked_for_logs(connect, node, reviewed):
    def refuse_clients(parameters, forward):
        return refuses("out of gas")(parameters, forward) if parameters[0]["data"][:10] == _GET_CLIENTS else forward()

    node.interference["eth_call"] = refuse_clients
    assert connect(to=node.url).get_clients(reviewed) == connect().get_clients(reviewed)


def test_a_node_that_gives_no_logs_at_all_fails(connect, node, reviewed, reviewer):
    node.interference["eth_getLogs"] = refuses("no logs here")
    with pytest.raises(NodeError, match="no logs here"):
        connect(to=node.url).get_feedback(reviewed, reviewer.address, 0)


def test_lists_of_unequal_length_are_refused(connect, node, agent):
    kinds = ["address[]", "uint64[]", "int128[]", "uint8[]", "string[]", "string[]", "bool[]"]
    client = connect(to=node.url)
    client.get_deployment()
    node.interference["eth_call"] = answers("0x" + encode(kinds, [[], [1], [], [], [], [], []]).hex())
    with pytest.raises(UnexpectedAnswerError, match="unequal length"):
        client.read_all_feedback(agent)


def test_a_refusal_of_everything_with_a_reason_is_passed_on(connect, node, agent):
    client = connect(to=node.url)
    client.get_deployment()
    node.interference["eth_call"] = refuses("execution reverted", 3, "0x12345678")
    for attempt in (client.read_all_feedback, client.get_clients, client.get_reputation_summary):
        with pytest.raises(ContractRevertError):
            attempt(agent)


def test_a_refusal_with_a_reason_is_not_taken_for_a_limit(connect, node, reviewer):
    client = connect(to=node.url)
    client.get_deployment()
    node.methods.clear()
    with pytest.raises(ContractRevertError):
        client.get_feedback(2**200, reviewer.address, 0)
    assert node.methods == ["eth_call"]


@pytest.mark.parametrize(
    "entries",
    [
        [FeedbackValue(-32, 1), FeedbackValue(-1), FeedbackValue(15, 1)],
        [FeedbackValue(1, 18), FeedbackValue(10**18), FeedbackValue(-7, 3), FeedbackValue(9977, 2)],
        [FeedbackValue(-1), FeedbackValue(0), FeedbackValue(0)],
    ],
)
def test_the_average_is_that_of_the_registry(connect, reviewer, agent, entries):
    client = connect(reviewer)
    for entry in entries:
        client.give_feedback(agent, entry).wait()
    summary, expected = client.get_reputation_summary(agent), summarize(entries)
    assert (summary.count, summary.value, summary.decimals) == (expected.count, expected.value, expected.decimals)


def test_one_huge_value_does_not_stop_a_summary(connect, reviewer, other_reviewer, agent):
    connect(reviewer).give_feedback(agent, FeedbackValue(10**38)).wait()
    client = connect(other_reviewer)
    for _ in range(2):
        client.give_feedback(agent, FeedbackValue(1, 18)).wait()
    summary = client.get_reputation_summary(agent)
    assert (summary.count, summary.value, summary.decimals) == (3, 10**38 // 3, 0)
    assert client.get_reputation_summary(agent, reviewers=[other_reviewer.address]).average == Decimal("1e-18")


def test_addresses_are_checksummed(connect, reviewed):
    assert all(address == checksummed(address.lower()) for address in connect().get_clients(reviewed))


@pytest.mark.parametrize("capability", ["tool", "toys", ""])
def test_a_capability_that_there_is_not_is_refused(connect, agent, capability):
    with pytest.raises(InvalidArgumentError, match="is not a capability: use tools, prompts, resources"):
        connect().search_feedback(agent, capabilities=["tools", capability])


@pytest.mark.one_client
def test_a_search_does_not_wait_for_every_slow_server(connect, reviewer, other_reviewer, agent, server, monkeypatch):
    monkeypatch.setattr("bilateral.client.operations.documents._AT_A_TIME", 1)
    file = prepare_feedback_file(text="Slow", capability="tools", name="t").to_bytes()

    def slow(handler):
        time.sleep(1.5)
        respond(handler, file)

    server.routes["/slow"] = slow
    for account in (reviewer, other_reviewer):
        connect(account).give_feedback(agent, 1, feedback_uri=f"{server.url}/slow").wait()
    first, second = connect().search_feedback(agent, load_files=True, load_seconds=1.2)
    assert (first.text, first.file_problem) == ("Slow", None)
    assert (second.file, second.file_problem.seconds) == (None, 1.2)
    assert [
        feedback_entry.text
        for feedback_entry in connect().search_feedback(agent, capabilities=["tools"], load_seconds=1.2)
    ] == ["Slow"]
    assert len(connect().search_feedback(agent, capabilities=["tools"])) == 2


def test_a_summary_without_a_tag_says_which_tags_it_mixes(connect, reviewed, reviewer):
    client = connect()
    mixed = client.get_reputation_summary(reviewed)
    assert (mixed.first_tags, mixed.mixed_tags) == (("starred", "uptime"), ("starred", "uptime"))
    assert mixed.average == 89
    of_one = client.get_reputation_summary(reviewed, reviewers=[reviewer.address])
    assert (of_one.first_tags, of_one.mixed_tags) == (("starred",), ())
    tagged = client.get_reputation_summary(reviewed, "uptime")
    assert (tagged.first_tags, tagged.mixed_tags) == (None, ())
    unread = client.get_reputation_summary(reviewed, read_tags=False)
    assert (unread.first_tags, unread.mixed_tags, unread.average) == (None, (), mixed.average)
