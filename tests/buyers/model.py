"""A plain model of the buyer reputation registry: what it records, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilateral.buyers import BuyerMetrics, score_of, tier_of

WHOLE = 255
DAY = 86_400
NOBODY = "0x" + "00" * 20
ATTESTOR, ANCHORER = 0, 1
NOTHING_PAID, NO_SELLER, PAID_OWN_AGENT, PAID_OWN_WALLET = range(4)


class RefusedError(Exception):
    """The registry refuses: the error's name and its arguments."""

    def __init__(self, error, **arguments):
        super().__init__(error)
        self.error, self.arguments = error, arguments


@dataclass
class Tally:
    """The payments of a buyer."""

    payments: int = 0
    volume: int = 0
    first: int = 0
    last: int = 0

    def add(self, amount, time):
        self.payments += 1
        self.volume += amount
        self.first = min(self.first or time, time)
        self.last = max(self.last, time)


@dataclass
class Buyer:
    """All that is known about a buyer."""

    settled: Tally = field(default_factory=Tally)
    attested: Tally = field(default_factory=Tally)
    sellers: set[int] = field(default_factory=set)
    reviews: int = 0
    review_sum: int = 0
    disputes: int = 0
    votes: dict[str, int] = field(default_factory=dict)

    @property
    def records(self):
        """Return both records as `recordsOf` does."""
        tally, attested = self.settled, self.attested
        return (
            (tally.payments, tally.volume, tally.first, tally.last, len(self.sellers)),
            (
                *(attested.payments, attested.volume, attested.first, attested.last, self.reviews, self.review_sum),
                *(len(self.votes), sum(self.votes.values()), self.disputes),
            ),
        )

    def metrics(self, now):
        """Return what the score of both records depends on."""
        times = [entry.first for entry in (self.settled, self.attested) if entry.payments]
        return BuyerMetrics(
            payments=self.settled.payments + self.attested.payments,
            volume=self.settled.volume + self.attested.volume,
            age_days=(now - min(times)) // DAY if times else 0,
            reviews=self.reviews,
            review_sum=self.review_sum,
            feedback_sellers=len(self.votes),
            feedback_sum=sum(self.votes.values()),
            disputes=self.disputes,
        )


@dataclass
class BuyerModel:
    """The registry.

    Attributes:
        chain_id: The chain.
        holders: The holder of each role.
        wallets: The agent as which each account speaks.
        token: The listed token.
    """

    chain_id: int
    holders: list[str]
    wallets: dict[str, int]
    token: str
    buyers: dict[str, Buyer] = field(default_factory=dict)
    recorded: dict[tuple[int, bytes], set[int]] = field(default_factory=dict)
    nominees: list[str] = field(default_factory=lambda: [NOBODY, NOBODY])
    roots: list[bytes] = field(default_factory=list)
    nonces: set[tuple[str, bytes]] = field(default_factory=set)

    def of(self, account):
        """Return what is known about an account."""
        return self.buyers.setdefault(account, Buyer())

    def settle(self, buyer, payee, amount, nonce, token, time):
        """Record a settlement; return the seller and the reason why it does not count."""
        if token != self.token:
            raise RefusedError("TokenNotListed", token=token)
        if (buyer, nonce) in self.nonces:
            raise RefusedError("AuthorizationIsUsed", nonce=nonce)
        self.nonces.add((buyer, nonce))
        seller = self.wallets.get(payee, 0)
        if not amount:
            return seller, NOTHING_PAID
        if not seller:
            return seller, NO_SELLER
        if self.wallets.get(buyer) == seller:  # in these sequences, an agent's wallet is its owner
            return seller, PAID_OWN_AGENT
        self.of(buyer).settled.add(amount, time)
        self.of(buyer).sellers.add(seller % 96)
        return seller, None

    def record_payment(self, sender, buyer, amount, name, time):
        """Record the only payment of a transaction of this chain."""
        self.require(ATTESTOR, sender)
        if amount >= 2**56:
            raise RefusedError("PaymentTooHigh", amount=amount, limit=2**56 - 1)
        if self.recorded.get((self.chain_id, name)):
            raise RefusedError("PaymentAlreadyRecorded", chainId=self.chain_id, txHash=name, position=WHOLE)
        self.recorded[self.chain_id, name] = set(range(256))
        self.of(buyer).attested.add(amount, time)

    def record_payments(self, sender, chain_id, records, now):
        """Record payments `(name, buyer, amount, time, position)` of one chain, all or none."""
        self.require(ATTESTOR, sender)
        taken = {}
        for name, _, _, time, position in records:
            if not 0 < time <= now:
                raise RefusedError("PaymentTimeOutOfRange", paidAt=time, time=now)
            before = self.recorded.get((chain_id, name), set()) | taken.get(name, set())
            wanted = set(range(256)) if position == WHOLE else {position}
            if before & wanted:
                raise RefusedError("PaymentAlreadyRecorded", chainId=chain_id, txHash=name, position=position)
            taken[name] = taken.get(name, set()) | wanted
        for name, positions in taken.items():
            self.recorded[chain_id, name] = self.recorded.get((chain_id, name), set()) | positions
        for _, buyer, amount, time, _ in records:
            self.of(buyer).attested.add(amount, time)

    def has_payment(self, chain_id, name, position):
        """Tell whether a payment was recorded."""
        recorded = self.recorded.get((chain_id, name), set())
        return bool(recorded) if position == WHOLE else position in recorded

    def record_feedbacks(self, sender, votes):
        """Record votes `(buyer, score, seller)`, all or none."""
        self.require(ATTESTOR, sender)
        for buyer, score, seller in votes:
            if not 0 <= score <= 100:
                raise RefusedError("ScoreOutOfRange", score=score, limit=100)
            if buyer == seller:
                raise RefusedError("FeedbackOnSelf", account=buyer)
        for buyer, score, seller in votes:
            self.of(buyer).votes[seller] = score

    def record_reviews(self, sender, entries):
        """Set reviews and disputes `(buyer, reviews, sum, disputes)`, all or none."""
        self.require(ATTESTOR, sender)
        for _, reviews, total, _ in entries:
            if total > 100 * reviews:
                raise RefusedError("ReviewSumTooHigh", reviews=reviews, reviewSum=total)
        for buyer, reviews, total, disputes in entries:
            state = self.of(buyer)
            state.reviews, state.review_sum, state.disputes = reviews, total, disputes

    def anchor(self, sender, epoch, root):
        """Post a root."""
        self.require(ANCHORER, sender)
        if epoch != len(self.roots) + 1:
            raise RefusedError("UnexpectedEpoch", epoch=epoch, expected=len(self.roots) + 1)
        if not any(root):
            raise RefusedError("EmptyRoot")
        self.roots.append(root)

    def nominate(self, sender, nominee, role):
        """Nominate a successor."""
        self.require(role, sender)
        self.nominees[role] = nominee

    def take(self, sender, role):
        """Take a role; return its former holder."""
        if self.nominees[role] != sender:
            raise RefusedError("NotNominated", role=role, caller=sender)
        former, self.holders[role], self.nominees[role] = self.holders[role], sender, NOBODY
        return former

    def require(self, role, sender):
        """Refuse an account that does not hold a role."""
        if self.holders[role] != sender:
            raise RefusedError("NotRoleHolder", role=role, caller=sender)

    def score(self, account, now):
        """Return the score, and the number of the tier."""
        metrics = self.of(account).metrics(now)
        return score_of(metrics), tier_of(metrics).level
