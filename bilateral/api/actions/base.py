"""The common base of all actions: their shared fields, and the response that describes what the wallet will sign."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from bilateral.client import Client, Handle
from bilateral.client.operations.registries import chain_of
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed


def _address(text: str) -> str:
    try:
        return checksummed(text)
    except MalformedIdentifierError as problem:
        raise ValueError(str(problem)) from None


Address = Annotated[str, Field(max_length=42), AfterValidator(_address), WithJsonSchema({"type": "string"})]
"""An account's address: 0x and 40 hexadecimal digits."""

AgentText = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[str, Field(max_length=200)]
Uri = Annotated[str, Field(max_length=2_000)]
Prose = Annotated[str, Field(max_length=4_000)]
"""A long text. Each byte stored on chain costs the sender about 700 gas, so long texts should be stored off chain."""

Hash = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{64}$")]
Signature = Annotated[str, Field(max_length=4_000, pattern="^0x([0-9a-fA-F]{2})+$")]
Points = Annotated[int, Field(ge=0, le=100)]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a transaction.

    Attributes:
        gas: The node's gas estimate.
        expected: The expected cost in the chain's currency, such as `0.00012 ETH`.
        most: The maximum cost, which is the gas limit times the maximum fee.
        sentence: A sentence that states the cost.
    """

    gas: int
    expected: str
    most: str
    sentence: str


@dataclass(frozen=True, slots=True)
class SignatureRequest:
    """A message that an account has to sign, and what to do with the signature.

    Attributes:
        typed_data: The message for `eth_signTypedData_v4`; None for a byte message.
        message: The bytes for `personal_sign`; None for a typed message.
        path: The service path that receives the signature.
        body: The body to post to that path, after adding the signature to it.
        place: The position of the signature in the body, as field names separated by dots.
    """

    account: str
    typed_data: dict[str, Any] | None
    message: str | None
    path: str
    body: dict[str, Any]
    place: str


@dataclass(frozen=True, slots=True)
class BlockMark:
    """A block that lets a page verify that the wallet is connected to the same chain as the service."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """An action that is ready to sign.

    Attributes:
        account: The acting account; None if only the fields were checked.
        summary: Sentences that describe what the wallet is asked to sign.
        final: A sentence that states which effects of the action cannot be undone.
        document: The complete file that the action refers to; if `account` is None, only the fields from the form.
            None if there is no file.
        transaction: The transaction for `eth_sendTransaction`; None if a signature is required first.
        signature: The first or only signature required; None if none is required.
        result: The result of an action that needs no transaction, for the visitor to pass on.
        block: The chain's last indexed block.
    """

    action: str
    chain_id: int
    account: str | None
    summary: tuple[str, ...]
    final: str
    document: Any = None
    transaction: dict[str, str] | None = None
    cost: Cost | None = None
    signature: SignatureRequest | None = None
    result: str | None = None
    block: BlockMark | None = None


class Action(BaseModel, ABC):
    """An action that a visitor takes. Each subclass defines the action's fields and how the SDK performs the action.

    Attributes:
        final: A sentence that states which effects of the action cannot be undone.
        needs_aggregator: True if this service's aggregator sends the result on the visitor's behalf.
    """

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    final: ClassVar[str]
    needs_aggregator: ClassVar[bool] = False

    account: Annotated[
        Address | None,
        Field(description="The account that performs the action. Without it, the fields are only checked."),
    ] = None

    @property
    def chain_id(self) -> int:
        """The chain on which the action takes place."""
        fields: Any = self  # subclasses define a chain or an agent
        return fields.chain if hasattr(self, "chain") else chain_of(fields.agent)

    words: ClassVar[str]

    @property
    def sentence(self) -> str:
        """A sentence that describes the action: `words` with the fields filled in."""
        return self.words.format(self=self)

    def document(self) -> Any:
        """Check all fields, and return the file that would be stored; None if there is no file."""
        return None

    @abstractmethod
    def perform(self, client: Client) -> Handle[Any] | str:
        """Simulate the action with an SDK client."""

    @property
    def signature_place(self) -> str:
        """The position of the next signature in the body that `request_of` returns."""
        return "signature"

    def request_of(self, typed_data: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        """Return the path and body for submitting a signature. By default, the body is this action."""
        del typed_data
        return PATH, self.model_dump(mode="json", exclude_none=True)


PATH = "/v1/transactions"
"""The path of the route that prepares actions."""
