"""Operations on buyers' payment-backed records: reads, settlements and the posting of Merkle roots."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from eth_utils.hexadecimal import encode_hex
from pydantic.alias_generators import to_camel

from bilateral.client import results
from bilateral.client.operations import confirmations, registries, transactions
from bilateral.client.state import ClientState, Sent, checked_uint, hash_bytes
from bilateral.core import errors
from bilateral.core import events as kinds
from bilateral.core.contracts import Registry, buyer_terms
from bilateral.core.contracts.codec import decode_result
from bilateral.core.contracts.logs import RawLog
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.values.times import chain_time
from bilateral.node import answers
from bilateral.node.steps import Operation

K = TypeVar("K")
R = TypeVar("R", results.SettledRecord, results.AttestedRecord)
T = TypeVar("T")

_NOBODY = "0x" + "00" * 20


def send(
    state: ClientState, function: str, arguments: Sequence[Any], decode: Callable[[Sequence[kinds.Event]], T]
) -> Operation[Sent[T]]:
    """Send a transaction that calls a function of the registry."""
    return (yield from transactions.send(state, Registry.BUYERS, function, arguments, decode))


def settle(state: ClientState, payment: buyer_terms.SignedPayment) -> Operation[Sent[results.SettledPayment]]:
    """See `Client.settle_payment`."""
    deployment = yield from registries.connect(state)

    def decode(events: Sequence[kinds.Event]) -> results.SettledPayment:
        fields: dict[str, Any] = {"buyer": payment.buyer, "amount": payment.amount, "nonce": payment.nonce}
        refusals = [event for event in events if isinstance(event, kinds.PaymentNotCounted)]
        if refusals:
            refused = transactions.require_event(refusals, kinds.PaymentNotCounted, **fields)
            seller = AgentId(refused.seller_id, deployment.chain_id) if refused.seller_id else None
            return results.SettledPayment(
                **fields, seller=seller, refusal=_term(buyer_terms.NotCounted, refused.reason, "logs")
            )
        counted = transactions.require_event(events, kinds.PaymentSettled, **fields)
        return results.SettledPayment(**fields, seller=AgentId(counted.seller_id, deployment.chain_id), refusal=None)

    return (yield from send(state, "settle", payment.arguments, decode))


def anchor(state: ClientState, epoch: int, root: bytes | str) -> Operation[Sent[results.Anchor]]:
    """See `Client.anchor_root`."""
    digest = hash_bytes(root, "a root")

    def decode(events: Sequence[kinds.Event]) -> results.Anchor:
        event = transactions.require_event(events, kinds.Anchored, epoch=epoch, root=digest)
        return results.Anchor(event.epoch, event.root)

    return (yield from send(state, "anchorRoot", (checked_uint(epoch, 64, "an epoch"), digest), decode))


def nominate(
    state: ClientState, role: buyer_terms.BuyerRole, nominee: str | None
) -> Operation[Sent[results.RoleHolder]]:
    """See `Client.set_nominee`."""
    successor = _NOBODY if nominee is None else checksummed(nominee)

    def decode(events: Sequence[kinds.Event]) -> results.RoleHolder:
        event = transactions.require_event(events, kinds.SuccessorNominated, role=role, nominee=successor)
        return results.RoleHolder(role, event.holder, None if nominee is None else successor)

    return (yield from send(state, "setNominee", (successor, int(role)), decode))


def take(state: ClientState, role: buyer_terms.BuyerRole) -> Operation[Sent[results.RoleHolder]]:
    """See `Client.take_role`."""

    def decode(events: Sequence[kinds.Event]) -> results.RoleHolder:
        return results.RoleHolder(role, transactions.require_event(events, kinds.RoleTaken, role=role).holder, None)

    return (yield from send(state, "takeRole", (int(role),), decode))


def score(state: ClientState, buyer: str) -> Operation[int]:
    """See `Client.get_buyer_score`."""
    (points,) = yield from _call(state, "getBuyerScore", checksummed(buyer))
    return int(points)


def tier(state: ClientState, buyer: str) -> Operation[buyer_terms.BuyerTier]:
    """See `Client.get_buyer_tier`."""
    (level,) = yield from _call(state, "buyerTierOf", checksummed(buyer))
    return _term(buyer_terms.BuyerTier.of_level, level)


def settlement_score(state: ClientState, buyer: str) -> Operation[results.BuyerStanding]:
    """See `Client.get_settlement_score`."""
    points, level = yield from _call(state, "settlementScoreOf", checksummed(buyer))
    return results.BuyerStanding(points, _term(buyer_terms.BuyerTier.of_level, level))


def records(state: ClientState, buyer: str) -> Operation[results.BuyerRecords]:
    """See `Client.get_buyer_records`."""
    account = checksummed(buyer)
    settled, attested = yield from _call(state, "recordsOf", account)
    return results.BuyerRecords(
        account, _record(results.SettledRecord, settled), _record(results.AttestedRecord, attested)
    )


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


def verify(
    state: ClientState, buyer_state: buyer_terms.BuyerState, epoch: int, proof: Sequence[bytes]
) -> Operation[bool]:
    """See `Client.verify_buyer`."""
    hashes = [hash_bytes(sibling, "an element of the proof") for sibling in proof]
    number = checked_uint(epoch, 256, "an epoch")
    (anchored,) = yield from _call(state, "verifyBuyer", buyer_state.arguments, number, hashes)
    return bool(anchored)


def verify_credential(state: ClientState, credential: buyer_terms.TierCredential, signature: bytes) -> Operation[bool]:
    """See `Client.verify_credential`."""
    (valid,) = yield from _call(state, "verifyCredential", credential.arguments, bytes(signature))
    return bool(valid)


def role_holder(state: ClientState, role: buyer_terms.BuyerRole) -> Operation[results.RoleHolder]:
    """See `Client.get_role_holder`."""
    holder, nominee = yield from _call(state, "roleHolderOf", int(role))
    return results.RoleHolder(role, holder, None if nominee == _NOBODY else nominee)


def tokens(state: ClientState) -> Operation[list[str]]:
    """See `Client.get_payment_tokens`."""
    (listed,) = yield from _call(state, "getTokenAddresses")
    return list(listed)


def _call(state: ClientState, function: str, *arguments: Any) -> Operation[tuple[Any, ...]]:
    return (yield from registries.call(state, Registry.BUYERS, function, *arguments))


def _term(read: Callable[[int], K], number: int, verb: str = "returned") -> K:
    """Return the enum member for a number that the registry uses."""
    try:
        return read(number)
    except ValueError as error:
        raise errors.UnexpectedAnswerError(f"{Registry.BUYERS} {verb} an invalid value: {error}") from None


def record_payment(
    state: ClientState, buyer: str, amount: int, transaction_hash: bytes | str
) -> Operation[Sent[buyer_terms.AttestedPayment]]:
    """See `Client.record_payment`."""
    account = checksummed(buyer)

    def decode(events: Sequence[kinds.Event]) -> buyer_terms.AttestedPayment:
        logged = buyer_terms.AttestedPayment.from_word(
            transactions.require_event(events, kinds.PaymentAttested).payment
        )
        expected = buyer_terms.AttestedPayment(account, amount, logged.paid_at, buyer_terms.WHOLE_TRANSACTION)
        transactions.require_event(events, kinds.PaymentAttested, payment=expected.word)
        return logged

    name = hash_bytes(transaction_hash, "a transaction's hash")
    arguments = (account, checked_uint(amount, 256, "an amount"), name)
    deployment = yield from registries.connect(state)
    yield from _require_not_settled(state, deployment.chain_id, {name: None})
    return (yield from send(state, "recordPayment", arguments, decode))


def record_payments(
    state: ClientState, chain_id: int, records: Sequence[buyer_terms.PaymentRecord]
) -> Operation[Sent[tuple[buyer_terms.AttestedPayment, ...]]]:
    """See `Client.record_payments`."""
    payments = tuple(record.payment for record in records)
    decode = _attested(kinds.PaymentAttested, payments, lambda payment: {"payment": payment.word})
    packed = [(record.transaction_hash, record.payment.word) for record in records]
    chain = checked_uint(chain_id, 256, "a chain id")
    by_transaction: dict[bytes, set[tuple[str, int]] | None] = {}
    for record in records:
        payment, previous = record.payment, by_transaction.get(record.transaction_hash, set())
        if previous is None or payment.position == buyer_terms.WHOLE_TRANSACTION:
            by_transaction[record.transaction_hash] = None
        else:
            by_transaction[record.transaction_hash] = {*previous, (payment.buyer, payment.amount)}
    yield from _require_not_settled(state, chain, by_transaction)
    return (yield from send(state, "recordManyPayments", (chain, packed), decode))


def _require_not_settled(
    state: ClientState, chain_id: int, transactions_: Mapping[bytes, Collection[tuple[str, int]] | None]
) -> Operation[None]:
    """Reject payments that the registry itself settled and counted, because its contract cannot detect them."""
    deployment = yield from registries.connect(state)
    if chain_id != deployment.chain_id:
        return
    registry = (yield from registries.require_registry(state, Registry.BUYERS)).lower()
    for name, payments in transactions_.items():
        receipt = yield from confirmations.read_receipt(encode_hex(name))
        if receipt is None:  # pruned, not mined, or not yet synced: it may contain settled payments
            raise errors.MissingReceiptError(name)
        for entry in answers.records(receipt.get("logs")):
            raw = RawLog.from_json(entry)
            event = registries.decode(Registry.BUYERS, raw) if raw.position.address.lower() == registry else None
            if isinstance(event, kinds.PaymentSettled) and (
                payments is None or (event.buyer, event.amount) in payments
            ):
                raise errors.PaymentSettledHereError(name, event.buyer, is_whole=payments is None)


def record_feedback(
    state: ClientState, feedback: buyer_terms.BuyerFeedback
) -> Operation[Sent[buyer_terms.BuyerFeedback]]:
    """See `Client.record_buyer_feedback`."""
    decode_all = _attested(kinds.FeedbackAttested, [feedback])

    def decode(events: Sequence[kinds.Event]) -> buyer_terms.BuyerFeedback:
        return decode_all(events)[0]

    arguments = (feedback.buyer, feedback.seller, feedback.score)
    return (yield from send(state, "recordFeedback", arguments, decode))


def record_feedbacks(
    state: ClientState, feedbacks: Sequence[buyer_terms.BuyerFeedback]
) -> Operation[Sent[tuple[buyer_terms.BuyerFeedback, ...]]]:
    """See `Client.record_buyer_feedbacks`."""
    packed = [(feedback.buyer, feedback.score, feedback.seller) for feedback in feedbacks]
    return (yield from send(state, "recordFeedbacks", (packed,), _attested(kinds.FeedbackAttested, feedbacks)))


def record_reviews(
    state: ClientState, reviews: Sequence[buyer_terms.BuyerReviews]
) -> Operation[Sent[tuple[buyer_terms.BuyerReviews, ...]]]:
    """See `Client.record_buyer_reviews`."""
    packed = [(review.buyer, review.reviews, review.review_sum, review.disputes) for review in reviews]
    return (yield from send(state, "recordReviews", (packed,), _attested(kinds.ReviewsAttested, reviews)))


def _attested(
    kind: type[kinds.Event], records: Sequence[T], fields_of: Callable[[T], Mapping[str, Any]] = vars
) -> Callable[[Sequence[kinds.Event]], tuple[T, ...]]:
    """Return a decoder that requires an event for each record. Reject an empty list of records."""
    if not records:
        raise errors.InvalidArgumentError("pass at least one record")

    def decode(events: Sequence[kinds.Event]) -> tuple[T, ...]:
        for record in records:
            transactions.require_event(events, kind, **fields_of(record))
        return tuple(records)

    return decode


VERIFY_GAS: Final = 1_000_000
"""The gas limit for a verification, which uses about 300,000 gas. A gas estimate would be too low, because Semaphore's
verifier returns false instead of failing if it runs out of gas.
"""

ROOTS: Final = 3  # one for each tier that has a group


def post_tier_roots(
    state: ClientState, epoch: int, policy: bytes | str, roots: Sequence[int]
) -> Operation[Sent[kinds.TierRootsPosted]]:
    """See `Client.post_tier_roots`."""
    name = hash_bytes(policy, "a policy")
    if len(roots) != ROOTS:
        raise errors.InvalidArgumentError(f"pass the roots for {ROOTS} tiers, not {len(roots)}")

    def decode(events: Sequence[kinds.Event]) -> kinds.TierRootsPosted:
        return transactions.require_event(events, kinds.TierRootsPosted, epoch=epoch, policy=name)

    arguments = (checked_uint(epoch, 64, "an epoch"), name, list(roots))
    return (yield from transactions.send(state, Registry.TIER_PROOFS, "postTierRoots", arguments, decode))


def tier_roots(state: ClientState, policy: bytes | str, epoch: int) -> Operation[tuple[int, int, int] | None]:
    """See `Client.get_tier_roots`."""
    (roots,) = yield from registries.call(
        state, Registry.TIER_PROOFS, "rootsOf", hash_bytes(policy, "a policy"), checked_uint(epoch, 64, "epoch")
    )
    verified, trusted, premium = roots
    return (verified, trusted, premium) if verified else None


def verify_tier_proof(  # noqa: PLR0913, PLR0917  # the contract's own arguments
    state: ClientState,
    nullifier: int,
    points: Sequence[int],
    policy: bytes | str,
    minimum: buyer_terms.BuyerTier,
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
    call = {"to": deployment.address_of(Registry.TIER_PROOFS), "data": "0x" + data.hex(), "gas": hex(VERIFY_GAS)}
    returned = yield from registries.simulate(call)
    yield from registries.require_registry(state, Registry.TIER_PROOFS)  # calls to an empty address succeed too
    decode_result(Registry.TIER_PROOFS, "verifyTier", returned)
