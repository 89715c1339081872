"""Reads that need many requests send them in batches, so that a distant node costs few round trips."""

from __future__ import annotations

from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import encode_call
from tests.sdk.client.unreliable import refuses

READ_ALL = "0x" + encode_call(Registry.REPUTATION, "readAllFeedback", [1, [], "", "", False])[:4].hex()

ENTRIES = 12


def test_an_agent_is_loaded_in_one_round_trip(connect, node, agent):
    client = connect(to=node.url)
    client.get_deployment()
    node.round_trips = 0
    loaded = client.load_agent(agent, load_file=False)
    assert node.round_trips == 1
    assert loaded == connect().load_agent(agent, load_file=False)


def test_feedback_that_a_node_does_not_give_at_once_is_read_in_batches(connect, node, agent, reviewer):
    client = connect(reviewer)
    for value in range(ENTRIES):
        client.give_feedback(agent, value, "starred").wait()

    def refuse_all(parameters, forward):
        is_refused = parameters[0]["data"].startswith(READ_ALL)
        return refuses("out of gas")(parameters, forward) if is_refused else forward()

    node.interference["eth_call"] = refuse_all
    reader = connect(to=node.url)
    reader.get_deployment()
    node.round_trips = 0
    all_feedback = reader.read_all_feedback(agent, reviewers=[reviewer.address])
    assert [entry.value for entry in all_feedback] == list(range(ENTRIES))
    assert node.round_trips == 3  # refused; the last index; all entries


def test_several_agents_are_searched_together(connect, node, agent, reviewer):
    other = connect(reviewer).register_agent("data:,").wait().agent
    reader = connect(to=node.url)
    reader.get_deployment()
    node.round_trips = 0
    assert reader.search_feedback(agent_ids=[agent, other]) == []
    assert node.round_trips == 1
