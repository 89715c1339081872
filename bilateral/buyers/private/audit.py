"""Check a published list of members against the chain, without trust in the service that published it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bilateral.buyers.private.errors import MemberListError
from bilateral.buyers.private.lists import Member, MemberList, read_list
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.terms import TIERS
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import policy_hash
from bilateral.core.signatures import recover_signer

if TYPE_CHECKING:
    from bilateral.client import Client

SAMPLE: Final = 100
"""The members whose states and signatures a prover checks. It draws them itself, so nobody can prepare them."""


@dataclass(frozen=True)
class AuditedList:
    """A list that agrees with the chain.

    Attributes:
        members: The list.
        roots: The roots of the trees for `verified`, `trusted` and `premium`.
        checked: The number of members whose states and signatures were checked.
    """

    members: MemberList
    roots: tuple[int, int, int]
    checked: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of members of each group, by tier."""
        return {tier.value: len(self.members.group(tier)) for tier in TIERS}


def audit_list(document: bytes, client: Client, prover: Prover, *, sample: int | None = None) -> AuditedList:
    """Check a list of members: its trees, its members' states, and their signatures.

    Args:
        document: The list, byte for byte as it was published.
        client: A client whose deployment has the registry of buyers and the contract of proofs.
        prover: Builds the trees.
        sample: The number of members whose states and signatures are checked, drawn at random. If it is left out, all
            are, and the signatures of their identities, too.

    Raises:
        MemberListError: The list is not valid, is of another contract, or does not agree with the chain: its roots are
            not those that were posted, a member's state is not anchored, a member did not sign, or a commitment is not
            that of an identity which signed.
    """
    listed = read_list(document)
    deployment = client.get_deployment()
    expected = deployment.chain_id, deployment.address_of(Registry.TIER_PROOFS)
    if (listed.chain_id, listed.tier_proofs) != expected:
        raise MemberListError("tierProofs", f"it is {listed.tier_proofs} on chain {listed.chain_id}, not {expected[1]}")
    posted = client.get_tier_roots(policy_hash(listed.policy), listed.epoch)
    if posted is None:
        raise MemberListError("epoch", f"no roots were posted for day {listed.epoch} by {listed.policy}")
    built = tuple(prover.roots(listed.commitments()))
    if built != posted:
        raise MemberListError("members", f"their trees have the roots {built}, and the chain has {posted}")
    checked = _drawn(listed.members, sample)
    _check_members(checked, client, listed.anchor_epoch)
    if sample is None:
        _check_identities(checked, prover)
    return AuditedList(listed, posted, len(checked))


def _drawn(members: Sequence[Member], sample: int | None) -> list[Member]:
    if sample is None or sample >= len(members):
        return list(members)
    return secrets.SystemRandom().sample(list(members), sample)


def _check_members(members: Sequence[Member], client: Client, anchor_epoch: int) -> None:
    """Check states and signatures. Contracts cannot be members: their signatures need a node of their chain."""
    root = client.get_root(anchor_epoch)
    if root is None:
        raise MemberListError("anchorEpoch", f"the registry has no root of epoch {anchor_epoch}")
    for member in members:
        buyer = member.state.buyer
        if not member.is_anchored(root):
            raise MemberListError(buyer, f"its state is not in the anchor {anchor_epoch}")
        if recover_signer(member.digest, member.signature) != buyer:
            raise MemberListError(buyer, "it did not sign its commitment")


def _check_identities(members: Sequence[Member], prover: Prover) -> None:
    """Check that each commitment is of one identity: a leaf of any other kind hides nobody."""
    for member, is_proven in zip(members, prover.are_proven([member.claim for member in members]), strict=True):
        if not is_proven:
            problem = "its commitment is not of an identity that signed: it may be the root of a tree of identities"
            raise MemberListError(member.state.buyer, problem)
