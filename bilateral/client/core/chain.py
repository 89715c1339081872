"""Questions to the chain: where the registries are, what they answer, what they logged."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import MAXYEAR
from typing import TYPE_CHECKING, Any, Final

from eth_abi.exceptions import EncodingError

from bilateral.client.core import answers
from bilateral.client.steps import Rpc
from bilateral.codec import decode_log, decode_result, encode_call
from bilateral.contracts import Registry, packaged_deployment, selectors
from bilateral.errors import (
    InvalidArgumentError,
    MalformedIdentifierError,
    MalformedNodeAnswerError,
    MissingRegistryError,
    MissingSignerError,
    NodeError,
    NodeTimeoutError,
    UnexpectedAnswerError,
    UnknownDeploymentError,
    UnrepresentableValueError,
    WrongChainError,
)
from bilateral.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.reverts import ContractRevertError
from bilateral.text import printable
from bilateral.times import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from bilateral.client.inputs import AgentLike, TransactionSigner
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.contracts import Deployment

_PLACES: Final[Mapping[Registry, str]] = {
    Registry.IDENTITY: "identity",
    Registry.REPUTATION: "reputation",
    Registry.BIDIRECTIONAL: "reputation",
    Registry.AUTHORIZED: "authorized",
    Registry.VALIDATION: "validation",
}
_LOG_RANGE: Final = 10_000
"""Blocks to ask for at once, where a node refuses all of them: what most of those that limit it allow."""

TOO_MUCH: Final = (NodeError, NodeTimeoutError, MalformedNodeAnswerError, ContractRevertError)
"""How nodes fail at a call that takes more gas or gives more bytes than they allow."""


@dataclass(frozen=True)
class Log:
    """An event that a registry logged.

    Attributes:
        name: The event's name.
        fields: Its fields by name.
        block: The number of its block.
        transaction: The hash of its transaction.
    """

    name: str
    fields: Mapping[str, Any]
    block: int
    transaction: str


def address_of(session: Session) -> str | None:
    """The signer's address, if there is a signer."""
    return None if session.signer is None else require_address(session)


def require_signer(session: Session) -> TransactionSigner:
    """The signer.

    Raises:
        MissingSignerError: There is none.
    """
    if session.signer is None:
        raise MissingSignerError("this needs a signer: give the client signer=…, such as an eth-account LocalAccount")
    return session.signer


def require_address(session: Session) -> str:
    """The signer's address.

    Raises:
        MissingSignerError: There is no signer.
    """
    return checksummed(require_signer(session).address)


def connect(session: Session) -> Operation[Deployment]:
    """Where the registries are. The node is asked for its chain once, whatever the client was given.

    Raises:
        UnknownDeploymentError: None was given, and there is no packaged record for the node's chain.
        WrongChainError: The node is of another chain than the deployment.
    """
    if session.deployment is None:
        chain_id = answers.quantity((yield Rpc("eth_chainId")))
        deployment = session.given or packaged_deployment(chain_id)
        if deployment is None:
            raise UnknownDeploymentError(chain_id)
        if deployment.chain_id != chain_id:
            raise WrongChainError(deployment.chain_id, chain_id)
        session.deployment = deployment
    return session.deployment


def agent_of(deployment: Deployment, agent: AgentLike) -> AgentId:
    """The agent that a caller means, with its chain.

    Raises:
        MalformedIdentifierError: It is none, or one of another chain or registry.
    """
    if isinstance(agent, str) and "#" in agent:
        agent = GlobalAgentId.parse(agent)
    if isinstance(agent, GlobalAgentId):
        if agent.registry != deployment.agent_registry:
            problem = f"its registry is {agent.registry}"
            raise MalformedIdentifierError(f"an agent of {deployment.agent_registry}", str(agent), problem)
        agent = agent.agent_id
    return (agent if isinstance(agent, AgentId) else AgentId.parse(agent)).on(deployment.chain_id)


def place(deployment: Deployment, registry: Registry) -> str:
    """The address of a registry.

    Raises:
        MissingRegistryError: The deployment does not have it.
    """
    address: str | None = getattr(deployment, _PLACES[registry])
    if address is None:
        raise MissingRegistryError(_PLACES[registry], deployment.chain_id)
    return address


def calldata(registry: Registry, signature: str, arguments: Sequence[Any]) -> bytes:
    """The data of a call.

    Raises:
        InvalidArgumentError: An argument does not fit its type.
    """
    try:
        return encode_call(registry, signature, arguments)
    except (EncodingError, UnicodeEncodeError) as error:
        raise InvalidArgumentError(f"{signature} does not take this: {printable(str(error)[:300])}") from None


