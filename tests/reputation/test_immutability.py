"""Feedback is written once. Only its revoked flag can change, once, by its client."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scripts._anvil import restore
from tests.reputation.model import Given
from tests.sequences import play

USERS = 4
ACCEPTED_QUOTA = 1 / 4

users = st.integers(0, USERS - 1)
indexes = st.integers(0, 4)
feedback = st.builds(
    Given,
    value=st.integers(-(10**38), 10**38),
    decimals=st.integers(0, 19),
    tag1=st.sampled_from(["", "starred", "uptime"]),
    tag2=st.sampled_from(["", "finance"]),
)


@pytest.fixture
def calls():
    """The numbers of accepted and refused calls."""
    return Counter()


@pytest.fixture
def machine(chain, reputation, identity, agent, owner, client, other_client, stranger, signed, calls):  # noqa: C901
    """The state machine. The linter counts its rules as the branches of one function."""
    people = [owner, client, other_client, stranger]

    class Machine(RuleBasedStateMachine):
        """Users who use every function on each other's feedback and on the agent."""

        def __init__(self):
            super().__init__()
            self.snapshot = chain.snapshot()
            self.written = {}

        def teardown(self):
            restore(chain, self.snapshot)

        def attempt(self, method, *arguments, sender):
            """Send a call, and return True if the registry accepted it."""
            accepted = not method(*arguments, sender=people[sender], raise_on_revert=False).failed
            calls["accepted" if accepted else "refused"] += 1
            return accepted

        def remember(self, who, entry):
            index = 1 + sum(client == who for client, _ in self.written)
            self.written[who, index] = [entry.value, entry.decimals, entry.tag1, entry.tag2, False]

        @rule(who=users, entry=feedback)
        def give(self, who, entry):
            if self.attempt(reputation.giveFeedback, agent, *entry.arguments, sender=who):
                self.remember(who, entry)

        @rule(who=users, sponsor=users, entry=feedback, index=st.integers(0, 3))
        def sponsor(self, who, sponsor, entry, index):
            message = signed(people[who], index, entry)
            arguments = (message.client, message.params, message.deadline, message.signature(people[who]))
            if self.attempt(reputation.giveFeedbackBySig, *arguments, sender=sponsor):
                self.remember(who, entry)

        @rule(who=users, index=indexes)
        def revoke(self, who, index):
            if self.attempt(reputation.revokeFeedback, agent, index, sender=who):
                assert self.written[who, index][-1] is False
                self.written[who, index][-1] = True

        @rule(who=users, of=users, index=indexes)
        def respond(self, who, of, index):
            self.attempt(reputation.appendResponse, agent, people[of], index, "ipfs://Qm", bytes(32), sender=who)

        @rule(to=users)
        def hand_over(self, to):
            holder = people.index(identity.ownerOf(agent))
            self.attempt(identity.transferFrom, people[holder], people[to], agent, sender=holder)

        @invariant()
        def everything_stands_as_written(self):
            columns = reputation.readAllFeedback(agent, people, "", "", True)
            stored = {(people.index(row[0]), row[1]): list(row[2:]) for row in zip(*columns, strict=True)}
            assert stored == self.written

    return Machine


def test_no_sequence_of_calls_changes_feedback(machine, calls):
    play(machine, examples=5, steps=10)
    assert calls["accepted"] >= ACCEPTED_QUOTA * calls.total()
