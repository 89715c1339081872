"""The settings of an aggregator: the chains that it serves, and the terms on which it pays."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self

from eth_account import Account
from eth_account.signers.local import LocalAccount
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bilateral.client import TransactionSigner
from bilateral.core.contracts import Deployment, Registry, has_private_mempool
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import ChainId, checksummed
from bilateral.x402.proof.errors import InvalidKeyError
from bilateral.x402.proof.keys import key_from_environment, key_from_keystore


@dataclass(frozen=True)
class SponsoredChain:
    """One chain that an aggregator serves.

    Attributes:
        rpc_url: A node's JSON-RPC URL. The node must provide historical state: that of the blocks that contain
            payments.
        deployment: The registries. Feedback for agents in other registries is rejected.
        signer: The account that sends feedback and pays for the gas. No other program may use it.
        tokens: The minimum payment in each accepted token, in the token's smallest unit, keyed by the token's address.
        budget: The maximum total cost of feedback per UTC day, in wei.
        confirmations: The number of confirmations, including the transaction's own block, after which a payment is
            accepted and feedback is final.
        requires_bound_proof: True to reject feedback without `bodies`. Only the bodies prove that the agent's signature
            belongs to this payment.
        requires_checked_file: True to reject feedback whose file cannot be loaded and compared with the feedback.
        max_cost: The maximum cost per feedback entry, in wei; None for no limit.
        poll_seconds: How many seconds to wait between reads of the chain while feedback is unconfirmed.
        replace_seconds: How many seconds to wait before a transaction that is not in a block is resent with higher
            fees.
        private_mempool: True to submit both sides' seals and openings in one transaction, because nobody can see it
            before it is in a block. False to submit the seals first, and the openings once the seals are confirmed.
            None to use the address book's setting.
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
        """Reject settings that would let strangers spend the budget."""
        self.deployment.require_function(Registry.REPUTATION, "giveFeedbackBySig")
        if not self.tokens:
            raise InvalidArgumentError("tokens is empty: list the accepted tokens, because anyone can create a token")
        try:
            tokens = {checksummed(address): minimum for address, minimum in self.tokens.items()}
        except MalformedIdentifierError as error:
            raise InvalidArgumentError(f"a token's address is invalid: {error}") from None
        if any(minimum <= 0 for minimum in tokens.values()):
            raise InvalidArgumentError("tokens: each token's minimum amount must be at least 1")
        object.__setattr__(self, "tokens", tokens)
        if self.budget < 0 or self.confirmations < 1:
            raise InvalidArgumentError("budget must be at least 0 wei, and confirmations must be at least 1")

    @property
    def exchanges(self) -> bool:
        """True if the seals and openings of a pair are put on chain in one transaction."""
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
        chains: The chains that the aggregator serves.
        answer_seconds: How many seconds a request waits for its transaction. The feedback remains queued after that.
        lease_seconds: How many seconds an unresponsive process keeps its queue before another process may take over.
        resend_seconds: How many seconds to wait before first resending, unchanged, a transaction that is not in a
            block.
        allow_private: True to allow registration and feedback files from private network addresses. Set it only in
            tests.
    """

    chains: tuple[SponsoredChain, ...] = field(default_factory=tuple)
    answer_seconds: float = 10.0
    lease_seconds: float = 15.0
    resend_seconds: float = 15.0
    allow_private: bool = False

    def __post_init__(self) -> None:
        """Reject settings that list no chain, or the same chain twice."""
        if not self.chains:
            raise InvalidArgumentError("an aggregator needs at least one chain")
        if len({chain.chain_id for chain in self.chains}) < len(self.chains):
            raise InvalidArgumentError("each chain may only be listed once")


_Wei = Annotated[int | str, Field(description="An amount in wei: a number, or a string of digits")]


class _ChainTable(BaseModel):
    """A `[[chain]]` table in the settings file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rpc_url: str
    deployment: str
    key_variable: str | None = None
    keystore: str | None = None
    passphrase_variable: str | None = None
    tokens: dict[str, int]
    budget: _Wei
    max_cost: _Wei | None = None
    confirmations: Annotated[int, Field(ge=1, le=10_000)] = SponsoredChain.confirmations
    requires_bound_proof: bool = SponsoredChain.requires_bound_proof
    requires_checked_file: bool = SponsoredChain.requires_checked_file
    poll_seconds: Annotated[float, Field(gt=0, le=60)] = SponsoredChain.poll_seconds
    replace_seconds: Annotated[float, Field(ge=1, le=86_400)] = SponsoredChain.replace_seconds
    private_mempool: bool | None = SponsoredChain.private_mempool

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.key_variable is None) == (self.keystore is None):
            raise ValueError("set exactly one of key_variable and keystore (with passphrase_variable)")
        if (self.keystore is None) != (self.passphrase_variable is None):
            raise ValueError("keystore and passphrase_variable (the variable with its passphrase) must be set together")
        return self


class _File(BaseModel):
    """The whole settings file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    chain: Annotated[list[_ChainTable], Field(min_length=1)]
    answer_seconds: Annotated[float, Field(gt=0, le=60)] = AggregatorSettings.answer_seconds
    lease_seconds: Annotated[float, Field(ge=1, le=600)] = AggregatorSettings.lease_seconds
    resend_seconds: Annotated[float, Field(ge=1, le=600)] = AggregatorSettings.resend_seconds
    allow_private: bool = AggregatorSettings.allow_private


def read_aggregator_settings(path: Path) -> AggregatorSettings:
    """Read settings from a TOML file."""
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidArgumentError(f"{path} cannot be read: {problem}") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        raise InvalidArgumentError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    chains = tuple(_chain(table, path.parent) for table in file.chain)
    rest = {name: value for name, value in dict(file).items() if name != "chain"}
    return AggregatorSettings(chains, **rest)


def _chain(table: _ChainTable, folder: Path) -> SponsoredChain:
    same = table.model_dump(exclude={"deployment", "key_variable", "keystore", "passphrase_variable"})
    for name in ("budget", "max_cost"):
        amount = same[name]
        if isinstance(amount, str):  # TOML integers are below 2^63
            if not (amount.isascii() and amount.isdecimal()):
                raise InvalidArgumentError(f"{name} {amount!r} is not an amount in wei")
            same[name] = int(amount)
    path = folder / table.deployment
    try:
        deployment = Deployment.from_record(path.read_bytes())
    except OSError as problem:
        raise InvalidArgumentError(f"the deployment record {path} cannot be read: {problem.strerror}") from None
    return SponsoredChain(**same, deployment=deployment, signer=_signer(table, folder))


def _signer(table: _ChainTable, folder: Path) -> LocalAccount:
    try:
        if table.key_variable is not None:
            secret = key_from_environment(table.key_variable).secret
        else:
            passphrase = os.environ.get(str(table.passphrase_variable))
            if passphrase is None:
                raise InvalidArgumentError(f"the environment variable {table.passphrase_variable} is not set")
            secret = key_from_keystore(folder / str(table.keystore), passphrase).secret
    except InvalidKeyError as problem:
        raise InvalidArgumentError(str(problem)) from None
    account: LocalAccount = Account.from_key(secret)
    return account
