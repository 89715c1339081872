"""Errors for checks that cannot be answered. After such an error, a program should neither pay nor serve."""

from dataclasses import InitVar

from bilateral.core.errors import BilateralError, FormattedError


class CheckError(BilateralError):
    """The check cannot be answered."""


class UnknownChainError(CheckError):
    """The index does not follow the chain, or it follows no identity registry on that chain.

    Attributes:
        chain_id: The chain; None if the caller specified no chain and the index follows several.
    """

    reason = "chain_not_indexed"

    def __init__(self, chain_id: int | None, indexed: list[int]) -> None:
        listed = ", ".join(map(str, indexed)) or "none"
        which = "the chain is missing" if chain_id is None else f"chain {chain_id} is not indexed"
        super().__init__(f"{which}: choose one of the indexed chains ({listed}), as in 8453:247")
        self.chain_id = chain_id


class UnknownRegistryError(FormattedError, CheckError):
    """The index does not follow the identity registry in an agent's id.

    Attributes:
        registry: The address of the registry.
    """

    reason = "registry_not_indexed"
    template = "the identity registry {registry} is not indexed: choose one on chain {chain_id} ({indexed})"
    chain_id: InitVar[int]
    registry: str
    indexed: InitVar[str]


class UnknownAgentError(FormattedError, CheckError):
    """The agent does not exist at the check's block.

    Attributes:
        agent: The agent, as specified by the caller.
    """

    reason = "unknown_agent"
    template = "agent {agent} does not exist at block {block}: check its id and its chain"
    agent: str
    block: int


class BlockNotHeldError(FormattedError, CheckError):
    """The index does not contain the block.

    Attributes:
        first: The first block in the index.
        last: The last block in the index.
    """

    reason = "block_not_held"
    template = "block {block} is not indexed: at_block must be between {first} and {last}"
    block: int
    first: int
    last: int


class OtherHistoryError(FormattedError, CheckError):
    """A reorganisation replaced the history on which an earlier answer is based.

    Attributes:
        block: The block of the earlier answer.
    """

    reason = "other_history"
    template = (
        "the history up to block {block} no longer matches the earlier answer, because the chain was reorganised: "
        "check again without at_block"
    )
    block: int


class FileNotHeldError(FormattedError, CheckError):
    """The index no longer stores the version of a file that was current at the check's block.

    Attributes:
        uri: The file's URI.
    """

    reason = "file_not_held"
    template = "the agent's file as of block {block} has since been replaced, and its content was not retained"
    uri: str
    block: int


class FindingsNotHeldError(FormattedError, CheckError):
    """The trust analysis as of the check's block has been replaced by a newer one.

    Attributes:
        block: The block of the check.
        analysed: The last block that the newer analysis covers.
    """

    reason = "findings_not_held"
    template = (
        "the findings as of block {block} were replaced by an analysis of block {analysed}: check without findings"
    )
    block: int
    analysed: int


class PaymentsNotHeldError(FormattedError, CheckError):
    """All payments were read again after the check's block, so the payments as of that block are no longer known.

    Attributes:
        block: The block of the check.
    """

    reason = "payments_not_held"
    template = (
        "the payments indexed at block {block} are no longer available, because all payments were read again: "
        "check at a later block"
    )
    block: int


class HistoryTooLongError(FormattedError, CheckError):
    """The check would have to read more individual events than the limit allows.

    Attributes:
        limit: The maximum number of events that a check may read.
    """

    reason = "history_too_long"
    template = (
        "there are more than {limit} {subject}: check at the latest block, without an age limit or proofs of payment"
    )
    subject: InitVar[str]
    limit: int


class RequestsSpentError(FormattedError, CheckError):
    """The check needs more requests to the node than the limit allows."""

    reason = "requests_spent"
    template = "the node returns too little data per request: {limit} requests were not enough; use an index instead"
    limit: InitVar[int]
