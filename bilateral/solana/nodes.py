"""Requests to a Solana node, with validated responses. Every function is an operation."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from bilateral.core.errors import InvalidArgumentError, NodeError
from bilateral.core.errors.solana import InconsistentNodeError, WrongNodeError
from bilateral.core.identifiers.caip import ChainId
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana.fields import Account

Commitment: TypeAlias = Literal["confirmed", "finalized"]

COMMITMENTS: Final = ("confirmed", "finalized")
"""The supported commitment levels. `processed` is not among them, because blocks at that level may be discarded."""

OLDER_SLOT: Final = -32016
"""The code of the error from a node that has not yet reached the slot of an earlier response."""

MAX_ACCOUNT: Final = 100 * 1024
"""The largest account to read, in bytes: a large mint takes 3 KiB, and a transaction adds at most 10 KiB."""


@dataclass
class SolanaNode:
    """A node's chain, and the commitment level of its responses.

    Attributes:
        chain: The chain that the node must serve.
        commitment: `confirmed` or `finalized`.

    Raises:
        InvalidArgumentError: The chain is not a Solana chain, or the commitment level is invalid.
    """

    chain: ChainId
    commitment: Commitment = "confirmed"
    _is_checked: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Reject chains other than Solana's, and unsupported commitment levels."""
        if self.chain.namespace != "solana":
            raise InvalidArgumentError(f"{self.chain} is not a Solana chain")
        if self.commitment not in COMMITMENTS:
            raise InvalidArgumentError(f"commitment {self.commitment!r} is not one of {', '.join(COMMITMENTS)}")

    def require_chain(self) -> Operation[None]:
        """Check once that the node serves the chain."""
        if self._is_checked:
            return
        genesis = yield Rpc("getGenesisHash")
        if not isinstance(genesis, str) or not genesis.startswith(self.chain.reference):
            raise WrongNodeError(str(self.chain), str(genesis))
        self._is_checked = True

    def accounts(self, addresses: Sequence[str], slot: int = 0) -> Operation[tuple[int, list[Account | None]]]:
        """Read up to 100 accounts in one request."""
        options: dict[str, Any] = {"encoding": "base64", "commitment": self.commitment}
        if slot:
            options["minContextSlot"] = slot
        answer = answers.record((yield from self.ask(Rpc("getMultipleAccounts", (list(addresses), options)))))
        values, answered = answer.get("value"), whole(answers.record(answer.get("context")).get("slot"))
        if not isinstance(values, list) or len(values) != len(addresses):
            answers.malformed("a list of the accounts")
        if answered < slot:
            problem = f"the node returned data from slot {answered} after data from the later slot {slot}"
            raise InconsistentNodeError(problem)
        return answered, [_account(value) for value in values]

    def ask(self, request: Rpc) -> Operation[Any]:
        """Send a request."""
        try:
            return (yield request)
        except NodeError as error:
            if error.code == OLDER_SLOT:
                raise InconsistentNodeError(
                    f"the node has not yet reached the slot that it reported earlier: {error}"
                ) from None
            raise


def whole(value: Any) -> int:
    """Return a non-negative number from JSON."""
    if type(value) is not int or value < 0:
        answers.malformed("a whole number")
    return value


def decoded(value: Any, limit: int) -> bytes:
    """Return bytes that a node encoded in base 64."""
    if not isinstance(value, list) or len(value) != 2 or value[1] != "base64" or not isinstance(value[0], str):  # noqa: PLR2004  # bytes and encoding
        answers.malformed("bytes in base 64")
    if len(value[0]) > limit * 4 // 3 + 4:
        answers.malformed(f"at most {limit} bytes")
    try:
        return base64.b64decode(value[0], validate=True)
    except (binascii.Error, ValueError):
        answers.malformed("bytes in base 64")


def _account(value: Any) -> Account | None:
    if value is None:
        return None
    fields = answers.record(value)
    owner = fields.get("owner")
    if not isinstance(owner, str):
        answers.malformed("an account")
    return Account(owner, decoded(fields.get("data"), MAX_ACCOUNT))
