"""The service side of private tiers: accepts members, and builds and posts each day's list. It is safe to rerun.

A day's list is stored before its roots are sent. A later run finds the stored list and sends the same roots. The
contract accepts roots only once per day.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from bilateral.buyers.anchoring import read_proof
from bilateral.buyers.errors import BuyerRefusalError, MemberListError
from bilateral.buyers.messages import TierMember
from bilateral.buyers.private.lists import Member, MemberList, read_list
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.tiers import MOST_MEMBERS, TIERS, epoch_of
from bilateral.buyers.tables import tier_list, tier_member
from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import policy_hash
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError

_LOG: Final = logging.getLogger(__name__)

_RETAINED_DAYS: Final = 30
"""The number of days for which lists are retained. Roots are valid for two days, but audits may come later."""

_WORD: Final = 32  # bytes of a word of the contract ABI
_SIGNATURE_BYTES: Final = 65  # of a buyer's key: the identity's public key and signature follow


def take_member(engine: sa.Engine, message: TierMember, policy: str, signatures: bytes, now: int) -> None:
    """Store a buyer's commitment. The caller must check the signature and tier first. Repeated messages change nothing.

    `post_tiers` checks the identity later, because Semaphore's keys and hashes require the prover's packages.
    """
    today = epoch_of(now)
    if message.from_epoch not in (today, today + 1):
        detail = f"fromEpoch must be {today} or {today + 1}: today or tomorrow (UTC), in days"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "epoch_over", detail)
    values = {
        "policy": policy,
        "buyer": message.buyer,
        "from_epoch": message.from_epoch,
        "commitment": message.commitment.to_bytes(_WORD),
        "payments_chain_id": message.chain_id,
        "signature": signatures,
    }
    table = tier_member.c
    of_buyer = table.policy == policy, table.buyer == message.buyer
    # Members of an earlier version join again with the same commitment, this time signed by the identity.
    is_unsigned = table.commitment == values["commitment"], sa.func.length(table.signature) == _SIGNATURE_BYTES
    try:
        with engine.begin() as connection:
            connection.execute(sa.delete(tier_member).where(*of_buyer, *is_unsigned))
            connection.execute(sa.insert(tier_member).values(values))
    except IntegrityError:
        query = sa.select(table.commitment, table.payments_chain_id)
        stored = _read(engine, query.where(*of_buyer, table.from_epoch == message.from_epoch))
        if stored is None:
            detail = "this commitment was used before: create a new identity"
            raise BuyerRefusalError(HTTPStatus.CONFLICT, "commitment_taken", detail) from None
        if (bytes(stored.commitment), stored.payments_chain_id) != (values["commitment"], message.chain_id):
            detail = "the buyer already has a different commitment or chain from this day on: pass a later day"
            raise BuyerRefusalError(HTTPStatus.CONFLICT, "member_exists", detail) from None


@dataclass(frozen=True)
class PostedTiers:
    """A day's groups, whose roots are on chain.

    Attributes:
        epoch: The UTC day.
        policy: The scoring policy's name.
        sizes: The number of members in each group, keyed by tier.
        roots: The roots for the tiers `verified`, `trusted` and `premium`.
    """

    epoch: int
    policy: str
    sizes: Mapping[str, int]
    roots: tuple[int, ...]


def post_tiers(
    engine: sa.Engine, client: Client, policy: str, prover: Prover, *, now: int | None = None
) -> PostedTiers:
    """Build today's list of members, store it, and post its roots. Members without a proven identity are omitted.

    Anchor the buyers' states first, on the same day, because members get their tiers from the latest anchor.
    """
    deployment = client.get_deployment()
    created_at = int(time.time()) if now is None else now
    place = deployment.chain_id, deployment.address_of(Registry.TIER_PROOFS), policy, epoch_of(created_at)
    stored = read_list_row(engine, *place) or _prepare(engine, client, place, prover, created_at)
    roots = tuple(int.from_bytes(stored.roots[at : at + _WORD]) for at in range(0, len(TIERS) * _WORD, _WORD))
    name = policy_hash(policy)
    if client.get_tier_roots(name, place[3]) != roots:
        try:
            client.post_tier_roots(place[3], name, roots).wait()
        except ContractRevertError:
            # The transaction of an interrupted run may have been mined meanwhile.
            if client.get_tier_roots(name, place[3]) != roots:
                raise
    return PostedTiers(place[3], policy, stored.sizes, roots)


@dataclass(frozen=True)
class StoredList:
    """A day's list in the database.

    Attributes:
        document: The published document.
        roots: The three roots, concatenated.
        sizes: The number of members in each group, keyed by tier.
    """

    document: bytes
    roots: bytes
    sizes: Mapping[str, int]


def read_list_row(engine: sa.Engine, chain_id: int, registry: str, policy: str, epoch: int) -> StoredList | None:
    """Return a day's list, or None if there is none."""
    table = tier_list.c
    key = table.chain_id == chain_id, table.registry == registry, table.policy == policy, table.epoch == epoch
    row = _read(engine, sa.select(table.document, table.roots, table.sizes).where(*key))
    return None if row is None else StoredList(bytes(row.document), bytes(row.roots), json.loads(row.sizes))


def read_published(engine: sa.Engine, policy: str, epoch: int) -> bytes | None:
    """Return a day's published list, or None. The proof contract is omitted, because a service has only one."""
    table = tier_list.c
    row = _read(engine, sa.select(table.document).where(table.policy == policy, table.epoch == epoch))
    return None if row is None else bytes(row.document)


