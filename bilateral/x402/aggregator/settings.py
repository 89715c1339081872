"""Settings of an aggregator: the chains that it serves, and the terms on which it pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bilateral.client import TransactionSigner
from bilateral.core.contracts import Deployment, Registry, has_private_mempool
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import ChainId, checksummed


@dataclass(frozen=True)
class SponsoredChain:
    """One chain that an aggregator serves.

    Attributes:
        rpc_url: The URL of a node's JSON-RPC. It must know the states of the blocks of payments.
        deployment: The registries. Feedback for agents of other registries is refused.
        signer: The account that sends feedback and pays the gas. No other program may use it.
        tokens: The tokens whose payments count, by address, each with the smallest amount in its smallest unit.
        budget: The largest cost of all feedback of one day (UTC), in wei.
        confirmations: The blocks that must hold or follow a payment, and a feedback before it is left alone.
        requires_bound_proof: True to refuse feedback without `bodies`: without them, nothing proves that the agent's
            signature is of this payment.
        requires_checked_file: True to refuse feedback whose file cannot be loaded and compared.
        max_cost: The largest cost of one feedback, in wei; None for no limit.
        poll_seconds: The seconds between two looks at the chain while a feedback is not confirmed.
        replace_seconds: The seconds after which a transaction that no block takes is sent again with higher fees.
        private_mempool: True to exchange sealed ratings in one transaction: nobody sees it before it is included. False
            to seal them first, and open them after the confirmations. None: as the address book says of the chain.
    """

    rpc_url: str
    deployment: Deployment
    signer: TransactionSigner
    tokens: Mapping[str, int]
    budget: int
    confirmations: int = 3
    requires_bound_proof: bool = False
    requires_checked_file: bool = False
    max_cost: int | None = None
    poll_seconds: float = 1.0
    replace_seconds: float = 60.0
    private_mempool: bool | None = None

    def __post_init__(self) -> None:
        """Refuse settings under which anybody could spend the budget."""
        self.deployment.require_function(Registry.REPUTATION, "giveFeedbackBySig")
        if not self.tokens:
            raise InvalidArgumentError("name the tokens whose payments count: anybody can make a token")
        try:
            tokens = {checksummed(address): minimum for address, minimum in self.tokens.items()}
        except MalformedIdentifierError as error:
            raise InvalidArgumentError(f"a token is not an address: {error}") from None
        if any(minimum <= 0 for minimum in tokens.values()):
            raise InvalidArgumentError("the smallest amount of a token is at least 1")
        object.__setattr__(self, "tokens", tokens)
        if self.budget < 0 or self.confirmations < 1:
            raise InvalidArgumentError("the budget is at least 0 wei, and the confirmations at least 1")

    @property
    def exchanges(self) -> bool:
        """True if sealed ratings go on chain in one transaction."""
        return has_private_mempool(self.chain_id) if self.private_mempool is None else self.private_mempool

    @property
    def network(self) -> ChainId:
        """The chain (CAIP-2)."""
        return self.deployment.agent_registry.chain

    @property
    def chain_id(self) -> int:
        """The chain's EIP-155 id."""
        return self.deployment.chain_id

    @property
    def account(self) -> str:
        """The address of the account that pays."""
        return checksummed(self.signer.address)


@dataclass(frozen=True)
class AggregatorSettings:
    """The settings of an aggregator.

    Attributes:
        chains: The chains that it serves.
        answer_seconds: The longest wait of a request for its transaction. The feedback stays queued after that.
        lease_seconds: The seconds after which another process may send the queue of one that stopped answering.
        resend_seconds: The seconds after which a transaction that the node does not show is sent to it again.
        allow_private: True if registration and feedback files may come from private addresses. Set it in tests only.
    """

    chains: tuple[SponsoredChain, ...] = field(default_factory=tuple)
    answer_seconds: float = 10.0
    lease_seconds: float = 15.0
    resend_seconds: float = 15.0
    allow_private: bool = False

    def __post_init__(self) -> None:
        """Refuse settings without a chain, or with one twice."""
        if not self.chains:
            raise InvalidArgumentError("an aggregator needs at least one chain")
        if len({chain.chain_id for chain in self.chains}) < len(self.chains):
            raise InvalidArgumentError("an aggregator serves each chain once")
