"""Settings of the service for buyers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bilateral.buyers.policies import BRP, policy_of
from bilateral.core.errors import InvalidArgumentError


@dataclass(frozen=True)
class BuyerSettings:
    """The settings of the service for buyers.

    Attributes:
        policy: The scoring policy of answers that name none.
        credential_policies: The scoring policies by which it issues credentials of tiers; `policy` alone if empty.
        nodes: The URL of a node of each chain, by the chain's id in digits. A node checks signatures of contracts
            (ERC-1271), and payments that the index does not have yet.
        disputes: True if sellers may file disputes.
        requires_signature: True to refuse unsigned feedback and reviews; else they are answered and do not count.
        shows_transactions: True to show a buyer's last payments to everybody who asks for them.
        provider: The public URL of this service, for `reputationProvider`; the URL of the request if empty.
        seller: The agent that the well-known document is of, as its global id; none if empty.
        incentives: The policy of the well-known document.
        key_variable: The environment variable with the key that signs portable results; none if empty.
    """

    policy: str = BRP.name
    credential_policies: tuple[str, ...] = ()
    nodes: dict[str, str] = field(default_factory=dict)
    disputes: bool = False
    requires_signature: bool = False
    shows_transactions: bool = False
    provider: str = ""
    seller: str = ""
    incentives: dict[str, Any] = field(default_factory=dict)
    key_variable: str = ""

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        for name in (self.policy, *self.credential_policies):
            policy_of(name)
        if unknown := [node for node in self.nodes if not node.isdecimal()]:
            raise InvalidArgumentError(f"buyers.nodes: {unknown[0]!r} is not the id of a chain")
