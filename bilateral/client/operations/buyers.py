"""Records of buyers, which payments prove: reads, settlements and anchors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from eth_utils.hexadecimal import encode_hex
from pydantic.alias_generators import to_camel

from bilateral.client.inputs import checked_uint, hash_bytes
from bilateral.client.operations import confirmations, registries, transactions
from bilateral.client.results import (
    Anchor,
    AttestedRecord,
    BuyerRecords,
    BuyerStanding,
    RoleHolder,
    SettledPayment,
    SettledRecord,
)
from bilateral.client.state import ClientState, Sent
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import (
    WHOLE_TRANSACTION,
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerRole,
    BuyerState,
    BuyerTier,
    NotCounted,
    PaymentRecord,
    SignedPayment,
    TierCredential,
)
from bilateral.core.contracts.codec import decode_result
from bilateral.core.contracts.logs import RawLog
from bilateral.core.events import (
    Anchored,
    Event,
    FeedbackAttested,
    PaymentAttested,
    PaymentNotCounted,
    PaymentSettled,
    ReviewsAttested,
    RoleTaken,
    SuccessorNominated,
    TierRootsPosted,
)
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.values.times import chain_time
from bilateral.node import answers
from bilateral.node.steps import Operation

K = TypeVar("K")
R = TypeVar("R", SettledRecord, AttestedRecord)
T = TypeVar("T")

_NOBODY = "0x" + "00" * 20


def send(
    state: ClientState, function: str, arguments: Sequence[Any], decode: Callable[[Sequence[Event]], T]
) -> Operation[Sent[T]]:
    """Send a transaction that calls a function of the registry."""
    return (yield from transactions.send(state, Registry.BUYERS, function, arguments, decode))


def settle(state: ClientState, payment: SignedPayment) -> Operation[Sent[SettledPayment]]:
    """See `Client.settle_payment`."""
    deployment = yield from registries.connect(state)

    def decode(events: Sequence[Event]) -> SettledPayment:
        fields: dict[str, Any] = {"buyer": payment.buyer, "amount": payment.amount, "nonce": payment.nonce}
        refusals = [event for event in events if isinstance(event, PaymentNotCounted)]
        if refusals:
            refused = transactions.require_event(refusals, PaymentNotCounted, **fields)
            seller = AgentId(refused.seller_id, deployment.chain_id) if refused.seller_id else None
            return SettledPayment(**fields, seller=seller, refusal=_term(NotCounted, refused.reason, "logs"))
        counted = transactions.require_event(events, PaymentSettled, **fields)
        return SettledPayment(**fields, seller=AgentId(counted.seller_id, deployment.chain_id), refusal=None)

    return (yield from send(state, "settle", payment.arguments, decode))


def anchor(state: ClientState, epoch: int, root: bytes | str) -> Operation[Sent[Anchor]]:
    """See `Client.anchor_root`."""
    digest = hash_bytes(root, "a root")

    def decode(events: Sequence[Event]) -> Anchor:
        event = transactions.require_event(events, Anchored, epoch=epoch, root=digest)
        return Anchor(event.epoch, event.root)

    return (yield from send(state, "anchorRoot", (checked_uint(epoch, 64, "an epoch"), digest), decode))


def nominate(state: ClientState, role: BuyerRole, nominee: str | None) -> Operation[Sent[RoleHolder]]:
    """See `Client.set_nominee`."""
    successor = _NOBODY if nominee is None else checksummed(nominee)

    def decode(events: Sequence[Event]) -> RoleHolder:
        event = transactions.require_event(events, SuccessorNominated, role=role, nominee=successor)
        return RoleHolder(role, event.holder, None if nominee is None else successor)

    return (yield from send(state, "setNominee", (successor, int(role)), decode))


def take(state: ClientState, role: BuyerRole) -> Operation[Sent[RoleHolder]]:
    """See `Client.take_role`."""

    def decode(events: Sequence[Event]) -> RoleHolder:
        return RoleHolder(role, transactions.require_event(events, RoleTaken, role=role).holder, None)

    return (yield from send(state, "takeRole", (int(role),), decode))


def score(state: ClientState, buyer: str) -> Operation[int]:
    """See `Client.get_buyer_score`."""
    (points,) = yield from _call(state, "getBuyerScore", checksummed(buyer))
    return int(points)


def tier(state: ClientState, buyer: str) -> Operation[BuyerTier]:
    """See `Client.get_buyer_tier`."""
    (level,) = yield from _call(state, "buyerTierOf", checksummed(buyer))
    return _term(BuyerTier.of_level, level)


def settlement_score(state: ClientState, buyer: str) -> Operation[BuyerStanding]:
    """See `Client.get_settlement_score`."""
    points, level = yield from _call(state, "settlementScoreOf", checksummed(buyer))
    return BuyerStanding(points, _term(BuyerTier.of_level, level))


def records(state: ClientState, buyer: str) -> Operation[BuyerRecords]:
    """See `Client.get_buyer_records`."""
    account = checksummed(buyer)
    settled, attested = yield from _call(state, "recordsOf", account)
    return BuyerRecords(account, _record(SettledRecord, settled), _record(AttestedRecord, attested))


def _record(kind: type[R], answer: Mapping[str, int]) -> R:
    values: dict[str, Any] = {field.name: answer[to_camel(field.name)] for field in fields(kind)}
    times = {name: chain_time(at) if (at := values[name]) else None for name in ("first_payment_at", "last_payment_at")}
    return kind(**values | times)


def has_payment(
    state: ClientState, transaction_hash: bytes | str, position: int, chain_id: int | None
) -> Operation[bool]:
    """See `Client.has_payment`."""
    deployment = yield from registries.connect(state)
    name = hash_bytes(transaction_hash, "a transaction's hash")
    chain = deployment.chain_id if chain_id is None else checked_uint(chain_id, 256, "a chain id")
    (recorded,) = yield from _call(state, "hasPayment", name, checked_uint(position, 8, "a position"), chain)
    return bool(recorded)


def feedback(state: ClientState, buyer: str, seller: str) -> Operation[int | None]:
    """See `Client.get_buyer_feedback`."""
    has_vote, vote = yield from _call(state, "getBuyerFeedback", checksummed(buyer), checksummed(seller))
    return int(vote) if has_vote else None


def next_epoch(state: ClientState) -> Operation[int]:
    """See `Client.get_next_epoch`."""
    (epoch,) = yield from _call(state, "getNextEpoch")
    return int(epoch)


def root_of(state: ClientState, epoch: int) -> Operation[bytes | None]:
    """See `Client.get_root`."""
    (root,) = yield from _call(state, "rootOf", checked_uint(epoch, 256, "an epoch"))
    return bytes(root) if any(root) else None


def verify(state: ClientState, buyer_state: BuyerState, epoch: int, proof: Sequence[bytes]) -> Operation[bool]:
    """See `Client.verify_buyer`."""
    hashes = [hash_bytes(sibling, "an element of the proof") for sibling in proof]
    number = checked_uint(epoch, 256, "an epoch")
    (anchored,) = yield from _call(state, "verifyBuyer", buyer_state.arguments, number, hashes)
    return bool(anchored)


def verify_credential(state: ClientState, credential: TierCredential, signature: bytes) -> Operation[bool]:
    """See `Client.verify_credential`."""
    (valid,) = yield from _call(state, "verifyCredential", credential.arguments, bytes(signature))
    return bool(valid)


def role_holder(state: ClientState, role: BuyerRole) -> Operation[RoleHolder]:
    """See `Client.get_role_holder`."""
    holder, nominee = yield from _call(state, "roleHolderOf", int(role))
    return RoleHolder(role, holder, None if nominee == _NOBODY else nominee)


def tokens(state: ClientState) -> Operation[list[str]]:
    """See `Client.get_payment_tokens`."""
    (listed,) = yield from _call(state, "getTokenAddresses")
    return list(listed)


def _call(state: ClientState, function: str, *arguments: Any) -> Operation[tuple[Any, ...]]:
    return (yield from registries.call(state, Registry.BUYERS, function, *arguments))


def _term(read: Callable[[int], K], number: int, verb: str = "answers with") -> K:
    """Return a term that the registry names by its number."""
    try:
        return read(number)
    except ValueError as error:
        raise errors.UnexpectedAnswerError(f"{Registry.BUYERS} {verb} an invalid value: {error}") from None


def record_payment(
    state: ClientState, buyer: str, amount: int, transaction_hash: bytes | str
) -> Operation[Sent[AttestedPayment]]:
    """See `Client.record_payment`."""
    account = checksummed(buyer)

    def decode(events: Sequence[Event]) -> AttestedPayment:
        logged = AttestedPayment.from_word(transactions.require_event(events, PaymentAttested).payment)
        expected = AttestedPayment(account, amount, logged.paid_at, WHOLE_TRANSACTION)
        transactions.require_event(events, PaymentAttested, payment=expected.word)
        return logged

    name = hash_bytes(transaction_hash, "a transaction's hash")
    arguments = (account, checked_uint(amount, 256, "an amount"), name)
    deployment = yield from registries.connect(state)
    yield from _require_not_settled(state, deployment.chain_id, {name: None})
    return (yield from send(state, "recordPayment", arguments, decode))


def record_payments(
    state: ClientState, chain_id: int, records: Sequence[PaymentRecord]
) -> Operation[Sent[tuple[AttestedPayment, ...]]]:
    """See `Client.record_payments`."""
    payments = tuple(record.payment for record in records)
    decode = _attested(PaymentAttested, payments, lambda payment: {"payment": payment.word})
    packed = [(record.transaction_hash, record.payment.word) for record in records]
    chain = checked_uint(chain_id, 256, "a chain id")
    by_transaction: dict[bytes, set[tuple[str, int]] | None] = {}
    for record in records:
        payment, previous = record.payment, by_transaction.get(record.transaction_hash, set())
        if previous is None or payment.position == WHOLE_TRANSACTION:
            by_transaction[record.transaction_hash] = None
        else:
            by_transaction[record.transaction_hash] = {*previous, (payment.buyer, payment.amount)}
    yield from _require_not_settled(state, chain, by_transaction)
    return (yield from send(state, "recordManyPayments", (chain, packed), decode))


def _require_not_settled(
    state: ClientState, chain_id: int, transactions_: Mapping[bytes, Collection[tuple[str, int]] | None]
) -> Operation[None]:
    """Check that the registry did not settle and count some payments itself. A contract cannot look that up."""
    deployment = yield from registries.connect(state)
    if chain_id != deployment.chain_id:
        return
    registry = (yield from registries.require_registry(state, Registry.BUYERS)).lower()
    for name, payments in transactions_.items():
        receipt = yield from confirmations.read_receipt(encode_hex(name))
        if receipt is None:  # pruned, behind or not mined: its payments may be settled ones
            raise errors.MissingReceiptError(name)
        for entry in answers.records(receipt.get("logs")):
            raw = RawLog.from_json(entry)
            event = registries.decode(Registry.BUYERS, raw) if raw.position.address.lower() == registry else None
            if isinstance(event, PaymentSettled) and (payments is None or (event.buyer, event.amount) in payments):
                raise errors.PaymentSettledHereError(name, event.buyer, is_whole=payments is None)


def record_feedback(state: ClientState, feedback: BuyerFeedback) -> Operation[Sent[BuyerFeedback]]:
    """See `Client.record_buyer_feedback`."""
    decode_all = _attested(FeedbackAttested, [feedback])

    def decode(events: Sequence[Event]) -> BuyerFeedback:
        return decode_all(events)[0]

    arguments = (feedback.buyer, feedback.seller, feedback.score)
    return (yield from send(state, "recordFeedback", arguments, decode))


def record_feedbacks(
    state: ClientState, feedbacks: Sequence[BuyerFeedback]
) -> Operation[Sent[tuple[BuyerFeedback, ...]]]:
    """See `Client.record_buyer_feedbacks`."""
    packed = [(feedback.buyer, feedback.score, feedback.seller) for feedback in feedbacks]
    return (yield from send(state, "recordFeedbacks", (packed,), _attested(FeedbackAttested, feedbacks)))


def record_reviews(state: ClientState, reviews: Sequence[BuyerReviews]) -> Operation[Sent[tuple[BuyerReviews, ...]]]:
    """See `Client.record_buyer_reviews`."""
    packed = [(review.buyer, review.reviews, review.review_sum, review.disputes) for review in reviews]
    return (yield from send(state, "recordReviews", (packed,), _attested(ReviewsAttested, reviews)))


def _attested(
    kind: type[Event], records: Sequence[T], fields_of: Callable[[T], Mapping[str, Any]] = vars
) -> Callable[[Sequence[Event]], tuple[T, ...]]:
    """Return a decoder that requires an event of each record. A transaction without records would do nothing."""
    if not records:
        raise errors.InvalidArgumentError("name at least one record")

    def decode(events: Sequence[Event]) -> tuple[T, ...]:
        for record in records:
            transactions.require_event(events, kind, **fields_of(record))
        return tuple(records)

    return decode


VERIFY_GAS: Final = 1_000_000
"""The gas of a check. It takes 300,000. With too little gas Semaphore's verifier answers false, and estimates of its
gas are too low for that reason."""

ROOTS: Final = 3  # one for each tier that has a group


def post_tier_roots(
    state: ClientState, epoch: int, policy: bytes | str, roots: Sequence[int]
) -> Operation[Sent[TierRootsPosted]]:
    """See `Client.post_tier_roots`."""
    name = hash_bytes(policy, "a policy")
    if len(roots) != ROOTS:
        raise errors.InvalidArgumentError(f"give the roots of {ROOTS} tiers, not {len(roots)}")

    def decode(events: Sequence[Event]) -> TierRootsPosted:
        return transactions.require_event(events, TierRootsPosted, epoch=epoch, policy=name)

    arguments = (checked_uint(epoch, 64, "an epoch"), name, list(roots))
    return (yield from transactions.send(state, Registry.TIER_PROOFS, "postTierRoots", arguments, decode))


def tier_roots(state: ClientState, policy: bytes | str, epoch: int) -> Operation[tuple[int, int, int] | None]:
    """See `Client.get_tier_roots`."""
    name = hash_bytes(policy, "a policy")
    (roots,) = yield from registries.call(
        state, Registry.TIER_PROOFS, "rootsOf", name, checked_uint(epoch, 64, "epoch")
    )
    verified, trusted, premium = roots
    return (verified, trusted, premium) if verified else None


def verify_tier_proof(  # noqa: PLR0913, PLR0917  # the contract's own arguments
    state: ClientState,
    nullifier: int,
    points: Sequence[int],
    policy: bytes | str,
    minimum: BuyerTier,
    epoch: int,
    scope: bytes | str,
    message: bytes | str,
) -> Operation[None]:
    """See `Client.verify_tier`."""
    deployment = yield from registries.connect(state)
    words = [hash_bytes(policy, "a policy"), hash_bytes(scope, "a scope"), hash_bytes(message, "a message")]
    arguments: tuple[Any, ...] = (
        (nullifier, list(points)),
        *(words[0], minimum.level, checked_uint(epoch, 64, "an epoch"), *words[1:]),
    )
    data = registries.calldata(Registry.TIER_PROOFS, "verifyTier", arguments)
    to = deployment.address_of(Registry.TIER_PROOFS)
    call = {"to": to, "data": "0x" + data.hex(), "gas": hex(VERIFY_GAS)}
    returned = yield from registries.simulate(call)
    yield from registries.require_registry(state, Registry.TIER_PROOFS)  # a call of no contract succeeds, too
    decode_result(Registry.TIER_PROOFS, "verifyTier", returned)
