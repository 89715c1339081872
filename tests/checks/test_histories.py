"""An answer can be given again: at any earlier block, on both engines, after reorganisations."""

from __future__ import annotations

import random

import pytest

from bilateral.checks import BlockNotHeldError, CheckError, OtherHistoryError, Payment, Policy, Trust, UnknownAgentError
from bilateral.checks.from_index import entries as entries_module
from tests.checks.ledger import (
    account,
    approved,
    authorized,
    client_rated,
    feedback,
    registered,
    revoked,
    transferred,
    validated,
    wallet_set,
)
from tests.checks.test_servers import data_uri, naming

PEOPLE = [account(0xE000 + number) for number in range(12)]
TAGS = (b"starred", b"starred", b"uptime", b"responseTime", b"\xff tag", b"")
POLICIES = {
    "default": Policy(),
    "listed": Policy(trust=Trust(accounts=PEOPLE[:6], agents=(1, 2))),
    "own": Policy(trust=Trust(own_experience=True)),
    "bound": Policy(trust=Trust(minimum_lower_bound=30)),
    "aged": Policy(maximum_rating_age_days=2, minimum_age_days=1),
}


class History:
    """A random history of a few agents and accounts, from a seed."""

    def __init__(self, ledger, seed):
        self.ledger, self.random = ledger, random.Random(seed)  # noqa: S311  # reproducible, not secret
        self.owners, self.wallets, self.given = {}, {}, []

    def grow(self):
        """Add a block with a few events."""
        logs = [log for _ in range(self.random.randrange(5)) for log in [self._event()] if log is not None]
        self.ledger.block(*logs, hours=self.random.choice((1, 1, 5, 20)))

    def _event(self):  # noqa: PLR0911  # one a kind
        choice = self.random.random()
        if len(self.owners) < 3 or choice < 0.05:
            agent, owner = len(self.owners) + 1, self._person()
            self.owners[agent] = owner
            return registered(agent, owner, self.random.choice((b"", data_uri(registrations=naming(agent)))))
        agent = self.random.choice(list(self.owners))
        if choice < 0.5:
            person, index = self._person(), self.random.randint(1, 3)
            self.given.append((agent, person, index))
            decimals = self.random.choice((0, 0, 1, 18, 19))
            value = self.random.randint(-5, 105) * 10**decimals
            return feedback(agent, person, value, index, self.random.choice(TAGS), decimals)
        if choice < 0.6 and self.given:
            return revoked(*self.random.choice(self.given))
        if choice < 0.65:
            return authorized(agent, self._person(), self.random.randint(0, 100))
        if choice < 0.8:
            rater = self.random.choice([owner for owner in self.owners if owner != agent])
            return client_rated(agent, rater, self.random.randint(0, 100))
        if choice < 0.85:
            return wallet_set(agent, self.random.choice((None, self._person())))
        if choice < 0.9:
            former, self.owners[agent] = self.owners[agent], self._person()
            return transferred(agent, former, self.owners[agent])
        if choice < 0.95:
            return approved(agent, self.owners[agent], self._person())
        return validated(agent, self._person(), self.random.randint(0, 100), self.random.randint(1, 4))

    def _person(self):
        return self.random.choice(PEOPLE)

    def answers(self, at_block=None):
        """Return the answers to a few questions, or their errors."""
        verdicts = {}
        for name, policy in POLICIES.items():
            questions = {
                f"server {name}": lambda policy=policy: self.ledger.server(
                    1, policy=policy, payment=Payment(PEOPLE[0]), for_client=PEOPLE[3], at_block=at_block
                ),
                f"client {name}": lambda policy=policy: self.ledger.client(
                    2, policy=policy, for_server=PEOPLE[1], at_block=at_block
                ),
                f"account {name}": lambda policy=policy: self.ledger.client(
                    PEOPLE[2], policy=policy, at_block=at_block
                ),
            }
            for question, ask in questions.items():
                try:
                    verdicts[question] = ask()
                except (UnknownAgentError, CheckError) as problem:
                    verdicts[question] = str(problem)
        return verdicts


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_answer_at_a_block_is_given_again_later(any_ledger, seed):
    history = History(any_ledger, seed)
    latest = {}
    for number in range(16):
        history.grow()
        if number % 4 == seed:
            any_ledger.settle()
            latest[any_ledger.head] = history.answers()
    for block, answers in latest.items():
        assert history.answers(at_block=block) == answers


@pytest.mark.parametrize("seed", [10, 11])
def test_reorganisation_leaves_the_answers_of_blocks_that_stay(ledger, seed):
    history = History(ledger, seed)
    latest = {}
    for round_ in range(3):
        for number in range(6):
            history.grow()
            if number % 2:
                ledger.settle()
                latest[ledger.head] = history.answers()
        stays = sorted(latest)[-2]
        ledger.roll_back(stays)
        ledger.settle()
        latest = {block: answers for block, answers in latest.items() if block <= stays}
        assert history.answers() == latest[stays], round_
        for block, answers in latest.items():
            assert history.answers(at_block=block) == answers


def test_history_of_another_fork_is_refused(ledger):
    ledger.block(registered(1, PEOPLE[0]))
    ledger.block(feedback(1, PEOPLE[1], 10))
    before = ledger.server()
    repeated = ledger.server(at_block=before.block, history=bytes.fromhex(before.history[2:]))
    assert repeated == before
    ledger.roll_back(1)
    ledger.block(feedback(1, PEOPLE[1], 90))
    with pytest.raises(OtherHistoryError, match="the chain was reorganised: check again without at_block"):
        ledger.server(at_block=before.block, history=bytes.fromhex(before.history[2:]))


@pytest.mark.parametrize(("block", "is_held"), [(-1, False), (0, True), (3, True), (4, False)])
def test_only_indexed_blocks_are_answered(ledger, block, is_held):
    ledger.block(registered(1, PEOPLE[0]), hours=3)
    error, message = (
        (UnknownAgentError, "agent 1 does not exist at block 0")
        if is_held
        else (
            BlockNotHeldError,
            f"^block {block} is not indexed: at_block must be between 1 and 3$",
        )
    )
    if block == 3:
        assert ledger.server(at_block=block).block == 3
        return
    with pytest.raises(error, match=message):
        ledger.server(at_block=block)


@pytest.mark.parametrize(("count", "is_too_long"), [(20, False), (21, True)])
def test_long_history_is_answered_at_the_head_only(ledger, monkeypatch, count, is_too_long):
    monkeypatch.setattr(entries_module, "MOST_ENTRIES", 20)
    ledger.block(registered(1, PEOPLE[0]))
    ledger.block(*(feedback(1, PEOPLE[1], 50, index) for index in range(1, count + 1)))
    past = ledger.head
    ledger.block(validated(1, PEOPLE[2], 1))
    assert ledger.server().figures["rating"]["count"] == count
    if not is_too_long:
        assert ledger.server(at_block=past).figures["rating"]["count"] == count
        return
    with pytest.raises(CheckError, match="there are more than 20 ratings: check at the latest block"):
        ledger.server(at_block=past)
