"""Private proofs of buyers' tiers: the roots of the groups, and proofs by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bilateral.client.inputs import checked_uint, hash_bytes
from bilateral.client.operations import registries, transactions
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.contracts.codec import decode_result
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import TierRootsPosted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.core.events import Event
    from bilateral.node.steps import Operation

VERIFY_GAS: Final = 1_000_000
"""The gas of a check. It takes 300,000. With too little gas Semaphore's verifier answers false, and estimates of its
gas are too low for that reason."""

ROOTS: Final = 3  # one for each tier that has a group


def post_roots(
    state: ClientState, epoch: int, policy: bytes | str, roots: Sequence[int]
) -> Operation[Sent[TierRootsPosted]]:
    """See `Client.post_tier_roots`."""
    name = hash_bytes(policy, "a policy")
    if len(roots) != ROOTS:
        raise InvalidArgumentError(f"give the roots of {ROOTS} tiers, not {len(roots)}")

    def decode(events: Sequence[Event]) -> TierRootsPosted:
        return transactions.require_event(events, TierRootsPosted, epoch=epoch, policy=name)

    arguments = (checked_uint(epoch, 64, "an epoch"), name, list(roots))
    return (yield from transactions.send(state, Registry.TIER_PROOFS, "postTierRoots", arguments, decode))


def roots_of(state: ClientState, policy: bytes | str, epoch: int) -> Operation[tuple[int, int, int] | None]:
    """See `Client.get_tier_roots`."""
    name = hash_bytes(policy, "a policy")
    (roots,) = yield from registries.call(
        state, Registry.TIER_PROOFS, "rootsOf", name, checked_uint(epoch, 64, "epoch")
    )
    verified, trusted, premium = roots
    return (verified, trusted, premium) if verified else None


def verify(  # noqa: PLR0913, PLR0917  # the contract's own arguments
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
