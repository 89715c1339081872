"""Random sequences of calls: the registry agrees with the model on results, events and reverts."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ape
import pytest
from eth_utils import keccak
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scripts._anvil import restore
from tests.helpers import logged
from tests.sequences import play
from tests.validation.conftest import REQUEST_URI, RESPONSE_URI, UNKNOWN_AGENT
from tests.validation.model import ZERO_ADDRESS, ZERO_HASH, RefusedError, UnknownAgentError, ValidationModel

ROLES = ["owner", "other_owner", "operator", "approved", "validator", "stranger"]
REASONS = {"bad validator", "exists", "Not authorized", "unknown", "not validator", "resp>100"}

PEOPLE = st.sampled_from(ROLES)
VALIDATORS = st.sampled_from(["validator", "other_owner", "owner"])
AGENTS = st.sampled_from(["agent", "other agent"])
ALL_HASHES = [ZERO_HASH, *(keccak(text=f"request {number}") for number in range(24))]
HASHES = st.sampled_from(ALL_HASHES)
MISTAKES_OF_REQUESTERS = st.sampled_from(["none", "none", "none", "anybody", "no validator", "unknown agent"])
MISTAKES_OF_VALIDATORS = st.sampled_from(["none", "none", "none", "anybody", "any hash"])
RESPONSES = st.one_of(st.sampled_from([0, 100, 101]), st.integers(0, 100))
RESPONSE_HASHES = st.sampled_from([ZERO_HASH, keccak(text="evidence")])
TAGS = st.sampled_from(["", "soft-finality", "hard-finality", "a tag of more than one word of storage"])


@dataclass
class World:
    """The registries, users and agents of the sequences.

    Attributes:
        users: The accounts by role.
        agents: The agents' ids by name.
        outcomes: The number of transactions by outcome: accepted, or the reason of the revert.
    """

    chain: Any
    identity: Any
    validation: Any
    users: dict[str, Any]
    agents: dict[str, int]
    outcomes: Counter[str] = field(default_factory=Counter)


class Sequences(RuleBasedStateMachine):
    """Calls the registry and the model alike. The test binds the machine to a world."""

    world: World

    def __init__(self):
        super().__init__()
        self.snapshot = self.world.chain.snapshot()
        self.accounts = {account.address: account for account in self.world.users.values()}
        owners = {"agent": "owner", "other agent": "other_owner"}
        self.model = ValidationModel(
            {agent_id: self.address(owners[name]) for name, agent_id in self.world.agents.items()}
        )

    def teardown(self):
        restore(self.world.chain, self.snapshot)

    def address(self, role):
        return self.world.users[role].address

    def owner_of(self, agent):
        return self.accounts[self.model.owners[self.world.agents[agent]]]

    @contextmanager
    def agreeing(self, check, *arguments):
        """Expect the transaction to pass or revert as the model says."""
        try:
            check(*arguments)
        except RefusedError as refusal:
            self.world.outcomes[refusal.reason] += 1
            with ape.reverts(refusal.reason):
                yield
        except UnknownAgentError as refusal:
            self.world.outcomes["unknown agent"] += 1
            with ape.reverts(self.world.identity.ERC721NonexistentToken, tokenId=refusal.agent_id):
                yield
        else:
            self.world.outcomes["accepted"] += 1
            yield

    def request(self, sender, validator, agent_id, request_hash):
        receipt = None
        with self.agreeing(self.model.check_request, sender.address, validator, agent_id, request_hash):
            receipt = self.world.validation.validationRequest(
                validator, agent_id, REQUEST_URI, request_hash, sender=sender
            )
        if receipt is None:
            return
        self.model.request(validator, agent_id, request_hash, receipt.timestamp)
        fields = {"validatorAddress": validator, "agentId": agent_id, "requestURI": REQUEST_URI}
        assert logged(receipt) == [("ValidationRequest", fields | {"requestHash": request_hash})]

    def respond(self, sender, request_hash, response, response_hash, tag):
        receipt = None
        with self.agreeing(self.model.check_response, sender.address, request_hash, response):
            receipt = self.world.validation.validationResponse(
                request_hash, response, RESPONSE_URI, response_hash, tag, sender=sender
            )
        if receipt is None:
            return
        self.model.respond(request_hash, response, response_hash, tag, receipt.timestamp)
        fields = {
            "validatorAddress": sender.address,
            "agentId": self.model.find(request_hash).agent_id,
            "requestHash": request_hash,
            "response": response,
            "responseURI": RESPONSE_URI,
            "responseHash": response_hash,
            "tag": tag,
        }
        assert logged(receipt) == [("ValidationResponse", fields)]

    @initialize(agent=AGENTS, validator=VALIDATORS, request_hash=HASHES)
    def owner_requests(self, agent, validator, request_hash):
        self.request(self.owner_of(agent), self.address(validator), self.world.agents[agent], request_hash)

    @rule(agent=AGENTS, validator=VALIDATORS, request_hash=HASHES, mistake=MISTAKES_OF_REQUESTERS, sender=PEOPLE)
    def somebody_requests(self, agent, validator, request_hash, mistake, sender):
        self.request(
            self.world.users[sender] if mistake == "anybody" else self.owner_of(agent),
            ZERO_ADDRESS if mistake == "no validator" else self.address(validator),
            UNKNOWN_AGENT if mistake == "unknown agent" else self.world.agents[agent],
            request_hash,
        )

    @rule(data=st.data(), response=RESPONSES, response_hash=RESPONSE_HASHES, tag=TAGS, mistake=MISTAKES_OF_VALIDATORS)
    def somebody_responds(self, data, response, response_hash, tag, mistake):
        request_hash = data.draw(HASHES if mistake == "any hash" else st.sampled_from(list(self.model.requests)))
        sender = self.world.users[data.draw(PEOPLE)]
        if mistake != "anybody" and request_hash in self.model.requests:
            sender = self.accounts[self.model.find(request_hash).validator]
        self.respond(sender, request_hash, response, response_hash, tag)

    @rule(agent=AGENTS, to=PEOPLE)
    def owner_transfers_the_agent(self, agent, to):
        owner, agent_id = self.owner_of(agent), self.world.agents[agent]
        self.world.identity.transferFrom(owner, self.address(to), agent_id, sender=owner)
        self.model.transfer(agent_id, self.address(to))

    @rule(agent=AGENTS, is_operator=st.booleans())
    def owner_lets_others_act(self, agent, is_operator):
        owner, agent_id = self.owner_of(agent), self.world.agents[agent]
        operator, approved = self.address("operator"), self.address("approved")
        self.world.identity.setApprovalForAll(operator, is_operator, sender=owner)
        self.world.identity.approve(approved, agent_id, sender=owner)
        change = self.model.operators.add if is_operator else self.model.operators.discard
        change((owner.address, operator))
        self.model.approved[agent_id] = approved

    @rule(request_hash=HASHES, agent=AGENTS, validators=st.lists(PEOPLE, max_size=4), tag=TAGS)
    def views_agree(self, request_hash, agent, validators, tag):
        agent_id, wanted = self.world.agents[agent], [self.address(validator) for validator in validators]
        summary = tuple(self.world.validation.getSummary(agent_id, wanted, tag))
        assert summary == self.model.summary(agent_id, wanted, tag)
        assert self.world.validation.getAgentValidations(agent_id) == self.model.agent_validations(agent_id)
        for validator in wanted:
            requests = self.world.validation.getValidatorRequests(validator)
            assert requests == self.model.validator_requests(validator)

        if request_hash in self.model.requests:
            status = dict(self.world.validation.getValidationStatus(request_hash).items())
            assert status == self.model.status(request_hash)
        else:
            with ape.reverts("unknown"):
                self.world.validation.getValidationStatus(request_hash)

    @invariant()
    def summaries_agree(self):
        for agent_id in self.world.agents.values():
            summary = tuple(self.world.validation.getSummary(agent_id, [], ""))
            assert summary == self.model.summary(agent_id, [], "")


@pytest.fixture(scope="module")
def world(request, chain, identity, validation, agent_id, other_agent_id):
    users = {role: request.getfixturevalue(role) for role in ROLES}
    return World(chain, identity, validation, users, {"agent": agent_id, "other agent": other_agent_id})


def test_sequences_of_calls_agree_with_the_model(world):
    play(type("BoundSequences", (Sequences,), {"world": world}), examples=6, steps=35)
    outcomes = world.outcomes
    assert outcomes["accepted"] >= outcomes.total() / 4, f"the sequences mostly revert: {outcomes}"
    assert set(outcomes) == {"accepted", "unknown agent", *REASONS}, "the sequences miss a refusal"
