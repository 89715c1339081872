"""Random sequences of authorisations, forgeries, feedback, transfers, approvals and waits, compared with the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from bilateral.core.signatures import FeedbackAuth, encode_feedback_auth
from scripts._anvil import restore
from tests.authorized.helpers import (
    MAX_UINT64,
    MAX_UINT256,
    Given,
    domain_of,
    plain,
    read_number,
    refusal,
    sign,
    tag,
)
from tests.authorized.model import Model
from tests.sequences import play

HOUR = 3_600
TAGS = [bytes(32), tag("quality"), tag("speed")]

AGENTS = st.integers(0, 1)
OWNERS = st.integers(0, 1)
CLIENTS = st.integers(0, 3)
SCORES = st.integers(0, 100)
PAIRS_OF_TAGS = st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS))


@dataclass
class World:
    """The chain of a machine, and the numbers of accepted and refused calls.

    Attributes:
        agents: Ids of the agents. The first owner owns the first, the second owner the second.
        owners: The accounts that can own an agent.
        operator: The account that can become an operator; also the last of the clients.
        clients: The accounts that rate; some of them own an agent or are an operator.
        calls: The numbers of accepted and refused calls.
    """

    registry: Any
    identity: Any
    chain: Any
    agents: list[int]
    owners: list[Any]
    operator: Any
    clients: list[Any]
    calls: Counter[str] = field(default_factory=Counter)


class Sequences(RuleBasedStateMachine):
    """The registry and its model."""

    world: ClassVar[World]
    authorizations = Bundle("authorizations")

    def __init__(self):
        super().__init__()
        chain, agents, owners = self.world.chain, self.world.agents, self.world.owners
        self.snapshot = chain.snapshot()
        self.model = Model(chain.chain_id, {agent: owner.address for agent, owner in zip(agents, owners, strict=True)})
        self.domain = domain_of(self.world.registry, chain)
        self.indexes = Counter()

    def teardown(self):
        try:
            self._compare_all_feedback()
        finally:
            restore(self.world.chain, self.snapshot)

    @rule(
        target=authorizations,
        agent=AGENTS,
        client=CLIENTS,
        more=st.sampled_from([0, 1, 2, 3, 8]),
        hours=st.sampled_from([None, None, 1, 5]),
    )
    def authorise(self, agent, client, more, hours):
        """Authorise a client for some more feedbacks, for some hours or for ever."""
        return self._authorise(agent, client, more, hours)

    @rule(
        target=authorizations, agent=AGENTS, client=CLIENTS, times=st.integers(1, 6), score=SCORES, tags=PAIRS_OF_TAGS
    )
    def serve(self, agent, client, times, score, tags):
        """Authorise a client, give all the authorised feedback, and then one more."""
        authorization = self._authorise(agent, client, times, None)
        self._use(authorization, times + 1, score, tags)
        return authorization

    @rule(target=authorizations, agent=AGENTS, client=CLIENTS, signer=CLIENTS)
    def forge(self, agent, client, signer):
        """Sign an unlimited authorisation as any account, seldom the owner."""
        clients = self.world.clients
        return self._signed_by(clients[signer], agent, clients[client], MAX_UINT64, MAX_UINT256)

    @rule(authorization=authorizations, times=st.integers(1, 3), score=SCORES, tags=PAIRS_OF_TAGS)
    def use(self, authorization, times, score, tags):
        """Give feedback as the client of an authorisation, spent or not."""
        self._use(authorization, times, score, tags)

    @rule(authorization=authorizations, client=CLIENTS, agent=AGENTS, score=st.integers(90, 110))
    def misuse(self, authorization, client, agent, score):
        """Give feedback as any account, on any agent, with a score that can be too high."""
        self._attempt(authorization, self.world.clients[client], self.world.agents[agent], score, TAGS[:2])

    @rule(agent=AGENTS, receiver=OWNERS)
    def transfer(self, agent, receiver):
        """Transfer an agent, possibly to its owner."""
        agent_id, holder, heir = self.world.agents[agent], self._owner_of(agent), self.world.owners[receiver]
        self.world.identity.transferFrom(holder, heir, agent_id, sender=holder)
        self.model.owners[agent_id] = heir.address

    @rule(owner=OWNERS, approved=st.booleans())
    def approve_operator(self, owner, approved):
        """Appoint or dismiss an owner's operator."""
        holder, operator = self.world.owners[owner], self.world.operator
        self.world.identity.setApprovalForAll(operator, approved, sender=holder)
        change = self.model.operators.add if approved else self.model.operators.discard
        change((holder.address, operator.address))

    @rule(hours=st.integers(1, 3))
    def wait(self, hours):
        """Move the time forward."""
        self.world.chain.mine(timestamp=self._now() + hours * HOUR)

    @invariant()
    def indexes_are_those_of_the_model_and_never_fall(self):
        """Compare each client of each agent with the model, after every step."""
        for agent in self.world.agents:
            for client in self.world.clients:
                index = read_number(self.world.registry.getLastIndex, agent, client)
                assert index == self.model.last_index(agent, client.address)
                assert index >= self.indexes[agent, client.address]
                self.indexes[agent, client.address] = index

    @invariant()
    def summaries_are_those_of_the_model(self):
        """Compare each agent with the model, after every step."""
        for agent in self.world.agents:
            assert self.world.registry.getSummary(agent) == self.model.summary(agent)

    def _compare_all_feedback(self):
        registry = self.world.registry
        for agent in self.world.agents:
            assert [plain(entry) for entry in registry.getFeedbackPage(agent, 0, 999)] == self.model.feedback[agent]
            for client in self.world.clients:
                read = registry.getClientFeedbackPage(agent, client, 0, 999)
                assert [plain(entry) for entry in read] == self.model.of_client(agent, client.address)

    def _now(self):
        return self.world.chain.blocks.head.timestamp

    def _owner_of(self, agent):
        address = self.model.owners[self.world.agents[agent]]
        return next(owner for owner in self.world.owners if owner.address == address)

    def _authorise(self, agent, client, more, hours):
        who = self.world.clients[client]
        limit = self.model.last_index(self.world.agents[agent], who.address) + more
        # Time moves in full hours, and the extra half hour keeps every use away from the last second.
        expiry = MAX_UINT256 if hours is None else self._now() + hours * HOUR + HOUR // 2
        return self._signed_by(self._owner_of(agent), agent, who, limit, expiry)

    def _signed_by(self, signer, agent, client, limit, expiry):
        auth = FeedbackAuth(self.world.agents[agent], client.address, limit, expiry, self.world.chain.chain_id)
        return auth, signer, encode_feedback_auth(auth, sign(signer, auth, self.domain))

    def _use(self, authorization, times, score, tags):
        auth, _, _ = authorization
        client = next(client for client in self.world.clients if client.address == auth.client_address)
        for _ in range(times):
            self._attempt(authorization, client, auth.agent_id, score, tags)

    def _attempt(self, authorization, sender, agent_id, score, tags):
        auth, signer, feedback_auth = authorization
        entry = Given(agent_id, feedback_auth, score=score, tag1=tags[0], tag2=tags[1])
        expected = self.model.refusal(agent_id, score, sender.address, auth, signer.address, self._now())
        assert refusal(self.world.registry, sender, entry) == expected
        self.world.calls["refused" if expected else "accepted"] += 1
        if expected is None:
            receipt = self.world.registry.giveFeedback(*entry, sender=sender)
            position = len(self.model.feedback[agent_id])
            self.model.give(agent_id, entry.record(sender, position, receipt.timestamp))


def test_registry_does_what_the_model_does(
    registry, identity, chain, agent_id, other_agent_id, owner, other_owner, operator, client, other_client, part
):
    world = World(
        registry,
        identity,
        chain,
        agents=[agent_id, other_agent_id],
        owners=[owner, other_owner],
        operator=operator,
        clients=[client, other_client, other_owner, operator],
    )
    play(type("Machine", (Sequences,), {"world": world}), examples=round(10 * part), steps=15)
    calls = world.calls
    assert calls["accepted"] >= calls.total() / 4, calls
    assert calls["refused"] >= calls.total() / 10, calls
