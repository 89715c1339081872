"""Random sequences of open and blind ratings among three agents, beside a plain model.

A blind rating exists only as both sides sealed it. Each opened feedback equals the sealed one, and gets the client's
next index, once. `open` and `exchange` write both ratings or none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, ClassVar

import ape
import pytest
from eth_utils import keccak
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bilateral.core.signatures.blind_ratings import BlindFeedback
from scripts._anvil import restore
from tests.ratings.blind.model import FREE, SEALED, Model, RefusedError, Terms
from tests.sequences import play

EXAMPLES, STEPS = 8, 30
LEAST_ACCEPTED = 5
"""The fewest calls of each function that must succeed in a run."""

people = st.sampled_from(range(5))
ratings = st.sampled_from([0, 20, 20, 95, 100, 100, 101])
seldom = st.sampled_from([False] * 9 + [True])
latest = st.sampled_from([0, 0, 0, 0, 1, 2, 5])
"""The number of deals after the one to use."""


@dataclass(frozen=True)
class World:
    """The world of the sequences.

    Attributes:
        chain: The chain.
        registry: The registry.
        relayer: The account that sends what others signed.
        agents: The agent of each account.
        make_deal: The fixture of that name.
    """

    chain: Any
    registry: Any
    relayer: Any
    agents: dict
    make_deal: Any

    @property
    def accounts(self):
        return list(self.agents)

    @property
    def foreign_id(self):
        return self.agents[self.accounts[-1]]


class BlindMachine(RuleBasedStateMachine):
    """The registry beside its model.

    Attributes:
        world: The chain, the registry, the accounts with their agents, and the maker of deals.
        tally: The counts of calls, of accepted calls by function, and of refusals by error.
    """

    world: ClassVar[World]
    tally: ClassVar[Counter]

    def __init__(self):
        super().__init__()
        self.snapshot = self.world.chain.snapshot()
        self.model = Model(self.world.agents)
        self.deals = []

    def teardown(self):
        try:
            for pair in permutations(self.world.agents.values(), 2):
                self.compare(pair)
        finally:
            restore(self.world.chain, self.snapshot)

    def call(self, name, send, play_in_model):
        """Do a call in the registry and in the model: both accept it, or both refuse it for the same reason."""
        self.tally["calls"] += 1
        try:
            play_in_model()
        except RefusedError as refusal:
            error = getattr(self.world.registry, refusal.error, None)
            with ape.reverts(refusal.error if error is None else error):
                send()
            self.tally[refusal.error] += 1
        else:
            send()
            self.tally["accepted"] += 1
            self.tally[name] += 1

    def ids(self, client, server):
        agents = list(self.world.agents.values())
        return agents[client], agents[server]

    def deal(self, back, is_wanted):
        """Take the newest deal that the call is likely to accept, or now and then any other one."""
        wanted = [deal for deal in self.deals if is_wanted(deal[0])]
        if not wanted and back <= 1:
            self.agree(0, 1, 50, 95, is_taken=False, is_late=False, is_foreign=False)
            terms, deal = self.deals[-1]
            if is_wanted == self.is_sealed:
                self.call("seal", lambda: deal.seal(self.world.relayer), lambda: self.model.seal(terms, False))
            return terms, deal
        return wanted[-1] if wanted and back <= 1 else self.deals[-1 - min(back, len(self.deals) - 1)]

    def is_free(self, terms):
        return terms.pair not in self.model.ratings

    def is_sealed(self, terms):
        return self.model.sealed.get(terms.pair, (None,))[0] is terms and self.model.ratings[terms.pair][0] == SEALED

    @initialize(value=st.integers(1, 99))
    def first_deal(self, value):
        self.agree(1, 0, value, 20, is_taken=False, is_late=False, is_foreign=False)

    @rule(
        client=people,
        server=people,
        value=st.integers(1, 99),
        rating=ratings.filter(lambda rating: rating <= 100),
        is_taken=seldom,
        is_late=seldom,
        is_foreign=seldom,
    )
    def agree(self, client, server, value, rating, is_taken, is_late, is_foreign):
        """Make a deal of two agents, most often of a pair without a rating."""
        free = [pair for pair in permutations(range(5), 2) if self.ids(*pair) not in self.model.ratings]
        if free and not is_taken:
            client, server = free[(client * 5 + server) % len(free)]
        client, server = self.world.accounts[client], self.world.accounts[server]
        ids = (self.world.foreign_id if is_foreign else self.world.agents[client], self.world.agents[server])
        feedback = BlindFeedback(value, 0, "starred")
        deal = self.world.make_deal(client, ids[0], server, ids[1], rating=rating, feedback=feedback)
        deadline = self.world.chain.pending_timestamp + (-1 if is_late else 86_400)
        deal = deal.but(interaction=keccak(text=f"interaction {len(self.deals)}"), client_deadline=deadline)
        self.deals.append((Terms(client, server, ids, value, rating, is_late), deal))

    @rule(who=people, client=people, rating=ratings)
    def rate_openly(self, who, client, rating):
        who, client_id = self.world.accounts[who], self.world.agents[self.world.accounts[client]]
        self.call(
            "rateClient",
            lambda: self.world.registry.rateClient(client_id, rating, sender=who),
            lambda: self.model.rate(who, client_id, rating),
        )

    @rule(who=people, server=people, value=st.integers(1, 99))
    def give_openly(self, who, server, value):
        who, server_id = self.world.accounts[who], self.world.agents[self.world.accounts[server]]
        feedback = (value, 0, "", "", "", "", bytes(32))
        self.call(
            "giveFeedback",
            lambda: self.world.registry.giveFeedback(server_id, *feedback, sender=who),
            lambda: self.model.give(who, server_id, value),
        )

    @rule(back=latest, forged=seldom)
    def seal(self, back, forged):
        terms, deal = self.deal(back, self.is_free)
        signatures = self.signatures(deal, forged)
        self.call("seal", lambda: deal.seal(self.world.relayer, signatures), lambda: self.model.seal(terms, forged))

    @rule(back=latest, other=latest, crossed=seldom)
    def open(self, back, other, crossed):
        terms, deal, values = self.openings(self.deal(back, self.is_sealed), other, crossed)
        self.call("open", lambda: deal.open(self.world.relayer), lambda: self.model.open(terms, values))

    @rule(back=latest, other=latest, crossed=seldom)
    def open_feedback(self, back, other, crossed):
        terms, deal, values = self.openings(self.deal(back, self.is_sealed), other, crossed)
        self.call(
            "openFeedback",
            lambda: deal.open_feedback(self.world.relayer),
            lambda: self.model.open_feedback(terms, values),
        )

    @rule(back=latest, other=latest, crossed=seldom)
    def open_rating(self, back, other, crossed):
        terms, deal, values = self.openings(self.deal(back, self.is_sealed), other, crossed)
        self.call(
            "openRating", lambda: deal.open_rating(self.world.relayer), lambda: self.model.open_rating(terms, values)
        )

    @rule(back=latest, other=latest, crossed=seldom, forged=seldom)
    def exchange(self, back, other, crossed, forged):
        terms, deal, values = self.openings(self.deal(back, self.is_free), other, crossed)
        signatures = self.signatures(deal, forged)
        self.call(
            "exchange",
            lambda: deal.exchange(self.world.relayer, signatures),
            lambda: self.model.exchange(terms, forged, values),
        )

    def signatures(self, deal, forged):
        return (replace(deal, signers=(self.world.relayer, self.world.relayer)) if forged else deal).signatures

    def openings(self, chosen, other, crossed):
        """Take the openings of a deal, or of another one."""
        terms, deal = chosen
        source, _ = self.deal(other, self.is_sealed) if crossed else (terms, deal)
        changed = replace(deal, feedback=BlindFeedback(source.feedback, 0, "starred"), rating=source.rating)
        return terms, changed, (source.feedback, source.rating)

    @invariant()
    def registry_agrees_with_the_model(self):
        for terms, _ in self.deals[-3:]:
            self.compare(terms.pair)

    def compare(self, pair):
        """Compare all that the registry stores of a client and a server with the model."""
        registry = self.world.registry
        state, rating = self.model.ratings.get(pair, (FREE, 0))
        is_readable = state not in {FREE, SEALED}
        assert registry.ratingStateOf(*pair) == state
        assert tuple(registry.getClientRating(*pair)) == (is_readable, rating if is_readable else 0)
        terms, is_open = self.model.sealed.get(pair, (None, False))
        pair_hash = next((deal.hash for known, deal in self.deals if known is terms), 0)
        assert tuple(registry.getSealedPair(*pair)) == (pair_hash, is_open)
        account = next(account for account, agent_id in self.world.agents.items() if agent_id == pair[0])
        values = self.model.feedback.get((account, pair[1]), [])
        assert registry.getLastIndex(pair[1], account) == len(values)
        if values:
            assert registry.readFeedback(pair[1], account, len(values)).value == values[-1]


@pytest.fixture
def machine(
    chain, registry, identity, make_deal, register, client, server, validator, other_owner, other_client, relayer
):
    """A machine of blind ratings, with the counts of its calls."""
    people = (server, client, validator, other_owner, other_client)
    agents = {account: identity.agentOf(account) or register(account) for account in people}
    attributes = {"world": World(chain, registry, relayer, agents, make_deal), "tally": Counter()}
    return type("Machine", (BlindMachine,), attributes)


def test_registry_keeps_the_rules_of_blind_ratings_in_any_order(machine):
    play(machine, EXAMPLES, STEPS)
    tally = machine.tally
    functions = ["rateClient", "giveFeedback", "seal", "open", "openFeedback", "openRating", "exchange"]
    assert {name: tally[name] for name in functions if tally[name] < LEAST_ACCEPTED} == {}
    errors = ["EnvelopeExpired", "InvalidSignature", "UnknownPair", "SealMismatch", "AlreadyRated"]
    assert {name for name in errors if not tally[name]} == set()
    assert tally["accepted"] >= tally["calls"] // 4
