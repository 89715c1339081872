"""Random sequences of calls: the registry agrees with the model on records, scores, events and reverts."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import ape
import pytest
from eth_utils import keccak
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scripts._anvil import restore
from scripts._payments import sign_payment
from tests.buyers.conftest import BASE_CHAIN, payment_word, tx_hash
from tests.buyers.model import ATTESTOR, NOBODY, WHOLE, BuyerModel, RefusedError
from tests.buyers.test_settle import settled_events
from tests.helpers import logged
from tests.sequences import play

REASONS = {
    *("TokenNotListed", "AuthorizationIsUsed", "NotRoleHolder", "NotNominated", "PaymentTooHigh"),
    *("PaymentTimeOutOfRange", "PaymentAlreadyRecorded", "ScoreOutOfRange", "FeedbackOnSelf", "ReviewSumTooHigh"),
    *("UnexpectedEpoch", "EmptyRoot"),
}
PEOPLE = ["client", "other_client", "owner"]
BUYERS = st.sampled_from(PEOPLE)
PAYEES = st.sampled_from(["owner", "owner", "other_owner", "stranger"])
ROLES = st.sampled_from([0, 1])
USUALLY = st.sampled_from([True, True, True, True, False])
AMOUNTS = st.sampled_from([0, 1, 20_000, 5_000_000, 400_000_000])
ATTESTED_AMOUNTS = st.sampled_from([0, 1, 4_000_000, 2**56 - 1, 2**56])
NAMES = st.integers(0, 11).map(lambda number: tx_hash(f"sequence {number}"))
POSITIONS = st.sampled_from([0, 1, 254, WHOLE])
CHAINS = st.sampled_from([1, BASE_CHAIN])
AGES = st.sampled_from([0, 1, 400 * 86_400, 400 * 86_400, -1])
SCORES = st.sampled_from([0, 50, 100, 65, 90, 101, -1])


@dataclass
class World:
    """The registry, users and agents of the sequences."""

    chain: Any
    registry: Any
    token: Any
    users: dict[str, Any]
    holders: list[Any]
    wallets: dict[str, int]
    outcomes: Counter[str] = field(default_factory=Counter)


class Sequences(RuleBasedStateMachine):
    """Calls the registry and the model alike. The test binds the machine to a world."""

    world: World

    def __init__(self):
        super().__init__()
        self.snapshot = self.world.chain.snapshot()
        holders = [account.address for account in self.world.holders]
        self.accounts = {account.address: account for account in (*self.world.users.values(), *self.world.holders)}
        self.model = BuyerModel(self.world.chain.chain_id, holders, dict(self.world.wallets), self.world.token.address)
        self.payments = self.steps = 0

    def teardown(self):
        restore(self.world.chain, self.snapshot)

    def address(self, role):
        return self.world.users[role].address

    def sender(self, role, rightful):
        return self.accounts[self.model.holders[role]] if rightful else self.world.users["stranger"]

    def agreeing(self, change, send, time=None):
        """Send a transaction, which passes or reverts as the model says; return receipt and the model's answer."""
        now = self.world.chain.pending_timestamp + 1 if time is None else time
        self.world.chain.pending_timestamp = now
        tried = deepcopy(self.model)
        try:
            answer = change(tried, now)
        except RefusedError as refusal:
            self.world.outcomes[refusal.error] += 1
            source = self.world.token if refusal.error == "AuthorizationIsUsed" else self.world.registry
            with ape.reverts(getattr(source, refusal.error), **refusal.arguments):
                send()
            return None, None
        self.world.outcomes["accepted"] += 1
        receipt = send()
        assert receipt.timestamp == now
        self.model = tried
        return receipt, answer

    @rule(buyer=BUYERS, payee=PAYEES, amount=AMOUNTS, fresh=USUALLY, listed=USUALLY, in_parts=st.booleans())
    def somebody_settles(self, buyer, payee, amount, fresh, listed, in_parts):
        world, (payer, paid) = self.world, (self.world.users[buyer], self.address(payee))
        self.payments += fresh
        payment = sign_payment(world.token, world.chain.chain_id, payer, paid, amount, 10_000 + self.payments)
        token, nonce = (world.token.address if listed else paid), payment.terms[5]
        receipt, refused = self.agreeing(
            lambda model, now: model.settle(payer.address, paid, amount, nonce, token, now),
            lambda: world.registry.settle(
                *payment.settled_in(token, in_parts=in_parts), sender=world.users["stranger"]
            ),
        )
        if receipt is not None:
            assert logged(receipt) == settled_events(nonce, payer.address, paid, amount, *refused)

    @rule(buyer=BUYERS, amount=ATTESTED_AMOUNTS, name=NAMES, rightful=USUALLY)
    def attestor_records_a_payment(self, buyer, amount, name, rightful):
        sender, account = self.sender(ATTESTOR, rightful), self.world.users[buyer]
        receipt, _ = self.agreeing(
            lambda model, now: model.record_payment(sender.address, account.address, amount, name, now),
            lambda: self.world.registry.recordPayment(account, amount, name, sender=sender),
        )
        if receipt is not None:
            word = payment_word(account, amount, receipt.timestamp, WHOLE)
            assert logged(receipt) == [("PaymentAttested", {"payment": word})]

    @rule(
        chain_id=CHAINS,
        drawn=st.lists(st.tuples(NAMES, BUYERS, st.sampled_from([1, 4_000_000]), AGES, POSITIONS), max_size=5),
        rightful=USUALLY,
    )
    def attestor_records_payments(self, chain_id, drawn, rightful):
        sender, now = self.sender(ATTESTOR, rightful), self.world.chain.pending_timestamp + 1
        users = [self.world.users[buyer] for _, buyer, *_ in drawn]
        records = [
            (name, user.address, amount, now - age, position)
            for user, (name, _, amount, age, position) in zip(users, drawn, strict=True)
        ]
        words = [
            payment_word(user, amount, time, position)
            for user, (_, _, amount, time, position) in zip(users, records, strict=True)
        ]
        packed = list(zip([name for name, *_ in records], words, strict=True))
        receipt, _ = self.agreeing(
            lambda model, time: model.record_payments(sender.address, chain_id, records, time),
            lambda: self.world.registry.recordManyPayments(chain_id, packed, sender=sender),
            now,
        )
        if receipt is not None:
            assert logged(receipt) == [("PaymentAttested", {"payment": word}) for word in words]

    @rule(votes=st.lists(st.tuples(BUYERS, SCORES, PAYEES), min_size=1, max_size=3), rightful=USUALLY)
    def attestor_records_feedback(self, votes, rightful):
        sender = self.sender(ATTESTOR, rightful)
        feedback = [(self.address(buyer), score, self.address(seller)) for buyer, score, seller in votes]
        buyer, score, seller = feedback[0]
        receipt, _ = self.agreeing(
            lambda model, _: model.record_feedbacks(sender.address, feedback),
            (lambda: self.world.registry.recordFeedback(buyer, seller, score, sender=sender))
            if len(feedback) == 1
            else (lambda: self.world.registry.recordFeedbacks(feedback, sender=sender)),
        )
        if receipt is not None:
            assert logged(receipt) == [
                ("FeedbackAttested", {"buyer": buyer, "seller": seller, "score": score})
                for buyer, score, seller in feedback
            ]

    @rule(
        buyer=BUYERS, reviews=st.integers(0, 40), mean=st.sampled_from([0, 65, 80, 100]), high=USUALLY, rightful=USUALLY
    )
    def attestor_sets_reviews(self, buyer, reviews, mean, high, rightful):
        sender = self.sender(ATTESTOR, rightful)
        entry = (self.address(buyer), reviews, reviews * mean if high else 100 * reviews + 1, reviews % 3)
        receipt, _ = self.agreeing(
            lambda model, _: model.record_reviews(sender.address, [entry]),
            lambda: self.world.registry.recordReviews([entry], sender=sender),
        )
        if receipt is not None:
            names = ("buyer", "reviews", "reviewSum", "disputes")
            assert logged(receipt) == [("ReviewsAttested", dict(zip(names, entry, strict=True)))]

    @rule(is_next=USUALLY, number=st.integers(0, 6), rightful=USUALLY)
    def anchorer_posts_a_root(self, is_next, number, rightful):
        sender = self.sender(1, rightful)
        epoch = len(self.model.roots) + (1 if is_next else 2)
        root = keccak(bytes([number])) if number else bytes(32)
        receipt, _ = self.agreeing(
            lambda model, _: model.anchor(sender.address, epoch, root),
            lambda: self.world.registry.anchorRoot(epoch, root, sender=sender),
        )
        if receipt is not None:
            assert logged(receipt) == [("Anchored", {"epoch": epoch, "root": root})]

    @rule(role=ROLES, nominee=st.sampled_from([*PEOPLE, "nobody"]), rightful=USUALLY)
    def holder_nominates(self, role, nominee, rightful):
        sender = self.sender(role, rightful)
        successor = NOBODY if nominee == "nobody" else self.address(nominee)
        receipt, _ = self.agreeing(
            lambda model, _: model.nominate(sender.address, successor, role),
            lambda: self.world.registry.setNominee(successor, role, sender=sender),
        )
        if receipt is not None:
            fields = {"role": role, "holder": sender.address, "nominee": successor}
            assert logged(receipt) == [("SuccessorNominated", fields)]

    @rule(role=ROLES, rightful=USUALLY)
    def nominee_takes_a_role(self, role, rightful):
        nominee = self.model.nominees[role]
        sender = self.accounts[nominee] if rightful and nominee != NOBODY else self.world.users["stranger"]
        receipt, former = self.agreeing(
            lambda model, _: model.take(sender.address, role),
            lambda: self.world.registry.takeRole(role, sender=sender),
        )
        if receipt is not None:
            fields = {"role": role, "formerHolder": former, "holder": sender.address}
            assert logged(receipt) == [("RoleTaken", fields)]

    @rule(name=NAMES, position=POSITIONS, chain_id=CHAINS, seller=PAYEES, buyer=BUYERS)
    def views_agree(self, name, position, chain_id, seller, buyer):
        registry, model = self.world.registry, self.model
        assert registry.hasPayment(name, position, chain_id) == model.has_payment(chain_id, name, position)
        vote = model.of(self.address(buyer)).votes.get(self.address(seller))
        assert registry.getBuyerFeedback(self.address(buyer), self.address(seller)) == (vote is not None, vote or 0)
        assert registry.getNextEpoch() == len(model.roots) + 1
        roots = [registry.rootOf(epoch) for epoch in range(1, len(model.roots) + 2)]
        assert roots == [*model.roots, bytes(32)]
        for role in (0, 1):
            assert registry.roleHolderOf(role) == (model.holders[role], model.nominees[role])

    @rule(buyer=BUYERS)
    def score_agrees(self, buyer):
        registry, account = self.world.registry, self.address(buyer)
        expected = self.model.score(account, self.world.chain.blocks.head.timestamp)
        assert (registry.getBuyerScore(account), registry.buyerTierOf(account)) == expected

    @invariant()
    def records_agree(self):
        account = self.address(PEOPLE[self.steps % len(PEOPLE)])
        self.steps += 1
        assert tuple(map(tuple, self.world.registry.recordsOf(account))) == self.model.of(account).records


@pytest.fixture(scope="module")
def world(request, chain, identity, registry, token, seller_id, deployer, attestor, anchorer):
    users = {role: request.getfixturevalue(role) for role in (*PEOPLE, "other_owner", "stranger")}
    identity.register(sender=users["other_owner"])
    token.mint(users["owner"], 10**13, sender=deployer)
    wallets = {users["owner"].address: seller_id, users["other_owner"].address: identity.getAgentCount()}
    return World(chain, registry, token, users, [attestor, anchorer], wallets)


def test_sequences_of_calls_agree_with_the_model(world):
    play(type("BoundSequences", (Sequences,), {"world": world}), examples=4, steps=40)
    outcomes = world.outcomes
    assert outcomes["accepted"] >= outcomes.total() / 4, f"the sequences mostly revert: {outcomes}"
    assert set(outcomes) <= {"accepted", *REASONS}
    # The seeded sequences do not meet this one; test_attestations.py does.
    assert REASONS - set(outcomes) <= {"ReviewSumTooHigh"}, "the sequences miss refusals"
