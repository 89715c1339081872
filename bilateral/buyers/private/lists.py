"""A day's published member list, with proofs of the members' requests to join and of their anchored states.

Members are sorted by address, so that the trees are deterministic. Each tier's group contains the members whose
anchored tier is at least that tier.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bilateral.buyers.anchors import verify_state
from bilateral.buyers.errors import MemberListError
from bilateral.buyers.messages import TierMember, domain_of
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.tiers import IDENTITY_BYTES, MOST_MEMBERS, SCALAR_ORDER, TIERS
from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import recover_signer

VERSION: Final = 2
"""The format version. In version 1, trees had no fixed depth, and members' identities did not sign."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a list in bytes: enough for about 20,000 members with their proofs."""


@dataclass(frozen=True)
class Member:
    """A buyer that joined the groups for private tier proofs.

    Attributes:
        state: The buyer's anchored state.
        proof: The sibling hashes that prove that the anchored tree contains the state.
        commitment: The public commitment of the member's identity.
        from_epoch: The first UTC day on which the commitment is valid.
        signature: The buyer's signature of `TierMember`.
        identity: The public key of the member's identity, and that identity's signature of the same message.
    """

    state: BuyerState
    proof: tuple[bytes, ...]
    commitment: int
    from_epoch: int
    signature: bytes
    identity: bytes

    @property
    def digest(self) -> bytes:
        """The digest signed by the buyer and its identity."""
        buyer: Any = self.state.buyer
        message = TierMember(buyer, self.commitment, self.state.policy, self.from_epoch, self.state.chain_id)
        return message.digest(domain_of(self.state.chain_id))

    @property
    def claim(self) -> tuple[int, bytes, bytes]:
        """The claim that the commitment belongs to a single identity, as checked by `Prover.are_proven`."""
        return self.commitment, self.identity, self.digest

    def is_anchored(self, root: bytes) -> bool:
        """Return whether the state is in the anchored tree."""
        return verify_state(self.state, root, self.proof)


