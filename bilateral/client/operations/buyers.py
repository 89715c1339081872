"""Records of buyers, which payments prove: reads, settlements and anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from bilateral.client.inputs import checked_uint, hash_bytes
from bilateral.client.operations import registries, transactions
from bilateral.client.results import (
    Anchor,
    AttestedRecord,
    BuyerRecords,
    BuyerStanding,
    RoleHolder,
    SettledPayment,
    SettledRecord,
)
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import BuyerRole, BuyerTier, NotCounted
from bilateral.core.errors import InvalidArgumentError, UnexpectedAnswerError
from bilateral.core.events import Anchored, PaymentNotCounted, PaymentSettled, RoleTaken, SuccessorNominated
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.values.times import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.core.contracts.buyer_terms import BuyerState, SignedPayment, TierCredential
    from bilateral.core.events import Event
    from bilateral.node.steps import Operation

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
            return SettledPayment(**fields, seller=seller, refusal=_reason(refused.reason))
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
    return _tier(level)


def settlement_score(state: ClientState, buyer: str) -> Operation[BuyerStanding]:
    """See `Client.get_settlement_score`."""
    points, level = yield from _call(state, "settlementScoreOf", checksummed(buyer))
    return BuyerStanding(points, _tier(level))


def records(state: ClientState, buyer: str) -> Operation[BuyerRecords]:
    """See `Client.get_buyer_records`."""
    account = checksummed(buyer)
    settled, attested = yield from _call(state, "recordsOf", account)
    return BuyerRecords(
        account,
        SettledRecord(
            settled["payments"],
            settled["volume"],
            _time(settled["firstPaymentAt"]),
            _time(settled["lastPaymentAt"]),
            settled["minimumSellers"],
        ),
        AttestedRecord(
            attested["payments"],
            attested["volume"],
            _time(attested["firstPaymentAt"]),
            _time(attested["lastPaymentAt"]),
            attested["reviews"],
            attested["reviewSum"],
            attested["feedbackSellers"],
            attested["feedbackSum"],
            attested["disputes"],
        ),
    )


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
    """Call a view of the registry."""
    return (yield from registries.call(state, Registry.BUYERS, function, *arguments))


def _time(seconds: int) -> datetime | None:
    """Return a time of the chain; None for 0."""
    return moment(seconds) if seconds else None


def _tier(level: int) -> BuyerTier:
    """Return a tier that the registry names by its number."""
    try:
        return BuyerTier.of_level(level)
    except InvalidArgumentError as error:
        raise UnexpectedAnswerError(f"{Registry.BUYERS} answers with an invalid value: {error}") from None


def _reason(number: int) -> NotCounted:
    """Return the reason that the registry names by its number."""
    try:
        return NotCounted(number)
    except ValueError as error:
        raise UnexpectedAnswerError(f"{Registry.BUYERS} logs an invalid value: {error}") from None