def read_last_sizes(engine: sa.Engine, policy: str) -> tuple[int, dict[str, int]] | None:
    """Return the last day with a list, and the number of members in each group that day; None if there is no list."""
    table = tier_list.c
    row = _read(engine, sa.select(table.epoch, table.sizes).where(table.policy == policy).order_by(table.epoch.desc()))
    return None if row is None else (row.epoch, json.loads(row.sizes))


def _read(engine: sa.Engine, query: sa.Select[Any]) -> sa.Row[Any] | None:
    with engine.connect() as connection:
        return connection.execute(query.limit(1)).one_or_none()


def read_last_groups(connection: sa.Connection) -> list[tuple[str, int, dict[str, int]]]:
    """Return each policy that has lists, with the day of its latest list and the number of members in each group."""
    table = tier_list.c
    last = sa.select(table.policy, sa.func.max(table.epoch).label("epoch")).group_by(table.policy).subquery()
    query = sa.select(table.policy, table.epoch, table.sizes).join(
        last, (table.policy == last.c.policy) & (table.epoch == last.c.epoch)
    )
    rows = connection.execute(query.order_by(table.policy)).all()
    return [(row.policy, row.epoch, json.loads(row.sizes)) for row in rows]


def _prepare(
    engine: sa.Engine, client: Client, place: tuple[int, str, str, int], prover: Prover, now: int
) -> StoredList:
    chain_id, registry, policy, epoch = place
    anchor_epoch = client.get_next_epoch() - 1
    if anchor_epoch < 1:
        raise InvalidArgumentError("no states have been anchored: run `bilateral buyer anchor` first")
    anchored = chain_id, client.get_deployment().address_of(Registry.BUYERS), anchor_epoch
    with engine.connect() as connection:
        members = _members(connection, anchored, policy, epoch)
    members = _identities(members, _last_list(engine, place), prover)
    if len(members) > MOST_MEMBERS:
        raise InvalidArgumentError(f"there are {len(members)} members, but a tree holds at most {MOST_MEMBERS}")
    built = MemberList(chain_id, registry, policy, epoch, anchor_epoch, tuple(members))
    roots = b"".join(root.to_bytes(_WORD) for root in prover.roots(built.commitments()))
    sizes = {tier.value: len(built.group(tier)) for tier in TIERS}
    document = built.document()
    key = dict(zip(("chain_id", "registry", "policy", "epoch"), place, strict=True))
    content = {"made_at": now, "roots": roots, "sizes": json.dumps(sizes), "document": document}
    try:
        with engine.begin() as connection:
            connection.execute(sa.delete(tier_list).where(tier_list.c.epoch < epoch - _RETAINED_DAYS))
            connection.execute(sa.insert(tier_list).values(**key, **content))
    except IntegrityError:
        stored = read_list_row(engine, *place)  # another process was faster: its list counts
        if stored is None:
            raise
        return stored
    return StoredList(document, roots, sizes)


def _members(connection: sa.Connection, anchored: tuple[int, str, int], policy: str, epoch: int) -> list[Member]:
    """Return a day's members: the buyers whose anchored tier has a group, each with the latest commitment."""
    table = tier_member.c
    last = (
        sa.select(table.buyer, sa.func.max(table.from_epoch).label("from_epoch"))
        .where(table.policy == policy, table.from_epoch <= epoch)
        .group_by(table.buyer)
        .subquery()
    )
    query = sa.select(tier_member).join(
        last, (table.buyer == last.c.buyer) & (table.from_epoch == last.c.from_epoch) & (table.policy == policy)
    )
    rows = sorted(connection.execute(query).all(), key=lambda row: row.buyer.lower())
    members = []
    for row in rows:
        proven = read_proof(connection, anchored, row.buyer, row.payments_chain_id, policy)
        if proven is not None and proven.state.tier.level >= TIERS[0].level:
            commitment, signed = int.from_bytes(bytes(row.commitment)), bytes(row.signature)
            signature, identity = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
            members.append(Member(proven.state, proven.proof, commitment, row.from_epoch, signature, identity))
    return members


def _identities(members: Sequence[Member], checked: set[bytes], prover: Prover) -> list[Member]:
    """Return the members whose identities have signed. Those in `checked` were verified for the previous list."""
    new = [member for member in members if member.identity and member.digest + member.identity not in checked]
    proven = dict(zip((id(member) for member in new), prover.are_proven([member.claim for member in new]), strict=True))
    listed = [member for member in members if member.identity and proven.get(id(member), True)]
    if len(listed) < len(members):
        unproven = ", ".join(member.state.buyer for member in members if member not in listed)
        _LOG.warning("members whose identities did not sign are omitted and must join again: %s", unproven)
    return listed


def _last_list(engine: sa.Engine, place: tuple[int, str, str, int]) -> set[bytes]:
    """Return the digests and identities in the last list before today's."""
    chain_id, registry, policy, epoch = place
    table = tier_list.c
    key = table.chain_id == chain_id, table.registry == registry, table.policy == policy, table.epoch < epoch
    row = _read(engine, sa.select(table.document).where(*key).order_by(table.epoch.desc()))
    try:
        members = () if row is None else read_list(bytes(row.document)).members
    except MemberListError:  # the list is from an earlier version
        return set()
    return {member.digest + member.identity for member in members}