@dataclass(frozen=True)
class MemberList:
    """A day's members under one scoring policy.

    Attributes:
        chain_id: The proof contract's chain.
        tier_proofs: The proof contract.
        policy: The scoring policy's name.
        epoch: The UTC day.
        anchor_epoch: The epoch whose anchored tree contains the members' states.
        members: The members, sorted by address.
    """

    chain_id: int
    tier_proofs: str
    policy: str
    epoch: int
    anchor_epoch: int
    members: tuple[Member, ...]

    def group(self, tier: BuyerTier) -> tuple[Member, ...]:
        """Return the members with at least the given tier, in the order of the tree's leaves."""
        return tuple(member for member in self.members if member.state.tier.level >= tier.level)

    def commitments(self) -> list[list[int]]:
        """Return the leaves of each tier's tree, in the order of `TIERS`."""
        return [[member.commitment for member in self.group(tier)] for tier in TIERS]

    def document(self) -> bytes:
        """Return the document to publish. The posted roots commit to the members and their order."""
        content = {
            "version": VERSION,
            "chainId": self.chain_id,
            "tierProofs": self.tier_proofs,
            "policy": self.policy,
            "epoch": self.epoch,
            "anchorEpoch": self.anchor_epoch,
            "members": [_written(member) for member in self.members],
        }
        return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def read_list(document: bytes) -> MemberList:
    """Read a list, and check everything that does not require the chain: the format, the order and the limits."""
    if len(document) > MOST_BYTES:
        raise MemberListError("document", f"the document has more than {MOST_BYTES} bytes")
    try:
        content = json.loads(document)
        policy = str(content["policy"])
        version, entries = content["version"], content["members"] if content["version"] == VERSION else ()
        members = tuple(_read(fields, policy, place) for place, fields in enumerate(entries))
        chain_id, tier_proofs = int(content["chainId"]), checksummed(content["tierProofs"])
        epochs = int(content["epoch"]), int(content["anchorEpoch"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise MemberListError("document", f"a field is missing or malformed: {problem}") from None
    if version != VERSION:
        reason = "one member could act as several" if version == 1 else f"this package only reads {VERSION}"
        raise MemberListError("version", f"version {version!r} cannot be used: {reason}")
    listed = MemberList(chain_id, tier_proofs, policy, *epochs, members)
    _require_order(listed)
    return listed


def _require_order(listed: MemberList) -> None:
    """Reject members that are out of order, appear twice, or share a commitment."""
    buyers = [member.state.buyer.lower() for member in listed.members]
    if buyers != sorted(set(buyers)):
        raise MemberListError("members", "the members are not sorted by address, or a member appears twice")
    if len({member.commitment for member in listed.members}) != len(buyers):
        raise MemberListError("members", "two members have the same commitment")
    if len(buyers) > MOST_MEMBERS:
        raise MemberListError("members", f"there are {len(buyers)} members, but a tree holds at most {MOST_MEMBERS}")
    for place, member in enumerate(listed.members):
        if member.state.tier.level < TIERS[0].level:
            raise MemberListError(f"members[{place}]", f"the tier {member.state.tier.value} has no group")
        if member.from_epoch > listed.epoch:
            raise MemberListError(f"members[{place}]", f"the commitment is not valid before day {member.from_epoch}")


def _written(member: Member) -> dict[str, Any]:
    """Return a member as JSON. Numbers are strings, because many JSON parsers cannot represent 256-bit numbers."""
    state: Sequence[Any] = member.state.arguments
    return {
        "state": ["0x" + value.hex() if isinstance(value, bytes) else str(value) for value in state],
        "proof": ["0x" + node.hex() for node in member.proof],
        "commitment": str(member.commitment),
        "fromEpoch": member.from_epoch,
        "signature": "0x" + member.signature.hex(),
        "identity": "0x" + member.identity.hex(),
    }


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _read(fields: Mapping[str, Any], policy: str, place: int) -> Member:
    try:
        buyer, chain_id, score, tier, *counts, hashed, block = fields["state"]
        level = BuyerTier.of_level(int(tier))
        values: list[Any] = [buyer, int(chain_id), int(score), level, *map(int, counts), _bytes(hashed), int(block)]
        state = BuyerState(*values)
        proof = tuple(map(_bytes, fields["proof"]))
        signature, identity = _bytes(fields["signature"]), _bytes(fields["identity"])
        member = Member(state, proof, int(fields["commitment"]), int(fields["fromEpoch"]), signature, identity)
    except (KeyError, TypeError, ValueError, AttributeError, BilateralError) as problem:
        raise MemberListError(f"members[{place}]", str(problem)[:200]) from None
    if state.policy != policy_hash(policy):
        raise MemberListError(f"members[{place}]", "the state was computed with a different policy")
    if not 0 < member.commitment < SCALAR_ORDER:
        raise MemberListError(f"members[{place}]", "the commitment is out of range for the scalar field")
    if len(member.identity) != IDENTITY_BYTES:
        raise MemberListError(f"members[{place}]", f"identity must have {IDENTITY_BYTES} bytes")
    return member


SAMPLE: Final = 100
"""How many members' states and signatures a prover checks. The members are chosen at random, unpredictably."""


@dataclass(frozen=True)
class AuditedList:
    """A member list that has been verified against the chain.

    Attributes:
        members: The list.
        roots: The roots of the trees for the tiers `verified`, `trusted` and `premium`.
        checked: How many members' states and signatures were checked.
    """

    members: MemberList
    roots: tuple[int, int, int]
    checked: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of members in each group, keyed by tier."""
        return {tier.value: len(self.members.group(tier)) for tier in TIERS}


def audit_list(document: bytes, client: Client, prover: Prover, *, sample: int | None = None) -> AuditedList:
    """Check a list of members: its trees, its members' states, and their signatures."""
    listed = read_list(document)
    deployment = client.get_deployment()
    expected = deployment.chain_id, deployment.address_of(Registry.TIER_PROOFS)
    if (listed.chain_id, listed.tier_proofs) != expected:
        raise MemberListError(
            "tierProofs", f"the list is for {listed.tier_proofs} on chain {listed.chain_id}, not {expected[1]}"
        )
    posted = client.get_tier_roots(policy_hash(listed.policy), listed.epoch)
    if posted is None:
        raise MemberListError("epoch", f"no roots were posted for day {listed.epoch} under policy {listed.policy}")
    built = tuple(prover.roots(listed.commitments()))
    if built != posted:
        raise MemberListError("members", f"the trees have roots {built}, but the roots on chain are {posted}")
    checked: Sequence[Member] = listed.members
    if sample is not None and sample < len(checked):
        checked = secrets.SystemRandom().sample(checked, sample)
    _check_members(checked, client, listed.anchor_epoch)
    if sample is None:
        _check_identities(checked, prover)
    return AuditedList(listed, posted, len(checked))


def _check_members(members: Sequence[Member], client: Client, anchor_epoch: int) -> None:
    """Check states and signatures. Contracts cannot be members, because checking their signatures requires a node."""
    root = client.get_root(anchor_epoch)
    if root is None:
        raise MemberListError("anchorEpoch", f"the registry has no root for epoch {anchor_epoch}")
    for member in members:
        buyer = member.state.buyer
        if not member.is_anchored(root):
            raise MemberListError(buyer, f"the state is not included in anchor {anchor_epoch}")
        if recover_signer(member.digest, member.signature) != buyer:
            raise MemberListError(buyer, "the buyer did not sign the commitment")


def _check_identities(members: Sequence[Member], prover: Prover) -> None:
    """Check that each commitment belongs to a single identity and is not the root of a member's own identity tree."""
    problem = "the commitment does not belong to an identity that signed: it may be the root of an identity tree"
    for member, is_proven in zip(members, prover.are_proven([member.claim for member in members]), strict=True):
        if not is_proven:
            raise MemberListError(member.state.buyer, problem)
