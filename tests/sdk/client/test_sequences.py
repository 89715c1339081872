"""Sequences of writes by the client, against a plain model of the reads that must follow."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bilateral.client import Client
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.values import FeedbackValue
from bilateral.core.values.summaries import summarize
from tests.sequences import play

TAGS = st.sampled_from(["", "starred", "uptime", "ü"])
VALUES = st.builds(FeedbackValue, st.integers(-(10**20), 10**20), st.integers(0, 18))
CHOICES = st.integers(0, 11)
"""Numbers that a rule turns into the index of a feedback that is there, or of the first that is not."""


class Writes(RuleBasedStateMachine):
    """Two reviewers and the agent's owner write at random. The model is a list of each reviewer's feedback."""

    world = None

    def __init__(self):
        super().__init__()
        self.agent = self.world.register()
        self.given = [[], []]

    def attempt(self, write, expected):
        """Write; it must be refused for the expected reason, or not at all if that is None."""
        self.world.tried += 1
        try:
            result = write().wait()
        except ContractRevertError as error:
            assert error.reason == expected
            return None
        assert expected is None
        self.world.accepted += 1
        return result

    def entry(self, who, choice):
        """Return an index, and a list of the reviewer's feedback there: empty for the first free index."""
        index = choice % (len(self.given[who]) + 1)
        return index, self.given[who][index : index + 1]

    @initialize(value=VALUES, tags=st.tuples(TAGS, TAGS))
    def both_gave(self, value, tags):
        for who in range(len(self.given)):
            self.give(who, value, tags)

    @rule(who=st.integers(0, 2), value=VALUES, tags=st.tuples(TAGS, TAGS))
    def give(self, who, value, tags):
        if who == len(self.given):
            self.attempt(lambda: self.world.owner.give_feedback(self.agent, value, *tags), "self_feedback")
            return
        entry = self.attempt(lambda: self.world.reviewers[who].give_feedback(self.agent, value, *tags), None)
        self.given[who].append(SimpleNamespace(value=value, tags=tags, revoked=False, answers=0))
        assert (entry.id.on_chain_index, entry.stored) == (len(self.given[who]), value)
        assert (entry.tag1, entry.tag2) == tags

    @rule(who=st.integers(0, 1), choice=CHOICES)
    def revoke(self, who, choice):
        index, chosen = self.entry(who, choice)
        expected = "index_out_of_bounds" if not chosen else "already_revoked" if chosen[0].revoked else None
        self.attempt(lambda: self.world.reviewers[who].revoke_feedback(self.agent, index), expected)
        for entry in chosen:
            entry.revoked = True

    @rule(whose=st.integers(0, 1), choice=CHOICES)
    def answer(self, whose, choice):
        index, chosen = self.entry(whose, choice)
        client = self.world.reviewers[whose].address
        answered = self.attempt(
            lambda: self.world.owner.append_response(self.agent, client, index, response="said"),
            None if chosen else "index_out_of_bounds",
        )
        for entry in chosen:
            entry.answers += 1
            assert len(self.world.owner.get_responses(answered.feedback)) == entry.answers

    @invariant()
    def everything_is_read(self):
        entries = self.world.owner.read_all_feedback(self.agent, include_revoked=True)
        for reviewer, own in zip(self.world.reviewers, self.given, strict=True):
            stored = [
                (entry.stored, (entry.tag1, entry.tag2), entry.is_revoked)
                for entry in entries
                if entry.id.client == reviewer.address
            ]
            assert stored == [(value.value, value.tags, value.revoked) for value in own]

    @invariant()
    def the_summary_is_of_what_counts(self):
        for tag in ("", "starred"):
            counted = [
                entry.value for own in self.given for entry in own if not entry.revoked and tag in ("", entry.tags[0])
            ]
            summary, expected = self.world.owner.get_reputation_summary(self.agent, tag), summarize(counted)
            assert (summary.count, summary.value) == (expected.count, expected.value)
            assert summary.decimals == expected.decimals


@pytest.fixture
def world(rpc, deployment, loader, register, reviewer, other_reviewer, owner):
    """The clients of all sequences, and the number of writes that were tried and accepted."""
    clients = [
        Client(rpc, signer=person, deployment=deployment, loader=loader, poll_interval=0.01)
        for person in (reviewer, other_reviewer, owner)
    ]
    yield SimpleNamespace(reviewers=clients[:2], owner=clients[2], register=register, tried=0, accepted=0)
    for client in clients:
        client.close()


def test_reads_follow_any_sequence_of_writes(world, monkeypatch):
    monkeypatch.setattr(Writes, "world", world)
    play(Writes, examples=8, steps=12)
    assert world.accepted >= world.tried // 4, world