def call(
    session: Session, registry: Registry, signature: str, *arguments: Any, block: str = "latest"
) -> Operation[tuple[Any, ...]]:
    """What a function of a registry answers.

    Args:
        session: The client's.
        registry: The registry.
        signature: The function's signature.
        *arguments: Its arguments.
        block: The block by whose end it is asked: a number, in the form of JSON-RPC, or the last one.

    Raises:
        ContractRevertError: The registry refuses.
        UnexpectedAnswerError: There is no such registry at its address.
        InvalidArgumentError: An argument does not fit its type.
    """
    deployment = yield from connect(session)
    to = place(deployment, registry)
    data = calldata(registry, signature, arguments)
    returned = yield from simulate({"to": to, "data": "0x" + data.hex()}, block)
    return decode_result(registry, signature, returned)


def require_too_much(error: Exception) -> None:
    """Pass on a refusal that has a reason: only one that says nothing may mean that it was too much."""
    if isinstance(error, ContractRevertError) and error.data:
        raise error


@contextmanager
def given_by(registry: Registry) -> Iterator[None]:
    """Say of what nothing can be made that the registry gave it: the caller did not.

    Raises:
        UnexpectedAnswerError: An identifier or a value in it is none.
    """
    try:
        yield
    except (MalformedIdentifierError, UnrepresentableValueError) as error:
        raise UnexpectedAnswerError(f"{registry} gives what it never holds: {error}") from error


def simulate(transaction: Mapping[str, Any], block: str = "latest") -> Operation[bytes]:
    """What a call returns.

    Raises:
        ContractRevertError: The contract refuses.
    """
    try:
        return answers.data((yield Rpc("eth_call", (dict(transaction), block))))
    except NodeError as error:
        revert = answers.revert_of(error)
        if revert is None:
            raise
        raise revert from revert.__cause__


def require_code(session: Session, registry: Registry) -> Operation[str]:
    """The address of a registry, at which there is a contract: a transaction to no contract succeeds and does nothing.

    Raises:
        UnexpectedAnswerError: There is none.
    """
    deployment = yield from connect(session)
    address = place(deployment, registry)
    if address not in session.with_code:
        if not answers.data((yield Rpc("eth_getCode", (address, "latest")))):
            raise UnexpectedAnswerError(f"there is no contract at {address}, where {registry} should be")
        session.with_code.add(address)
    return address


def latest_block() -> Operation[int]:
    """The number of the last block."""
    return answers.quantity((yield Rpc("eth_blockNumber")))


def block_time(block: int | None = None) -> Operation[datetime]:
    """The time of a block, of the last one when left out.

    Raises:
        MalformedNodeAnswerError: It is none, or in the last year that Python knows: no deadline could be after it.
    """
    found = yield Rpc("eth_getBlockByNumber", ("latest" if block is None else hex(block), False))
    time = moment(answers.quantity(answers.record(found).get("timestamp")))
    if time.year == MAXYEAR:
        answers.malformed("a block with a time before the year 9999")
    return time


def topic(value: int | str) -> str:
    """An indexed number, or an address, as it is logged."""
    number = int(value, 16) if isinstance(value, str) else value
    return f"0x{number:064x}"


def logs(
    session: Session,
    registry: Registry,
    event: str,
    topics: Sequence[Any] = (),
    is_last: Callable[[Log], bool] = lambda _: False,
) -> Operation[list[Log]]:
    """The events of one kind that a registry has logged, oldest first.

    The whole chain is asked for at once. Where a node refuses that, or takes too long, ranges of blocks are, as long
    as they need to be.

    Args:
        session: The client's.
        registry: The registry.
        event: The event's name.
        topics: What the indexed fields must be, as `topic` writes it: None for any, a list for one of several.
        is_last: Whether an event is one after which no other is wanted, so that later blocks need not be asked for.
    """
    deployment = yield from connect(session)
    first = next(key for key, entry in selectors(registry, "event").items() if entry["name"] == event)
    wanted = {"address": place(deployment, registry), "topics": ["0x" + first.hex(), *topics]}
    last = yield from latest_block()
    start, span = deployment.first_block, max(1, last - deployment.first_block + 1)
    found: list[Log] = []
    while start <= last and not any(map(is_last, found)):
        end = min(last, start + span - 1)
        try:
            answer = yield Rpc("eth_getLogs", ({**wanted, "fromBlock": hex(start), "toBlock": hex(end)},))
            found += [log for entry in answers.records(answer) if (log := read_log(registry, entry))]
        except (NodeError, NodeTimeoutError, MalformedNodeAnswerError):
            if end == start:
                raise
            span = min(_LOG_RANGE, (end - start + 1) // 2)
        else:
            start = end + 1
    return found


def read_log(registry: Registry, entry: Mapping[str, Any]) -> Log | None:
    """An entry of a node's list of logs; None if it is no event that the registry is known to have.

    Raises:
        MalformedNodeAnswerError: It is not such an entry.
    """
    topics = entry.get("topics")
    if not isinstance(topics, list):
        answers.malformed("logs")
    decoded = decode_log(registry, [answers.data(item) for item in topics], answers.data(entry.get("data")))
    if decoded is None:
        return None
    transaction = "0x" + answers.data(entry.get("transactionHash")).hex()
    return Log(*decoded, answers.quantity(entry.get("blockNumber")), transaction)
