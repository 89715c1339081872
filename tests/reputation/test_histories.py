"""Random histories of feedback, revocations and responses, compared with the plain model."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from ape.utils import ZERO_ADDRESS
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import isolated
from tests.reputation.conftest import CROWD_SIZE
from tests.reputation.model import MAX_ABS_VALUE, Given, ReputationModel


@dataclass(frozen=True)
class Client:
    """The number of a client in a call's arguments, for an address that is known later."""

    number: int


few_tags = st.sampled_from(["", "starred", "uptime"])
many_tags = st.text(max_size=40)
values = st.one_of(
    st.integers(-100, 100),
    st.integers(-MAX_ABS_VALUE, MAX_ABS_VALUE),
    st.sampled_from([MAX_ABS_VALUE, -MAX_ABS_VALUE]),
)
any_decimals = st.integers(0, 18)


@st.composite
def histories(draw):
    """`(model, calls)`: a history, and its calls `(client number, method, arguments)`."""
    tags = draw(st.sampled_from([few_tags, many_tags]))
    uniform = draw(st.booleans())
    own_decimals = [draw(any_decimals) for _ in range(CROWD_SIZE)]
    model, calls = ReputationModel(), []
    for _ in range(draw(st.integers(1, 24))):
        agent = draw(st.sampled_from([1, 1, 1, 2]))
        active = model.active(agent)
        if active and draw(st.sampled_from([False, False, True])):
            client, index = draw(st.sampled_from(active))
            model.entries(agent, client)[index - 1].revoked = True
            calls.append((client, "revokeFeedback", (agent, index)))
        else:
            client = draw(st.integers(0, CROWD_SIZE - 1))
            decimals = own_decimals[client] if uniform else draw(any_decimals)
            feedback = Given(draw(values), decimals, draw(tags), draw(tags))
            model.give(agent, client, feedback)
            calls.append((client, "giveFeedback", (agent, *feedback.arguments)))
    return model, calls


@st.composite
def answered_histories(draw):
    """`(model, calls)` of one agent's feedback and the responses to it."""
    model, calls = ReputationModel(), []
    clients = st.integers(0, CROWD_SIZE - 1)
    for _ in range(draw(st.integers(1, 16))):
        given_so_far = model.active(1)
        if given_so_far and draw(st.sampled_from([False, True, True])):
            client, index = draw(st.sampled_from(given_so_far))
            responder = draw(clients)
            model.entries(1, client)[index - 1].responses[responder] += 1
            calls.append((responder, "appendResponse", (1, Client(client), index, "ipfs://Qm", bytes(32))))
        else:
            client = draw(clients)
            model.give(1, client, Given())
            calls.append((client, "giveFeedback", (1, *Given().arguments)))
    return model, calls


def tags_of(model, agent):
    entries = [entry.given for history in model.histories.get(agent, {}).values() for entry in history]
    return sorted({tag for entry in entries for tag in (entry.tag1, entry.tag2)} | {"", "unused"})


@pytest.fixture(scope="session")
def addresses(crowd):
    """The clients' addresses by number."""
    return crowd.clients()


@pytest.fixture(scope="session")
def play(crowd, reputation, deployer, other_agent, addresses):
    """A function that sends the calls of a history, after both agents are registered."""
    assert other_agent == 2

    def addressed(arguments):
        return [addresses[argument.number] if isinstance(argument, Client) else argument for argument in arguments]

    def play(calls):
        actors = [client for client, _, _ in calls]
        data = [getattr(reputation, method).encode_input(*addressed(arguments)) for _, method, arguments in calls]
        crowd.play(reputation, actors, data, sender=deployer)

    return play


@given(data=st.data())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_summaries_are_those_of_the_model(chain, reputation, play, addresses, data):
    model, calls = data.draw(histories())
    with isolated(chain):
        play(calls)
        everybody = list(range(CROWD_SIZE))
        for agent in (1, 2):
            some = data.draw(st.lists(st.sampled_from(everybody), min_size=1, max_size=8))
            tags = st.sampled_from(tags_of(model, agent))
            for clients, tag1, tag2 in (
                (everybody, "", ""),
                (some, "", ""),
                (everybody, data.draw(tags), ""),
                (some, data.draw(tags), data.draw(tags)),
            ):
                asked = [addresses[client] for client in clients]
                expected = model.summary(agent, clients, tag1, tag2)
                assert tuple(reputation.getSummary(agent, asked, tag1, tag2)) == expected


@given(data=st.data())
@settings(max_examples=12, deadline=None, derandomize=True)
def test_feedback_is_read_back_as_in_the_model(chain, reputation, play, addresses, data):
    model, calls = data.draw(histories())
    with isolated(chain):
        play(calls)
        for agent in (1, 2):
            assert reputation.getClients(agent) == [addresses[client] for client in model.clients(agent)]
            for number, address in enumerate(addresses):
                assert reputation.getLastIndex(agent, address) == len(model.entries(agent, number))
            tags = st.sampled_from(tags_of(model, agent))
            some = data.draw(st.lists(st.integers(0, CROWD_SIZE - 1), max_size=8))
            for clients, tag1, tag2, revoked in (
                ([], "", "", True),
                (some, data.draw(tags), data.draw(tags), data.draw(st.booleans())),
            ):
                asked = [addresses[client] for client in clients]
                columns = reputation.readAllFeedback(agent, asked, tag1, tag2, revoked)
                rows = [(addresses.index(row[0]), *row[1:]) for row in zip(*columns, strict=True)]
                assert rows == model.read_all(agent, clients, tag1, tag2, revoked)


@given(data=st.data())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_answers_are_counted_as_in_the_model(chain, reputation, play, addresses, data):
    model, calls = data.draw(answered_histories())
    with isolated(chain):
        play(calls)
        for _ in range(5):
            client = data.draw(st.one_of(st.none(), st.integers(0, CROWD_SIZE - 1)))
            index = data.draw(st.integers(0, 6))
            responders = data.draw(st.lists(st.integers(0, CROWD_SIZE - 1), max_size=4))
            count = reputation.getResponseCount(
                1,
                ZERO_ADDRESS if client is None else addresses[client],
                index,
                [addresses[responder] for responder in responders],
            )
            assert count == model.responses(1, client, index, responders)
